"""What a sliding window holds stays within its cap, as far as lookahead and tokens in flight are paid for."""

from __future__ import annotations

from dataclasses import replace

from ...spec.arithmetic import Term, cdiv, fdiv, maximum, minimum
from ...spec.attention import SlidingWindow
from ...spec.design import SOUND, VLLM_028, VLLM_030, Design
from ..theorem import (
    Expectation,
    Point,
    Premise,
    Quantity,
    Statement,
    Theorem,
    at_most,
    equal,
    given,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    COMPUTED,
    EXTRA_RETAINED,
    IN_FLIGHT,
    IN_FLIGHT_WITHIN_BATCHES,
    LONG_SEQUENCES,
    LOOKAHEAD,
    MAX_CONCURRENT_BATCHES,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    SCHEDULED,
    SEQUENCE_WITHIN_LENGTH,
    STEP_WITHIN_BUDGET,
    WINDOW,
    WINDOW_HAS_SLID,
    CacheOf,
    cap_of,
    deployed,
    held_by,
    window,
)
from .mutated import (
    BudgetForgotten,
    FloorBound,
    NoSpareBlock,
    RetainsNothingExtra,
    RetainsTwoFewer,
    SkipsFewer,
    SkipsNothing,
)

FAMILY = "sliding_window"

_SIZES = (BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN)
_STEP = (COMPUTED, SCHEDULED)
_PREMISES: tuple[Premise, ...] = (legal_deployment(deployed(window)), STEP_WITHIN_BUDGET)


def _of(kind: type[SlidingWindow]) -> CacheOf:
    return lambda at: window(at, kind)


def _within_cap(design: Design, kind: type[SlidingWindow] = SlidingWindow) -> Statement:
    return at_most(held_by(_of(kind)), cap_of(_of(kind), design))


def _reaches_cap(design: Design) -> Statement:
    return variant("the cap is reached", equal(held_by(window), cap_of(window, design)))


def _mutants(design: Design) -> tuple[Statement, ...]:
    return (
        variant("the spare block is dropped", _within_cap(design, NoSpareBlock)),
        variant("the cap rounds down", _within_cap(design, FloorBound)),
        variant("the cap forgets the budget", _within_cap(design, BudgetForgotten)),
        variant("the cap forgets two tokens of the window", _within_cap(design, RetainsTwoFewer)),
        variant("nothing is recycled", _within_cap(design, SkipsNothing)),
    )


def _bounded_by(name: str, bound: Quantity) -> Statement:
    return variant(f"held <= {name}", at_most(held_by(window), bound))


def _bound_with(name: str, budget: Quantity) -> Quantity:
    return Quantity(name, lambda at: window(at).bound(budget.of(at), at.max_model_len))


def _paying_for(unpaid: int) -> Quantity:
    """Bound a window whose budget pays for all lookahead tokens but so many."""
    paid = Quantity("budget", lambda at: at.max_num_batched_tokens + maximum(0, at.lookahead - unpaid), "tokens")
    return _bound_with(f"the cap for max_num_batched_tokens + max(0, lookahead - {unpaid})", paid)


_BUDGET = Quantity("budget", lambda at: at.max_num_batched_tokens, "tokens")
_CEILED = Quantity(
    "cap + cdiv(lookahead - 1, block_size)",
    lambda at: _bound_with("cap", _BUDGET).of(at) + cdiv(at.lookahead - 1, at.block_size),
)
_FLOORED = Quantity(
    "cap + fdiv(lookahead - 1, block_size)",
    lambda at: _bound_with("cap", _BUDGET).of(at) + fdiv(at.lookahead - 1, at.block_size),
)
_DRAFTING = given("lookahead >= 1", lambda at: at.lookahead >= 1)
_AT_MOST_ONE = given("lookahead <= 1", lambda at: at.lookahead <= 1)
_DRAFTS = Statement("lookahead takes slots", lambda at: at.lookahead >= 3)


def _tight(at: Point) -> Term:
    """Bound by what the window spans when it is misaligned as badly as can be, and by the whole sequence."""
    span = at.window + at.max_num_batched_tokens + at.lookahead - 2
    return minimum(cdiv(span + at.block_size, at.block_size), cdiv(at.max_model_len, at.block_size))


_TIGHT = Quantity("min(cdiv(W + B + s - 2 + b, b), cdiv(L, b))", _tight)
_TIGHTER = Quantity("the tight bound less one", lambda at: _tight(at) - 1)

WITHOUT_LOOKAHEAD = Theorem(
    name="window_stays_within_cap",
    sentence="Without lookahead, a request never holds more blocks of a sliding-window group than its cap.",
    family=FAMILY,
    variables=(*_SIZES, *_STEP),
    premises=_PREMISES,
    claim=_within_cap(VLLM_030),
    covers=(_reaches_cap(VLLM_030), WINDOW_HAS_SLID, LONG_SEQUENCES),
    mutants=_mutants(VLLM_030),
)

ONE_LOOKAHEAD_TOKEN = Theorem(
    name="window_with_one_lookahead_token_stays_within_cap",
    sentence="The spare block covers one lookahead token, although no release pays for lookahead.",
    family=FAMILY,
    variables=(*_SIZES, LOOKAHEAD, *_STEP),
    premises=(*_PREMISES, _AT_MOST_ONE),
    claim=_within_cap(VLLM_030),
    covers=(_reaches_cap(VLLM_030), WINDOW_HAS_SLID, LONG_SEQUENCES, Statement("drafts", lambda at: at.lookahead >= 1)),
    mutants=(
        *_mutants(VLLM_030),
        variant("one token too few is skipped", _within_cap(VLLM_030, SkipsFewer)),
    ),
)

ANY_LOOKAHEAD = Theorem(
    name="window_with_any_lookahead_stays_within_cap",
    sentence="The cap of the releases holds for any lookahead.",
    family=FAMILY,
    variables=(*_SIZES, LOOKAHEAD, *_STEP),
    premises=(*_PREMISES, SEQUENCE_WITHIN_LENGTH),
    claim=_within_cap(VLLM_030),
    covers=(WINDOW_HAS_SLID, _DRAFTS),
    expected=Expectation.REFUTED,
    least_sum=9,
)

LOOKAHEAD_PAID = Theorem(
    name="window_stays_within_cap_that_pays_for_lookahead",
    sentence="A budget that pays for every lookahead token keeps a request within its cap.",
    family=FAMILY,
    variables=(*_SIZES, LOOKAHEAD, *_STEP),
    premises=_PREMISES,
    claim=_bounded_by("a cap that pays for lookahead", _paying_for(0)),
    covers=(WINDOW_HAS_SLID, _DRAFTS),
    mutants=(_bounded_by("a cap that pays for all but two", _paying_for(2)), _bounded_by("tight - 1", _TIGHTER)),
)

ALL_BUT_ONE_PAID = Theorem(
    name="window_stays_within_cap_that_pays_for_all_but_one_lookahead_token",
    sentence="A budget that pays for all but one lookahead token, as the sound design's does, is enough.",
    family=FAMILY,
    variables=(*_SIZES, LOOKAHEAD, *_STEP),
    premises=_PREMISES,
    claim=_within_cap(SOUND),
    covers=(_reaches_cap(SOUND), WINDOW_HAS_SLID, _DRAFTS),
    mutants=(*_mutants(SOUND), variant("lookahead is not paid for", _within_cap(VLLM_030))),
)

ALL_BUT_TWO_PAID = Theorem(
    name="window_stays_within_cap_that_pays_for_all_but_two_lookahead_tokens",
    sentence="A budget that pays for all but two lookahead tokens is enough.",
    family=FAMILY,
    variables=(*_SIZES, LOOKAHEAD, *_STEP),
    premises=(*_PREMISES, SEQUENCE_WITHIN_LENGTH),
    claim=_bounded_by("a cap that pays for all but two", _paying_for(2)),
    covers=(WINDOW_HAS_SLID, _DRAFTS),
    expected=Expectation.REFUTED,
    least_sum=9,
)

IN_BLOCKS = Theorem(
    name="window_stays_within_cap_plus_lookahead_in_blocks",
    sentence="With lookahead, the cap and the blocks of all but one lookahead token, rounded up, are enough.",
    family=FAMILY,
    variables=(*_SIZES, LOOKAHEAD, *_STEP),
    premises=(*_PREMISES, _DRAFTING),
    claim=_bounded_by(_CEILED.name, _CEILED),
    covers=(WINDOW_HAS_SLID, _DRAFTS),
    mutants=(_bounded_by(_FLOORED.name, _FLOORED), variant("no blocks are added", _within_cap(VLLM_030))),
)

IN_WHOLE_BLOCKS = Theorem(
    name="window_stays_within_cap_plus_lookahead_in_whole_blocks",
    sentence="With lookahead, the cap and the blocks of all but one lookahead token, rounded down, are enough.",
    family=FAMILY,
    variables=(*_SIZES, LOOKAHEAD, *_STEP),
    premises=(*_PREMISES, _DRAFTING, SEQUENCE_WITHIN_LENGTH),
    claim=_bounded_by(_FLOORED.name, _FLOORED),
    covers=(WINDOW_HAS_SLID, _DRAFTS),
    expected=Expectation.REFUTED,
    least_sum=15,
)

TIGHT = Theorem(
    name="window_stays_within_the_tight_bound",
    sentence="A request holds at most min(cdiv(W + B + s - 2 + b, b), cdiv(L, b)) blocks of a sliding-window group.",
    family=FAMILY,
    variables=(*_SIZES, LOOKAHEAD, *_STEP),
    premises=_PREMISES,
    claim=_bounded_by(_TIGHT.name, _TIGHT),
    covers=(
        variant("the tight bound is reached", equal(held_by(window), _TIGHT)),
        WINDOW_HAS_SLID,
        LONG_SEQUENCES,
    ),
    mutants=(_bounded_by(_TIGHTER.name, _TIGHTER),),
)

TIGHTER = Theorem(
    name="window_stays_below_the_tight_bound",
    sentence="The tight bound can be lowered by a block.",
    family=FAMILY,
    variables=(*_SIZES, LOOKAHEAD, *_STEP),
    premises=(*_PREMISES, SEQUENCE_WITHIN_LENGTH),
    claim=_bounded_by(_TIGHTER.name, _TIGHTER),
    covers=(WINDOW_HAS_SLID,),
    expected=Expectation.REFUTED,
    least_sum=5,
)

_GENERAL = (*_SIZES[:2], EXTRA_RETAINED, *_SIZES[2:], MAX_CONCURRENT_BATCHES, LOOKAHEAD, COMPUTED, IN_FLIGHT, SCHEDULED)
_FLYING = Statement("tokens are in flight", lambda at: at.in_flight >= at.max_num_batched_tokens)
_ONE_BATCH_PAID = replace(VLLM_028, in_flight_budget=False)

EXTRA = Theorem(
    name="window_with_extra_retained_tokens_stays_within_cap",
    sentence="Tokens that are kept before the window are part of its cap.",
    family=FAMILY,
    variables=(*_SIZES[:2], EXTRA_RETAINED, *_SIZES[2:], *_STEP),
    premises=_PREMISES,
    claim=_within_cap(VLLM_030),
    covers=(WINDOW_HAS_SLID, Statement("tokens are retained", lambda at: at.extra_retained >= 2)),
    mutants=(
        variant("the cap forgets the extra tokens", _within_cap(VLLM_030, RetainsNothingExtra)),
        variant("the spare block is dropped", _within_cap(VLLM_030, NoSpareBlock)),
    ),
)

IN_FLIGHT_PAID = Theorem(
    name="window_with_batches_in_flight_stays_within_cap",
    sentence="Freeing on processed tokens, a budget for all batches in flight keeps a request within its cap.",
    family=FAMILY,
    variables=_GENERAL,
    premises=(*_PREMISES, IN_FLIGHT_WITHIN_BATCHES),
    claim=_within_cap(SOUND),
    covers=(_reaches_cap(SOUND), WINDOW_HAS_SLID, _FLYING, _DRAFTS),
    mutants=(
        variant("one batch is paid for", _within_cap(replace(SOUND, in_flight_budget=False))),
        variant("lookahead is not paid for", _within_cap(VLLM_030)),
        variant("the spare block is dropped", _within_cap(SOUND, NoSpareBlock)),
        variant("the cap forgets the extra tokens", _within_cap(SOUND, RetainsNothingExtra)),
    ),
)

IN_FLIGHT_UNPAID = Theorem(
    name="window_with_batches_in_flight_stays_within_cap_of_one_batch",
    sentence="Freeing on processed tokens, a budget for one batch is enough.",
    family=FAMILY,
    variables=(*_SIZES, MAX_CONCURRENT_BATCHES, COMPUTED, IN_FLIGHT, SCHEDULED),
    premises=(*_PREMISES, IN_FLIGHT_WITHIN_BATCHES, SEQUENCE_WITHIN_LENGTH),
    claim=_within_cap(_ONE_BATCH_PAID),
    covers=(WINDOW_HAS_SLID, _FLYING),
    expected=Expectation.REFUTED,
    least_sum=14,
)

THEOREMS = (
    WITHOUT_LOOKAHEAD,
    ONE_LOOKAHEAD_TOKEN,
    ANY_LOOKAHEAD,
    LOOKAHEAD_PAID,
    ALL_BUT_ONE_PAID,
    ALL_BUT_TWO_PAID,
    IN_BLOCKS,
    IN_WHOLE_BLOCKS,
    TIGHT,
    TIGHTER,
    EXTRA,
    IN_FLIGHT_PAID,
    IN_FLIGHT_UNPAID,
)
