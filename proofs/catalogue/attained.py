"""No cap asks for more than one block too many: a step is built that holds as much, whatever the sizes."""

from __future__ import annotations

from collections.abc import Callable

from ...spec.arithmetic import maximum, minimum
from ...spec.attention import ChunkedLocal, FullAttention, SlidingWindow
from ...spec.design import SOUND
from ..theorem import Formula, Point, Quantity, Statement, Theorem, at_most, equal, legal_deployment, variant
from .common import (
    BLOCK_SIZE,
    CHUNK,
    COMPUTED,
    EXTRA_RETAINED,
    LOOKAHEAD,
    MAX_CONCURRENT_BATCHES,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    SCHEDULED,
    STEP_WITHIN_BUDGET,
    WINDOW,
    CacheOf,
    cap_of,
    chunked,
    deployed,
    deployment,
    full,
    held_by,
    window,
)
from .mutated import (
    FloorFull,
    GreaterOfWindowAndLength,
    RetainsOneMore,
    SecondSpareBlock,
    SkipsOneMore,
    SpareChunk,
    SpareFull,
)

FAMILY = "attained"


_GENERAL = (MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, MAX_CONCURRENT_BATCHES, LOOKAHEAD)
_LONG = Statement(
    "the length does not bind",
    lambda at: at.max_model_len > 10 * at.max_num_batched_tokens * at.max_concurrent_batches,
)
_SHORT = Statement("the length binds", lambda at: at.max_model_len < at.max_num_batched_tokens)
_DRAFTS = Statement("lookahead takes slots", lambda at: at.lookahead >= 2)


def _fullest(kept: Formula) -> Callable[[Point], Point]:
    """Build the step after which most is held: nothing is recycled yet, and as much is in flight as may be."""

    def step(at: Point) -> Point:
        tokens = deployment(at).max_in_flight_tokens
        settled = maximum(0, minimum(kept(at), at.max_model_len - tokens))
        return at.but(computed=settled, scheduled=minimum(tokens, at.max_model_len - settled))

    return step


def _last(at: Point) -> Point:
    """Build the step that computes the last token of the longest sequence."""
    return at.but(computed=at.max_model_len - 1, scheduled=1)


def _attains(cache: CacheOf, step: Callable[[Point], Point], spare: int) -> Statement:
    """State that the step holds what the cap asks for, but for so many blocks."""
    held = Quantity("held", lambda at: held_by(cache).of(step(at)))
    required = Quantity(f"cap - {spare}", lambda at: cap_of(cache, SOUND).of(at) - spare)
    return at_most(required, held)


_WINDOW_STEP = _fullest(lambda at: at.window - 1 + at.extra_retained)
_CHUNK_STEP = _fullest(lambda at: at.chunk - 1)


def _window(kind: type[SlidingWindow] = SlidingWindow, spare: int = 1) -> Statement:
    return _attains(lambda at: window(at, kind), _WINDOW_STEP, spare)


def _chunk(kind: type[ChunkedLocal] = ChunkedLocal, spare: int = 1) -> Statement:
    return _attains(lambda at: chunked(at, kind), _CHUNK_STEP, spare)


def _full(kind: type[FullAttention] = FullAttention) -> Statement:
    return _attains(lambda at: full(at, kind), _last, 0)


WINDOW_ATTAINED = Theorem(
    name="window_cap_is_attained_but_for_one_block",
    sentence="For all sizes, some step holds all blocks of the sliding-window cap but one.",
    family=FAMILY,
    variables=(BLOCK_SIZE, WINDOW, EXTRA_RETAINED, *_GENERAL),
    premises=(legal_deployment(deployed(window)),),
    claim=_window(),
    covers=(_LONG, _SHORT, _DRAFTS),
    mutants=(
        variant("the cap is attained whole", _window(spare=0)),
        variant("the cap has a second spare block", _window(SecondSpareBlock)),
        variant("the cap counts the window for the window less one", _window(RetainsOneMore)),
        variant("the cap takes the maximum for the minimum", _window(GreaterOfWindowAndLength)),
        variant("one token too many is skipped", _window(SkipsOneMore)),
    ),
)

CHUNK_ATTAINED = Theorem(
    name="chunk_cap_is_attained_but_for_one_block",
    sentence="For all sizes, some step holds all blocks of the chunked-local cap but one.",
    family=FAMILY,
    variables=(BLOCK_SIZE, CHUNK, *_GENERAL),
    premises=(legal_deployment(deployed(chunked)),),
    claim=_chunk(),
    covers=(_LONG, _SHORT, _DRAFTS),
    mutants=(
        variant("the cap is attained whole", _chunk(spare=0)),
        variant("the cap has a spare block", _chunk(SpareChunk)),
    ),
)

FULL_ATTAINED = Theorem(
    name="full_attention_requirement_is_attained",
    sentence="The last token of the longest sequence takes all blocks that boot reserves for full attention.",
    family=FAMILY,
    variables=(BLOCK_SIZE, *_GENERAL),
    premises=(legal_deployment(deployed(full)),),
    claim=_full(),
    covers=(_LONG, _SHORT, _DRAFTS),
    mutants=(variant("boot reserves a spare block", _full(SpareFull)),),
)

FULL_HELD = Theorem(
    name="full_attention_stays_within_requirement",
    sentence="A request never holds more full-attention blocks than boot reserves for it.",
    family=FAMILY,
    variables=(BLOCK_SIZE, *_GENERAL, COMPUTED, SCHEDULED),
    premises=(legal_deployment(deployed(full)), STEP_WITHIN_BUDGET),
    claim=at_most(held_by(full), cap_of(full, SOUND)),
    covers=(variant("the requirement is reached", equal(held_by(full), cap_of(full, SOUND))), _DRAFTS),
    mutants=(variant("boot rounds down", at_most(held_by(full), cap_of(lambda at: full(at, FloorFull), SOUND))),),
)

THEOREMS = (WINDOW_ATTAINED, CHUNK_ATTAINED, FULL_ATTAINED, FULL_HELD)
