"""The real schedulers of nine releases give the known outcomes, peaks and smallest pools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from poolproof.forks import Implementation
from poolproof.oracle.lone import Fate, LoneOutcome
from poolproof.spec.attention import FullAttention, SlidingWindow
from poolproof.spec.deployment import Deployment, Group

from .conftest import RELEASES

Release = Callable[[str], Implementation]

DEPLOYMENT = Deployment(
    groups=(Group(FullAttention(16)), Group(SlidingWindow(16, 32))), max_model_len=512, max_num_batched_tokens=64
)
UNCAPPED = ("0.19.1",)
CAPPED = tuple(v for v in RELEASES if v not in {"0.11.0", "0.19.1"})
PAYS_TWICE = ("0.28.0", "0.30.0", "0.33.0")
RESERVES_NULL = ("0.30.0", "0.33.0")

pytestmark = pytest.mark.network
every_release = pytest.mark.parametrize("version", RELEASES)


def one(implementation: Implementation, prompt: int, blocks: int, batches: int = 1, gate: bool = True) -> LoneOutcome:
    deployment = replace(DEPLOYMENT, blocks=blocks, max_concurrent_batches=batches)
    return implementation.lone(deployment, prompt, gate=gate)


@every_release
def test_smallest_pool(release: Release, version: str) -> None:
    twice = replace(DEPLOYMENT, max_concurrent_batches=2)
    found = release(version).smallest_pool(DEPLOYMENT), release(version).smallest_pool(twice)
    null = 1 if version in RESERVES_NULL else 0
    assert found == (39 + null, (43 if version in PAYS_TWICE else 39) + null)


@every_release
def test_smallest_pool_of_a_longer_deployment(release: Release, version: str) -> None:
    longer = Deployment(
        groups=(Group(FullAttention(16)), Group(SlidingWindow(16, 512))), max_model_len=4096, max_num_batched_tokens=256
    )
    assert release(version).smallest_pool(longer) == (306 if version in RESERVES_NULL else 305)


@every_release
def test_boot_answers_in_its_own_words(release: Release, version: str) -> None:
    refused = release(version).boot(replace(DEPLOYMENT, blocks=38))
    accepted = release(version).boot(replace(DEPLOYMENT, blocks=40))
    assert not refused.accepted
    assert "512" in refused.message
    assert accepted.accepted
    assert accepted.requirement == refused.requirement == (32, 7)


@every_release
@pytest.mark.parametrize(("prompt", "blocks", "peak"), [(495, 39, (31, 5)), (511, 40, (32, 6))])
def test_prompts_that_fit_by_their_peak(release: Release, version: str, prompt: int, blocks: int, peak: object) -> None:
    outcome = one(release(version), prompt, blocks)
    if version in UNCAPPED:
        assert outcome.fate is Fate.NEVER_ADMITTED
    else:
        assert (outcome.fate, outcome.steps, outcome.peak) == (Fate.DONE, 8, peak)


@every_release
def test_longest_prompt_in_the_smallest_pool(release: Release, version: str) -> None:
    outcome = one(release(version), 511, 39)
    if version == "0.11.0":
        assert (outcome.fate, sum(outcome.peak)) == (Fate.DONE, 38)
    else:
        assert outcome.fate is Fate.NEVER_ADMITTED


@pytest.mark.parametrize("version", UNCAPPED)
def test_uncapped_gate_charges_the_whole_sequence(release: Release, version: str) -> None:
    """0.19.1 admits 495 tokens at 63 blocks and 511 at 65, and without its gate serves 511 from 39."""
    ends = [one(release(version), *case).fate for case in ((495, 62), (495, 63), (511, 64), (511, 65))]
    assert ends == ["never admitted", "done", "never admitted", "done"]
    open_gate = one(release(version), 511, 39, gate=False)
    assert (open_gate.fate, sum(open_gate.peak)) == (Fate.DONE, 38)


@every_release
def test_two_batches_in_flight(release: Release, version: str) -> None:
    """0.28.0 and later keep blocks until a step has settled, and peak higher."""
    outcome = one(release(version), 511, 65, batches=2)
    assert outcome.fate is Fate.DONE
    assert outcome.peak == ((32, 10) if version in PAYS_TWICE else (32, 6))


@every_release
def test_findings(release: Release, version: str) -> None:
    found = release(version).findings()
    by_version = {"0.11.0": "none", "0.19.1": "can_fit_full_sequence", "0.20.2": "can_fit_full_sequence"}
    assert found.gate == by_version.get(version, "full_sequence_must_fit")
    assert (found.cap is not None) == (version in CAPPED)
    assert found.null_block_reserved == (version in RESERVES_NULL)
    assert (found.max_in_flight_tokens == 128) == (version in PAYS_TWICE)
    assert found.stubs_touched == {}
    assert found.modules["v1.core.block_pool"] == "eager"
    assert found.assumed["model runner"] == "generation 1"
