"""Cache kinds with one fault each, from which the mutants of the theorems are made."""

from __future__ import annotations

from ...spec.arithmetic import Term, cdiv, fdiv, maximum, minimum
from ...spec.attention import ChunkedLocal, FullAttention, SlidingWindow


class NoSpareBlock(SlidingWindow):
    """Bound a window without the block for misalignment."""

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:
        """Leave one block out."""
        return super().bound(in_flight_tokens, max_model_len) - 1


class SecondSpareBlock(SlidingWindow):
    """Bound a window with two blocks for misalignment."""

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:
        """Add one block."""
        return super().bound(in_flight_tokens, max_model_len) + 1


class FloorBound(SlidingWindow):
    """Bound a window by whole blocks only."""

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:
        """Round down."""
        return fdiv(minimum(self.retained() + in_flight_tokens, max_model_len), self.block_size) + 1


class BudgetForgotten(SlidingWindow):
    """Bound a window without the tokens in flight."""

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:  # noqa: ARG002 - the fault
        """Count what stays, and no more."""
        return super().bound(0, max_model_len)


class GreaterOfWindowAndLength(SlidingWindow):
    """Bound a window by the length even where the window is shorter."""

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:
        """Take the maximum for the minimum."""
        return cdiv(maximum(self.retained() + in_flight_tokens, max_model_len), self.block_size) + 1


class RetainsTwoFewer(SlidingWindow):
    """Bound a window as if it held two tokens fewer than it does."""

    def retained(self) -> Term:
        """Forget two tokens."""
        return super().retained() - 2


class RetainsOneMore(SlidingWindow):
    """Bound a window as if it held the whole window beside the next token."""

    def retained(self) -> Term:
        """Take the window for the window less one."""
        return super().retained() + 1


class RetainsNothingExtra(SlidingWindow):
    """Bound a window without the tokens kept before it."""

    def retained(self) -> Term:
        """Forget the extra tokens."""
        return self.window - 1


class SkipsOneMore(SlidingWindow):
    """Drop a token that the next one still reads."""

    def skipped(self, processed: Term) -> Term:
        """Skip one token too many."""
        return maximum(0, processed - self.window + 2 - self.extra_retained)


class SkipsFewer(SlidingWindow):
    """Keep a token that nobody reads."""

    def skipped(self, processed: Term) -> Term:
        """Skip one token too few."""
        return maximum(0, processed - self.window - self.extra_retained)


class SkipsExtra(SlidingWindow):
    """Drop the tokens that are kept before the window."""

    def skipped(self, processed: Term) -> Term:
        """Forget the extra tokens."""
        return maximum(0, processed - self.window + 1)


class SkipsNothing(SlidingWindow):
    """Keep every token."""

    def skipped(self, processed: Term) -> Term:  # noqa: ARG002 - the fault
        """Skip nothing."""
        return 0


class FloorFull(FullAttention):
    """Bound full attention by whole blocks only."""

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:  # noqa: ARG002 - one signature
        """Round down."""
        return fdiv(max_model_len, self.block_size)


class SpareFull(FullAttention):
    """Bound full attention with a block that it never needs."""

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:
        """Add one block."""
        return super().bound(in_flight_tokens, max_model_len) + 1


class ChunkLessTwo(ChunkedLocal):
    """Bound a chunk without its last two tokens."""

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:
        """Forget two tokens."""
        return cdiv(minimum(self.chunk - 2 + in_flight_tokens, max_model_len), self.block_size)


class FloorChunk(ChunkedLocal):
    """Bound a chunk by whole blocks only."""

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:
        """Round down."""
        return fdiv(minimum(self.chunk + in_flight_tokens, max_model_len), self.block_size)


class SpareChunk(ChunkedLocal):
    """Bound a chunk with one block for misalignment."""

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:
        """Add one block."""
        return super().bound(in_flight_tokens, max_model_len) + 1


class KeepsLastChunk(ChunkedLocal):
    """Keep the chunk before the current one."""

    def skipped(self, processed: Term) -> Term:
        """Skip one chunk too few."""
        return maximum(0, super().skipped(processed) - self.chunk)


class SkipsIntoChunk(ChunkedLocal):
    """Drop the first token of the current chunk."""

    def skipped(self, processed: Term) -> Term:
        """Skip one token too many."""
        return super().skipped(processed) + 1


class SkipsIntoNext(ChunkedLocal):
    """Drop the current chunk itself."""

    def skipped(self, processed: Term) -> Term:
        """Skip one chunk too many."""
        return super().skipped(processed) + self.chunk
