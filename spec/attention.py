"""What one cache kind keeps of a request: tokens it may drop, blocks it holds, and the most it will ever hold.

All lengths are in tokens, all results in blocks of the group, unless a name says otherwise. `processed` counts tokens
whose step has settled, `computed` those that were computed or are being computed when a step starts; the two differ
only while other steps are in flight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from .arithmetic import Term, cdiv, fdiv, maximum, minimum
from .states import State


@dataclass(frozen=True, slots=True)
class FullAttention:
    """Keep every token of the request.

    Source: vLLM `FullAttentionSpec.max_memory_usage_bytes` (all releases), which has no admission cap.
    """

    kind: ClassVar[str] = "full"
    recycles: ClassVar[bool] = False
    sharded: ClassVar[bool] = True

    block_size: Term

    def skipped(self, processed: Term) -> Term:  # noqa: ARG002 - one signature for every kind
        """Count the leading tokens that no later step reads: none."""
        return 0

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:  # noqa: ARG002 - one signature
        """Bound the blocks of one request by the blocks of its longest sequence."""
        return cdiv(max_model_len, self.block_size)


@dataclass(frozen=True, slots=True)
class MLAAttention(FullAttention):
    """Keep every token of the request as one latent vector; in blocks it is full attention.

    Source: vLLM `MLAAttentionSpec` (all releases), a subclass of `FullAttentionSpec`.
    """

    kind: ClassVar[str] = "mla"


@dataclass(frozen=True, slots=True)
class HiddenState(MLAAttention):
    """Keep the hidden state of every token for a drafter; in blocks it is full attention.

    Source: vLLM `HiddenStateCacheSpec` (0.22.1 and later), a subclass of `MLAAttentionSpec`.
    """

    kind: ClassVar[str] = "hidden"


@dataclass(frozen=True, slots=True)
class SinkAttention(FullAttention):
    """Keep every token of the request; tokens that all requests share stand before it and are not counted.

    Source: vLLM `SinkFullAttentionSpec` (0.19.1 and later).
    """

    kind: ClassVar[str] = "sink"

    sink: Term = 0


@dataclass(frozen=True, slots=True)
class RequestWindow(FullAttention):
    """Keep the prompt and the last tokens of the answer; boot counts every token.

    Source: vLLM `RSWASpec` (0.25.1 and later), a subclass of `FullAttentionSpec`.
    """

    kind: ClassVar[str] = "request_window"

    window: Term = 1


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Keep the last `window` tokens, and `extra_retained` before them for multi-module drafting.

    Source: vLLM `SlidingWindowSpec` (`max_admission_blocks_per_request`, 0.20.2 and later) and
    `SlidingWindowManager.get_num_skipped_tokens`.
    """

    kind: ClassVar[str] = "sliding_window"
    recycles: ClassVar[bool] = True
    sharded: ClassVar[bool] = False

    block_size: Term
    window: Term
    extra_retained: Term = 0

    def skipped(self, processed: Term) -> Term:
        """Count the leading tokens that no later step reads: the next token sees `window - 1` before it."""
        return maximum(0, processed - self.window + 1 - self.extra_retained)

    def retained(self) -> Term:
        """Count the tokens that must stay when the next one is computed."""
        return self.window - 1 + self.extra_retained

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:
        """Bound the blocks of one request: the window and all tokens in flight, and one more for misalignment."""
        return cdiv(minimum(self.retained() + in_flight_tokens, max_model_len), self.block_size) + 1


@dataclass(frozen=True, slots=True)
class SlidingWindowMLA(SlidingWindow):
    """Keep the last `window` tokens, each as one latent vector; in blocks it is a sliding window.

    Source: vLLM `SlidingWindowMLASpec` (0.20.2 and later), a subclass of `SlidingWindowSpec`.
    """

    kind: ClassVar[str] = "sliding_window_mla"


@dataclass(frozen=True, slots=True)
class ChunkedLocal:
    """Keep the tokens of the current chunk.

    Source: vLLM `ChunkedLocalAttentionSpec` and `ChunkedLocalAttentionManager.get_num_skipped_tokens`. Its bound has
    no block for misalignment, which is right only where the block size divides the chunk, or is 2 without lookahead.
    """

    kind: ClassVar[str] = "chunked_local"
    recycles: ClassVar[bool] = True
    sharded: ClassVar[bool] = False

    block_size: Term
    chunk: Term

    def skipped(self, processed: Term) -> Term:
        """Count the leading tokens that no later step reads: all complete chunks."""
        return fdiv(processed, self.chunk) * self.chunk

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:
        """Bound the blocks of one request: the chunk and all tokens in flight, alignment assumed."""
        return cdiv(minimum(self.chunk + in_flight_tokens, max_model_len), self.block_size)


Attention: TypeAlias = FullAttention | MLAAttention | SlidingWindow | ChunkedLocal | State
"""Any cache kind."""


def slots_needed(computed: Term, scheduled: Term, lookahead: Term, max_model_len: Term) -> Term:
    """Count the tokens that need a slot after a step.

    Source: vLLM `KVCacheManager.allocate_slots` (`num_tokens_need_slot`).
    """
    return minimum(computed + scheduled + lookahead, max_model_len)


def blocks_for(tokens: Term, block_size: Term) -> Term:
    """Count the entries of a block table that covers so many tokens, null blocks included.

    Source: vLLM `SingleTypeKVCacheManager.allocate_new_blocks`.
    """
    return cdiv(tokens, block_size)


def recycled(cache: Attention, processed: Term) -> Term:
    """Count the leading blocks that are out of reach and can go back to the pool.

    Source: vLLM `SingleTypeKVCacheManager.remove_skipped_blocks`: a block goes only when all its tokens may.
    """
    return fdiv(cache.skipped(processed), cache.block_size)


def held(
    cache: Attention, processed: Term, computed: Term, scheduled: Term, lookahead: Term, max_model_len: Term
) -> Term:
    """Count the real blocks that one request holds right after a step has allocated."""
    table = blocks_for(slots_needed(computed, scheduled, lookahead, max_model_len), cache.block_size)
    return table - recycled(cache, processed)
