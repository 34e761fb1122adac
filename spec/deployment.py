"""What an operator sets, and which settings are legal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from .arithmetic import Term, Truth
from .attention import Attention
from .errors import UsageError


@dataclass(frozen=True, slots=True)
class Group:
    """Name layers that share one block table, and how many such groups there are.

    Args:
        cache: The kind of cache and its sizes, in tokens.
        count: How many groups are alike (each has a block table of its own).
    """

    cache: Attention
    count: Term = 1


@dataclass(frozen=True, slots=True)
class Deployment:
    """Hold everything that the sizing and admission formulas read.

    Args:
        groups: The KV-cache groups, all sharing one block pool.
        max_model_len: The longest sequence, prompt and output, in tokens.
        max_num_batched_tokens: The tokens of one step, over all requests.
        max_num_seqs: The requests of one step.
        max_concurrent_batches: The batches that may be scheduled and not yet processed (2 under async scheduling).
        lookahead: The slots that every step takes beyond its scheduled tokens, for drafting.
        context_parallel: The ranks over which a sequence's cache is sharded.
        chunked_prefill: A prompt may be split over steps.
        prefix_caching: Full blocks are shared by equal prefixes.
        watermark: The blocks that an admission leaves free while others run.
        blocks: The size of the pool, null block included; None where it is to be found.
    """

    groups: tuple[Group, ...]
    max_model_len: Term
    max_num_batched_tokens: Term
    max_num_seqs: Term = 256
    max_concurrent_batches: Term = 1
    lookahead: Term = 0
    context_parallel: Term = 1
    chunked_prefill: bool = True
    prefix_caching: bool = False
    watermark: Term = 0
    blocks: Term | None = None

    @property
    def max_in_flight_tokens(self) -> Term:
        """Count the tokens of all batches in flight (vLLM 0.28.0, `VllmConfig.max_in_flight_tokens`)."""
        return self.max_concurrent_batches * self.max_num_batched_tokens

    def caches(self) -> Iterator[Attention]:
        """List the cache of each group, alike ones repeated; counts must be known numbers."""
        for group in self.groups:
            if not isinstance(group.count, int):
                raise TypeError("groups can be listed only when their count is a known number")
            yield from (group.cache for _ in range(group.count))


@dataclass(frozen=True, slots=True)
class Constraint:
    """State one condition that a legal deployment meets.

    Args:
        field: The field, spelled as in a deployment file.
        value: Its value, known or symbolic.
        holds: The condition, known or symbolic.
        reason: Why the condition is needed.
        hint: What to set instead.
    """

    field: str
    value: Term
    holds: Truth
    reason: str
    hint: str


_LEAST_OF_CACHE: dict[str, tuple[int, str]] = {
    "block_size": (1, "a block holds at least one token"),
    "window": (1, "a token attends at least to itself"),
    "chunk": (1, "a chunk holds at least one token"),
    "extra_retained": (0, "retained tokens cannot be negative"),
    "speculative": (0, "speculated states cannot be negative"),
    "checkpoint": (0, "checkpoint states cannot be negative"),
    "encoder_tokens": (0, "an encoder's output cannot be negative"),
    "sink": (0, "sink tokens cannot be negative"),
}

_LEAST_OF_DEPLOYMENT: dict[str, tuple[int, str]] = {
    "max_model_len": (1, "a sequence has at least one token"),
    "max_num_batched_tokens": (1, "a step computes at least one token"),
    "max_num_seqs": (1, "a step serves at least one request"),
    "max_concurrent_batches": (1, "at least one batch is in flight"),
    "lookahead": (0, "lookahead tokens cannot be negative"),
    "context_parallel": (1, "a sequence is kept on at least one rank"),
    "watermark": (0, "a watermark cannot be negative"),
}


def legal(deployment: Deployment) -> Iterator[Constraint]:
    """Yield every condition of a legal deployment, for validation and as hypotheses of theorems alike.

    A chunk that the block size does not divide is legal: engines accept it, and the theorems say what it costs.
    """
    for field, (least, reason) in _LEAST_OF_DEPLOYMENT.items():
        yield _at_least(field, getattr(deployment, field), least, reason)
    if deployment.blocks is not None:
        yield _at_least("blocks", deployment.blocks, 1, "the null block alone needs one")
    for index, group in enumerate(deployment.groups):
        yield _at_least(f"groups[{index}].count", group.count, 1, "a group that is listed exists")
        yield from cache_is_legal(group.cache, f"groups[{index}].")
    yield from _relations(deployment)


def cache_is_legal(cache: Attention, prefix: str = "") -> Iterator[Constraint]:
    """Yield the conditions on one cache kind's own sizes."""
    for field in fields(cache):
        least, reason = _LEAST_OF_CACHE[field.name]
        yield _at_least(f"{prefix}{field.name}", getattr(cache, field.name), least, reason)


def validate(deployment: Deployment) -> Deployment:
    """Return a deployment of known numbers unchanged if it is legal.

    Raises:
        UsageError: A condition does not hold; the first one is named.
    """
    if not deployment.groups:
        raise UsageError("groups", "none", "a deployment has at least one cache group", "list one")
    for constraint in legal(deployment):
        if not constraint.holds:
            raise UsageError(constraint.field, constraint.value, constraint.reason, constraint.hint)
    return deployment


def _at_least(field: str, value: Term, least: int, reason: str) -> Constraint:
    return Constraint(field, value, value >= least, reason, f"set it to {least} or more")


def _relations(deployment: Deployment) -> Iterator[Constraint]:
    if not deployment.chunked_prefill:
        yield Constraint(
            "max_num_batched_tokens",
            deployment.max_num_batched_tokens,
            deployment.max_num_batched_tokens >= deployment.max_model_len,
            "without chunked prefill the longest prompt must fit one step",
            "raise it to max_model_len or enable chunked prefill",
        )
