"""The settings in which properties of an implementation are decided: kinds of groups, and what is symbolic in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..spec.attention import Attention, ChunkedLocal, FullAttention, SlidingWindow
from ..spec.deployment import Deployment, Group, cache_is_legal
from .theorem import Assumption, Point, Variable

BLOCK_SIZE = Variable("block_size", "tokens", "the tokens of one block")
WINDOW = Variable("window", "tokens", "the sliding window")
OTHER_WINDOW = Variable("other_window", "tokens", "the sliding window of another group")
CHUNK = Variable("chunk", "tokens", "the attention chunk")
BUDGET = Variable("max_num_batched_tokens", "tokens", "the tokens of one step")
LENGTH = Variable("max_model_len", "tokens", "the longest sequence")
COMPUTED = Variable("computed", "tokens", "the tokens computed before a step")
SCHEDULED = Variable("scheduled", "tokens", "the tokens of the step")
LOOKAHEAD = Variable("lookahead", "tokens", "the slots of the step beyond its tokens")
TOKENS = Variable("tokens", "tokens", "the tokens of the request")
TOKEN = Variable("token", "position", "the position of one token")
BLOCKS = Variable("blocks", "blocks", "the pool, null block included")


@dataclass(frozen=True, slots=True)
class Shape:
    """Name a list of groups.

    Args:
        groups: The groups in words.
        sizes: The sizes that are symbolic beside the block size.
        caches: The caches, for a block size and the sizes at a point.
    """

    groups: tuple[str, ...]
    sizes: tuple[Variable, ...]
    caches: Callable[[Any, Point], tuple[Attention, ...]]

    def deployment(self, block_size: Any, at: Point, *, batches: int = 1) -> Deployment:
        """Make the deployment at a point."""
        groups = tuple(Group(cache) for cache in self.caches(block_size, at))
        return Deployment(groups, at.max_model_len, at.max_num_batched_tokens, max_concurrent_batches=batches)

    def legal(self, block_size: Any, at: Point) -> Iterator[Assumption]:
        """Assume that every size of a cache is legal."""
        for index, cache in enumerate(self.caches(block_size, at)):
            for constraint in cache_is_legal(cache, f"groups[{index}]."):
                yield Assumption(f"{constraint.field}: {constraint.reason}", constraint.holds)


def limits(at: Point) -> Iterator[Assumption]:
    """Assume that the limits of an engine are legal."""
    yield Assumption("max_num_batched_tokens: a step computes at least one token", at.max_num_batched_tokens >= 1)
    yield Assumption("max_model_len: a sequence has at least one token", at.max_model_len >= 1)


def _full_and_several(block_size: Any, at: Point) -> tuple[Attention, ...]:
    window, other = SlidingWindow(block_size, at.window), SlidingWindow(block_size, at.other_window)
    return FullAttention(block_size), window, window, other


SLIDING = Shape(("sliding window",), (WINDOW,), lambda b, at: (SlidingWindow(b, at.window),))
CHUNKED = Shape(("chunked local",), (CHUNK,), lambda b, at: (ChunkedLocal(b, at.chunk),))
FULL = Shape(("full",), (), lambda b, _: (FullAttention(b),))
FULL_SLIDING = Shape(
    ("full", "sliding window"), (WINDOW,), lambda b, at: (FullAttention(b), SlidingWindow(b, at.window))
)
FULL_SEVERAL = Shape(
    ("full", "sliding window", "sliding window", "sliding window of another size"),
    (WINDOW, OTHER_WINDOW),
    _full_and_several,
)
FULL_CHUNKED = Shape(("full", "chunked local"), (CHUNK,), lambda b, at: (FullAttention(b), ChunkedLocal(b, at.chunk)))
