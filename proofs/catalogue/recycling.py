"""A block table covers what a step needs, and only what nobody will read goes back to the pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...spec.arithmetic import Term, Truth, cdiv, every, fdiv
from ...spec.attention import ChunkedLocal, SlidingWindow, recycled
from ...spec.design import SOUND, VLLM_025, Design, Freeing
from ..theorem import (
    Expectation,
    Formula,
    Point,
    Premise,
    Quantity,
    Statement,
    Theorem,
    Variable,
    at_most,
    exceeds,
    given,
    implies,
    legal_cache,
    legal_deployment,
    negation,
    variant,
)
from .common import (
    BLOCK_SIZE,
    CHUNK,
    COMPUTED,
    EXTRA_RETAINED,
    IN_FLIGHT,
    LOOKAHEAD,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    SCHEDULED,
    STEP_WITHIN_BUDGET,
    WINDOW,
    CacheOf,
    chunked,
    deployed,
    full,
    processed,
    slots,
    table_of,
    window,
)
from .mutated import KeepsLastChunk, SkipsExtra, SkipsFewer, SkipsIntoChunk, SkipsNothing, SkipsOneMore

FAMILY = "recycling"

_STEP = (BLOCK_SIZE, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, LOOKAHEAD, COMPUTED, SCHEDULED)
_STEP_PREMISES: tuple[Premise, ...] = (legal_deployment(deployed(full)), STEP_WITHIN_BUDGET)
_TABLE = table_of(full)
_SLOTS = Quantity("slots", slots, "tokens")
_DRAFTS = Statement("a partly filled block and lookahead", lambda at: every([at.lookahead >= 1, at.block_size >= 3]))


def _room(blocks: Formula, name: str) -> Quantity:
    return Quantity(name, lambda at: blocks(at) * at.block_size, "tokens")


_COVERED = _room(_TABLE.of, "table * block_size")
_ALL_BUT_LAST = _room(lambda at: _TABLE.of(at) - 1, "(table - 1) * block_size")
_FLOOR = _room(lambda at: fdiv(slots(at), at.block_size), "fdiv(slots, block_size) * block_size")
_NEXT = _room(lambda at: fdiv(slots(at), at.block_size), "(a block more where the last is full) * block_size")
_ONE_MORE = _room(_TABLE.of, "table * block_size, the last block included")

COVERAGE = Theorem(
    name="table_covers_every_slot",
    sentence="After a step, the block table has room for every token that needs a slot.",
    family=FAMILY,
    variables=_STEP,
    premises=_STEP_PREMISES,
    claim=at_most(_SLOTS, _COVERED),
    covers=(_DRAFTS, Statement("the last block is partly filled", lambda at: slots(at) < _COVERED.of(at))),
    mutants=(
        variant("the table rounds down", at_most(_SLOTS, _FLOOR)),
        variant("the table has a block less", at_most(_SLOTS, _ALL_BUT_LAST)),
    ),
)

NO_WASTE = Theorem(
    name="table_has_no_empty_block",
    sentence="After a step, the last block of the table holds a token that needs a slot.",
    family=FAMILY,
    variables=_STEP,
    premises=_STEP_PREMISES,
    claim=exceeds(_SLOTS, _ALL_BUT_LAST),
    covers=(_DRAFTS, Statement("the last block is full", lambda at: slots(at) == _COVERED.of(at))),
    mutants=(
        variant("the table has a block more", exceeds(_SLOTS, _ONE_MORE)),
        variant("a full last block has an empty one behind it", exceeds(_SLOTS, _NEXT)),
    ),
)

TOKEN = Variable("token", "tokens", "the position of a token")
READER = Variable("reader", "tokens", "the position of a token that is still to be computed, or again")
_PROCESSED = Variable("processed", "tokens", "those whose step has settled")
_BLOCK = Variable("block", "blocks", "the position of a block in the table")

_READS_LATER = given(
    "token <= reader, and reader >= processed - extra_retained",
    lambda at: every([at.token <= at.reader, at.reader + at.get("extra_retained", 0) >= at.processed]),
)
READS_IN_FLIGHT = given(
    "token <= reader, and reader >= computed - in_flight",
    lambda at: every([at.in_flight <= at.computed, at.token <= at.reader, at.reader >= processed(at)]),
)
_RETAINS = Statement("tokens are retained", lambda at: at.extra_retained >= 1)


def _seen_by_window(token: Term, reader: Term, at: Point) -> Truth:
    """Say whether a token attends to one before it: a window counts the reader and what precedes it."""
    return reader - token < at.window


def seen_by_chunk(token: Term, reader: Term, at: Point) -> Truth:
    """Say whether a token attends to one before it: both lie in one chunk."""
    return fdiv(token, at.chunk) == fdiv(reader, at.chunk)


Sees: TypeAlias = Callable[[Term, Term, Point], Truth]


def _recycled(cache: CacheOf, basis: Formula = lambda at: at.processed) -> Quantity:
    return Quantity("recycled", lambda at: recycled(cache(at), basis(at)))


def _rounded_up(cache: CacheOf) -> Quantity:
    return Quantity("recycled", lambda at: cdiv(cache(at).skipped(at.processed), at.block_size))


def safe(gone: Quantity, sees: Sees) -> Statement:
    """State that no reader sees a token of a recycled block."""

    def holds(at: Point) -> Truth:
        return implies(fdiv(at.token, at.block_size) < gone.of(at), negation(sees(at.token, at.reader, at)))

    return Statement("a token of a recycled block is not read", holds, (gone,))


def _complete(gone: Quantity, sees: Sees) -> Statement:
    """State that a block whose last token the next reader does not see is recycled."""

    def holds(at: Point) -> Truth:
        last = (at.block + 1) * at.block_size - 1
        reader = at.processed - at.get("extra_retained", 0)
        return implies(every([last < reader, negation(sees(last, reader, at))]), at.block < gone.of(at))

    return Statement("a block that is not read is recycled", holds, (gone,))


def _goes_back(cache: CacheOf) -> Statement:
    return Statement("two blocks have gone back", lambda at: _recycled(cache).of(at) >= 2)


def _window(kind: type[SlidingWindow]) -> Quantity:
    return _recycled(lambda at: window(at, kind))


def _chunk(kind: type[ChunkedLocal]) -> Quantity:
    return _recycled(lambda at: chunked(at, kind))


WINDOW_SAFE = Theorem(
    name="recycled_window_block_is_never_read",
    sentence="No token that is still to be computed reads a token of a recycled sliding-window block.",
    family=FAMILY,
    variables=(BLOCK_SIZE, WINDOW, EXTRA_RETAINED, _PROCESSED, TOKEN, READER),
    premises=(legal_cache(window), _READS_LATER),
    claim=safe(_recycled(window), _seen_by_window),
    covers=(_goes_back(window), _RETAINS),
    mutants=(
        variant("one token too many is skipped", safe(_window(SkipsOneMore), _seen_by_window)),
        variant("a partly read block is recycled", safe(_rounded_up(window), _seen_by_window)),
        variant("the extra tokens are not retained", safe(_window(SkipsExtra), _seen_by_window)),
    ),
)

WINDOW_COMPLETE = Theorem(
    name="unread_window_block_is_recycled",
    sentence="A sliding-window block of which no token will be read has gone back.",
    family=FAMILY,
    variables=(BLOCK_SIZE, WINDOW, EXTRA_RETAINED, _PROCESSED, _BLOCK),
    premises=(legal_cache(window),),
    claim=_complete(_recycled(window), _seen_by_window),
    covers=(_goes_back(window), _RETAINS),
    mutants=(
        variant("one token too few is skipped", _complete(_window(SkipsFewer), _seen_by_window)),
        variant("nothing is recycled", _complete(_window(SkipsNothing), _seen_by_window)),
    ),
)

CHUNK_SAFE = Theorem(
    name="recycled_chunk_block_is_never_read",
    sentence="No token that is still to be computed reads a token of a recycled chunked-local block.",
    family=FAMILY,
    variables=(BLOCK_SIZE, CHUNK, _PROCESSED, TOKEN, READER),
    premises=(legal_cache(chunked), _READS_LATER),
    claim=safe(_recycled(chunked), seen_by_chunk),
    covers=(_goes_back(chunked),),
    mutants=(
        variant("the first token of the chunk is skipped", safe(_chunk(SkipsIntoChunk), seen_by_chunk)),
        variant("a partly read block is recycled", safe(_rounded_up(chunked), seen_by_chunk)),
    ),
)

CHUNK_COMPLETE = Theorem(
    name="unread_chunk_block_is_recycled",
    sentence="A chunked-local block of which no token will be read has gone back.",
    family=FAMILY,
    variables=(BLOCK_SIZE, CHUNK, _PROCESSED, _BLOCK),
    premises=(legal_cache(chunked),),
    claim=_complete(_recycled(chunked), seen_by_chunk),
    covers=(_goes_back(chunked),),
    mutants=(variant("the chunk before is kept", _complete(_chunk(KeepsLastChunk), seen_by_chunk)),),
)


def freed_by(design: Design, cache: CacheOf = window) -> Quantity:
    """Count the blocks that a design has recycled when a step starts."""
    on_processed = design.freeing is Freeing.PROCESSED
    return _recycled(cache, lambda at: processed(at) if on_processed else at.computed)


_IN_FLIGHT = (BLOCK_SIZE, WINDOW, COMPUTED, IN_FLIGHT, TOKEN, READER)
_FLIES = Statement("tokens in flight span a window", lambda at: at.in_flight > at.window)

FREED_ON_PROCESSED = Theorem(
    name="freeing_on_processed_tokens_spares_tokens_in_flight",
    sentence="Freeing on processed tokens, no block goes back that a step in flight may read.",
    family=FAMILY,
    variables=_IN_FLIGHT,
    premises=(legal_cache(window), READS_IN_FLIGHT),
    claim=safe(freed_by(SOUND), _seen_by_window),
    covers=(_FLIES, Statement("blocks have gone back", lambda at: freed_by(SOUND).of(at) >= 1)),
    mutants=(variant("freed on computed tokens", safe(freed_by(VLLM_025), _seen_by_window)),),
)

FREED_ON_COMPUTED = Theorem(
    name="freeing_on_computed_tokens_spares_tokens_in_flight",
    sentence="Freeing on computed tokens, no block goes back that a step in flight may read.",
    family=FAMILY,
    variables=_IN_FLIGHT,
    premises=(legal_cache(window), READS_IN_FLIGHT),
    claim=safe(freed_by(VLLM_025), _seen_by_window),
    covers=(_FLIES,),
    expected=Expectation.REFUTED,
    least_sum=4,
)

THEOREMS = (
    COVERAGE,
    NO_WASTE,
    WINDOW_SAFE,
    WINDOW_COMPLETE,
    CHUNK_SAFE,
    CHUNK_COMPLETE,
    FREED_ON_PROCESSED,
    FREED_ON_COMPUTED,
)
