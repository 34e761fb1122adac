"""How many lookahead tokens the cap of a sliding window must pay for, and the bound that nothing undercuts."""

from __future__ import annotations

from ...spec.arithmetic import Term, cdiv, fdiv, maximum, minimum
from ...spec.design import SOUND, VLLM_030
from ..theorem import (
    Expectation,
    Point,
    Quantity,
    Statement,
    Theorem,
    at_most,
    equal,
    given,
    variant,
)
from .common import (
    LONG_SEQUENCES,
    LOOKAHEAD,
    SEQUENCE_WITHIN_LENGTH,
    WINDOW_HAS_SLID,
    held_by,
    window,
)
from .sliding_window import DRAFTS, PREMISES, SIZES, STEP, faults, reaches_cap, within_cap

FAMILY = "lookahead"


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


def _tight(at: Point) -> Term:
    """Bound by what the window spans when it is misaligned as badly as can be, and by the whole sequence."""
    span = at.window + at.max_num_batched_tokens + at.lookahead - 2
    return minimum(cdiv(span + at.block_size, at.block_size), cdiv(at.max_model_len, at.block_size))


_TIGHT = Quantity("min(cdiv(W + B + s - 2 + b, b), cdiv(L, b))", _tight)
_TIGHTER = Quantity("the tight bound less one", lambda at: _tight(at) - 1)

ANY_LOOKAHEAD = Theorem(
    name="window_with_any_lookahead_stays_within_cap",
    sentence="The cap of the releases holds for any lookahead.",
    family=FAMILY,
    variables=(*SIZES, LOOKAHEAD, *STEP),
    premises=(*PREMISES, SEQUENCE_WITHIN_LENGTH),
    claim=within_cap(VLLM_030),
    covers=(WINDOW_HAS_SLID, DRAFTS),
    expected=Expectation.REFUTED,
    least_sum=9,
)

LOOKAHEAD_PAID = Theorem(
    name="window_stays_within_cap_that_pays_for_lookahead",
    sentence="A budget that pays for every lookahead token keeps a request within its cap.",
    family=FAMILY,
    variables=(*SIZES, LOOKAHEAD, *STEP),
    premises=PREMISES,
    claim=_bounded_by("a cap that pays for lookahead", _paying_for(0)),
    covers=(WINDOW_HAS_SLID, DRAFTS),
    mutants=(_bounded_by("a cap that pays for all but two", _paying_for(2)), _bounded_by("tight - 1", _TIGHTER)),
)

ALL_BUT_ONE_PAID = Theorem(
    name="window_stays_within_cap_that_pays_for_all_but_one_lookahead_token",
    sentence="A budget that pays for all but one lookahead token, as the sound design's does, is enough.",
    family=FAMILY,
    variables=(*SIZES, LOOKAHEAD, *STEP),
    premises=PREMISES,
    claim=within_cap(SOUND),
    covers=(reaches_cap(SOUND), WINDOW_HAS_SLID, DRAFTS),
    mutants=(*faults(SOUND), variant("lookahead is not paid for", within_cap(VLLM_030))),
)

ALL_BUT_TWO_PAID = Theorem(
    name="window_stays_within_cap_that_pays_for_all_but_two_lookahead_tokens",
    sentence="A budget that pays for all but two lookahead tokens is enough.",
    family=FAMILY,
    variables=(*SIZES, LOOKAHEAD, *STEP),
    premises=(*PREMISES, SEQUENCE_WITHIN_LENGTH),
    claim=_bounded_by("a cap that pays for all but two", _paying_for(2)),
    covers=(WINDOW_HAS_SLID, DRAFTS),
    expected=Expectation.REFUTED,
    least_sum=9,
)

IN_BLOCKS = Theorem(
    name="window_stays_within_cap_plus_lookahead_in_blocks",
    sentence="With lookahead, the cap and the blocks of all but one lookahead token, rounded up, are enough.",
    family=FAMILY,
    variables=(*SIZES, LOOKAHEAD, *STEP),
    premises=(*PREMISES, _DRAFTING),
    claim=_bounded_by(_CEILED.name, _CEILED),
    covers=(WINDOW_HAS_SLID, DRAFTS),
    mutants=(_bounded_by(_FLOORED.name, _FLOORED), variant("no blocks are added", within_cap(VLLM_030))),
)

IN_WHOLE_BLOCKS = Theorem(
    name="window_stays_within_cap_plus_lookahead_in_whole_blocks",
    sentence="With lookahead, the cap and the blocks of all but one lookahead token, rounded down, are enough.",
    family=FAMILY,
    variables=(*SIZES, LOOKAHEAD, *STEP),
    premises=(*PREMISES, _DRAFTING, SEQUENCE_WITHIN_LENGTH),
    claim=_bounded_by(_FLOORED.name, _FLOORED),
    covers=(WINDOW_HAS_SLID, DRAFTS),
    expected=Expectation.REFUTED,
    least_sum=15,
)

TIGHT = Theorem(
    name="window_stays_within_the_tight_bound",
    sentence="A request holds at most min(cdiv(W + B + s - 2 + b, b), cdiv(L, b)) blocks of a sliding-window group.",
    family=FAMILY,
    variables=(*SIZES, LOOKAHEAD, *STEP),
    premises=PREMISES,
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
    variables=(*SIZES, LOOKAHEAD, *STEP),
    premises=(*PREMISES, SEQUENCE_WITHIN_LENGTH),
    claim=_bounded_by(_TIGHTER.name, _TIGHTER),
    covers=(WINDOW_HAS_SLID,),
    expected=Expectation.REFUTED,
    least_sum=5,
)

THEOREMS = (
    ANY_LOOKAHEAD,
    LOOKAHEAD_PAID,
    ALL_BUT_ONE_PAID,
    ALL_BUT_TWO_PAID,
    IN_BLOCKS,
    IN_WHOLE_BLOCKS,
    TIGHT,
    TIGHTER,
)
