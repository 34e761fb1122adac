"""What an implementation does with one well-known deployment: cheap to see, and telling releases apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..oracle.lone import Fate, LoneOutcome
from ..oracle.verdict import Holds, Refuted, Verdict, Witness
from ..spec.attention import FullAttention, SlidingWindow
from ..spec.deployment import Deployment, Group
from .findings import Findings
from .implementation import Implementation

GOLDEN = Deployment(
    groups=(Group(FullAttention(16)), Group(SlidingWindow(16, 32))), max_model_len=512, max_num_batched_tokens=64
)
"""Full attention and a window of 32, block size 16, batches of 64 tokens, sequences of 512."""

SETTING = "full, sliding window 32; batch 64, length 512"
"""The same, for a row's head."""

PROMPTS = (305, 497, 511)
"""The first that an uncapped gate never admits; the first that a gate without the null block does not; the longest."""

Observation = tuple[str, str, Verdict]
"""What was looked at, its sentence, and what was seen."""


def observe(implementation: Implementation) -> Iterator[Observation]:
    """Ask an implementation's own boot and scheduler about the deployment."""
    findings = implementation.findings()
    yield _null_block(findings)
    for prompt in PROMPTS:
        name = f"smallest_pool_serves_{prompt}"
        sentence = f"The smallest pool that boot accepts serves a prompt of {prompt} tokens that is alone."
        yield name, sentence, _served(implementation, findings.smallest_pool, prompt)
    roomy = 40
    sentence = f"A pool of {roomy} blocks, one more than the longest request holds, serves it."
    yield f"pool_of_{roomy}_serves_{PROMPTS[-1]}", sentence, _served(implementation, roomy, PROMPTS[-1])


def facts(findings: Findings) -> tuple[tuple[str, str], ...]:
    """List what an implementation is like, in a few words each."""
    return (
        ("gate", findings.gate),
        ("cap", findings.cap or "none"),
        ("smallest pool", f"{findings.smallest_pool} blocks ({findings.smallest_pool_async} with two batches)"),
    )


def _null_block(findings: Findings) -> Observation:
    needed, smallest = sum(findings.requirement), findings.smallest_pool
    told = f"the smallest pool has {smallest} blocks, one longest request is charged {needed}"
    witness = Witness((("smallest_pool", smallest), ("charged", needed)), (told,))
    verdict = Holds(told) if findings.null_block_reserved else Refuted(witness)
    return "boot_counts_the_null_block", "Boot demands a block beyond those that a longest request is charged.", verdict


def _served(implementation: Implementation, blocks: int, prompt: int) -> Verdict:
    ended = implementation.lone(replace(GOLDEN, blocks=blocks), prompt)
    told = _told(ended, blocks, prompt)
    return (
        Holds(told) if ended.fate is Fate.DONE else Refuted(Witness((("blocks", blocks), ("prompt", prompt)), (told,)))
    )


def _told(ended: LoneOutcome, blocks: int, prompt: int) -> str:
    why = f": {ended.error}" if ended.error else ""
    return f"{prompt} tokens in {blocks} blocks: {ended.fate.value}{why}"
