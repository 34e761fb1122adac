"""The settings in which properties of an implementation are decided: kinds of groups, and what is symbolic in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..spec.attention import Attention, ChunkedLocal, FullAttention, SlidingWindow
from ..spec.deployment import Deployment, Group, cache_is_legal
from ..spec.states import MambaAlign, MambaNone
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
PROMPT = Variable("prompt", "tokens", "the prompt of the request")
BLOCKS = Variable("blocks", "blocks", "the pool, null block included")


BLOCK_SIZES = (1, 2, 3, 16, 32)
"""The block sizes at which boot is decided."""

STATE_BLOCK = 1 << 20
"""The tokens that one state stands for where it stands for the whole sequence; longer ones are out of scope."""


def _nothing(_: Any, __: Point) -> Iterable[Assumption]:
    return ()


def _whole_sequence(_: Any, at: Point) -> Iterator[Assumption]:
    yield Assumption("max_model_len: one state stands for the whole sequence", at.max_model_len <= STATE_BLOCK)


def _state_for_all(block_size: Any, at: Point) -> Iterator[Assumption]:
    """Assume what vLLM's configuration of a recurrent model sets in the cache mode `none`."""
    yield Assumption("block_size: one state stands for the whole sequence", at.max_model_len <= block_size)


def _whole_blocks(block_size: Any, at: Point) -> Iterator[Assumption]:
    """Assume what vLLM's `VllmConfig` asserts in the cache mode `align`."""
    text = "max_num_batched_tokens: a step reaches the next block boundary"
    yield Assumption(text, at.max_num_batched_tokens >= block_size)


@dataclass(frozen=True, slots=True)
class Shape:
    """Name a list of groups.

    Args:
        groups: The groups in words.
        sizes: The sizes that are symbolic beside the block size.
        caches: The caches, for a block size and the sizes at a point.
        engine: What engines demand of such groups beyond legal sizes.
    """

    groups: tuple[str, ...]
    sizes: tuple[Variable, ...]
    caches: Callable[[Any, Point], tuple[Attention, ...]]
    engine: Callable[[Any, Point], Iterable[Assumption]] = _nothing

    def deployment(self, block_size: Any, at: Point, *, batches: int = 1) -> Deployment:
        """Make the deployment at a point."""
        groups = tuple(Group(cache) for cache in self.caches(block_size, at))
        return Deployment(groups, at.max_model_len, at.max_num_batched_tokens, max_concurrent_batches=batches)

    def legal(self, block_size: Any, at: Point) -> Iterator[Assumption]:
        """Assume that every size of a cache is legal, and what engines demand beyond that."""
        yield from self.engine(block_size, at)
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
FULL_MAMBA = Shape(("full", "mamba"), (), lambda b, _: (FullAttention(b), MambaNone(STATE_BLOCK)), _whole_sequence)
FULL_MAMBA_ALIGN = Shape(("full", "mamba, aligned"), (), lambda b, _: (FullAttention(b), MambaAlign(b)), _whole_blocks)


def states(speculative: int) -> Shape:
    """Name a lone group that keeps one state for the whole sequence, and one per draft."""
    return Shape(("mamba",), (), lambda b, _: (MambaNone(b, speculative),), _state_for_all)


def aligned_states(speculative: int) -> Shape:
    """Name a lone group that keeps states at block boundaries, and one per draft."""

    def engine(block_size: Any, at: Point) -> Iterator[Assumption]:
        yield from _whole_blocks(block_size, at)
        if speculative:
            text = "block_size: blocks are larger than twice the drafts"
            yield Assumption(text, block_size > 2 * speculative)

    return Shape(("mamba, aligned",), (), lambda b, _: (MambaAlign(b, speculative),), engine)
