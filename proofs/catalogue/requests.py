"""Any number of requests in one pool, whatever the order of their steps: each within its reservation, so all within the
pool. What the other requests hold and reserve stands as one number each, so that no step reasons about a sum.
"""

from __future__ import annotations

from ...spec.arithmetic import Term, every, total
from ...spec.design import SOUND, VLLM_030, Design
from ...spec.sharing import passes_beside, reservation
from ...spec.sizing import group_requirement, usable
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
    equal,
    exceeds,
    given,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    BLOCKS,
    COMPUTED,
    LOOKAHEAD,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    SCHEDULED,
    STEP_WITHIN_BUDGET,
    TOKENS,
    TOKENS_WITHIN_LENGTH,
    USABLE,
    WINDOW,
    WINDOW_HAS_SLID,
    CacheOf,
    deployed,
    deployment,
    held_by,
    window,
)
from .mutated import NoSpareBlock, SkipsNothing

FAMILY = "requests"

OTHERS_HELD = Variable("others_held", "blocks", "what all other requests hold")
OTHERS_RESERVED = Variable("others_reserved", "blocks", "what all other requests have reserved")
_HELD = Variable("held", "blocks", "what the request holds when its step is over")
_RESERVATION = Variable("reservation", "blocks", "what the request has reserved")
_USABLE = Variable("usable", "blocks", "what requests can have of the pool")
_TAKEN = Variable("taken", "blocks", "what the step takes")

OTHERS_WITHIN = given("others_held <= others_reserved", lambda at: at.others_held <= at.others_reserved)
_WITHIN = given("held <= reservation", lambda at: at.held <= at.reservation)
_ALL_RESERVED = given(
    "others_reserved + reservation <= usable", lambda at: at.others_reserved + at.reservation <= at.usable
)
_FULL = Statement("the pool is full", lambda at: every([at.others_held + at.held == at.usable, at.held >= 1]))
_OTHERS = Statement("others hold blocks", lambda at: at.others_held >= 2)
_IN_ALL = Quantity("held in all", lambda at: at.others_held + at.held)
_RESERVED_IN_ALL = Quantity("reserved in all", lambda at: at.others_reserved + at.reservation)
_POOL = Quantity("usable", lambda at: at.usable)

BASE = Theorem(
    name="no_requests_hold_nothing",
    sentence="Before the first request all blocks but the null block are free: where the induction over events begins.",
    family=FAMILY,
    variables=(BLOCKS,),
    premises=(given("blocks >= 1", lambda at: at.blocks >= 1),),
    claim=at_most(Quantity("held in all", lambda _: total(())), USABLE),
    covers=(Statement("there is only the null block", lambda at: usable(at.blocks) == 0),),
    mutants=(
        variant("a block is free in every pool", exceeds(USABLE, Quantity("held in all", lambda _: total(())))),
        variant("the null block is usable", equal(USABLE, Quantity("blocks", lambda at: at.blocks))),
    ),
)

_WITHOUT = Quantity("held in all", lambda at: at.others_held)


def _with(name: str, held: Formula) -> Quantity:
    return Quantity(name, lambda at: at.others_held + held(at))


SUM = Theorem(
    name="requests_within_their_reservations_are_within_the_sum_of_them",
    sentence="A request within its reservation joins others within theirs, and all are within the sum; so by "
    "induction for any number of requests.",
    family=FAMILY,
    variables=(OTHERS_HELD, OTHERS_RESERVED, _HELD, _RESERVATION),
    premises=(OTHERS_WITHIN, _WITHIN),
    claim=at_most(_IN_ALL, _RESERVED_IN_ALL),
    covers=(_OTHERS, variant("all is used up", equal(_IN_ALL, _RESERVED_IN_ALL))),
    mutants=(
        variant("the others pay for the request", at_most(_IN_ALL, Quantity("r", lambda at: at.others_reserved))),
        variant("the request pays for the others", at_most(_IN_ALL, Quantity("r", lambda at: at.reservation))),
    ),
)

STEP = Theorem(
    name="step_within_a_reservation_finds_its_blocks",
    sentence="Where all reservations together fit the pool, a step that stays within its own finds its blocks, "
    "whatever the other requests hold at that moment.",
    family=FAMILY,
    variables=(OTHERS_HELD, OTHERS_RESERVED, _HELD, _RESERVATION, _USABLE),
    premises=(OTHERS_WITHIN, _WITHIN, _ALL_RESERVED),
    claim=at_most(_IN_ALL, _POOL),
    covers=(_OTHERS, _FULL),
    mutants=(
        variant("the step takes a block more", at_most(_with("held in all", lambda at: at.held + 1), _POOL)),
        variant("a block stays free", exceeds(_POOL, _IN_ALL)),
    ),
)

LEAVE = Theorem(
    name="request_that_leaves_keeps_the_others_within_their_reservations",
    sentence="When a request finishes or is preempted, its blocks and its reservation go, and the others still fit.",
    family=FAMILY,
    variables=(OTHERS_HELD, OTHERS_RESERVED, _HELD, _RESERVATION, _USABLE),
    premises=(OTHERS_WITHIN, _WITHIN, _ALL_RESERVED),
    claim=at_most(_WITHOUT, Quantity("usable - reservation", lambda at: at.usable - at.reservation)),
    covers=(_OTHERS, _FULL),
    mutants=(variant("its blocks stay", at_most(_IN_ALL, Quantity("usable", lambda at: at.usable - at.reservation))),),
)

_TOTAL_HELD = Variable("total_held", "blocks", "what all requests hold before the step")
_TOTAL_RESERVED = Variable("total_reserved", "blocks", "what all requests have reserved")


def _totals(name: str, sentence: str, premise: Premise | None) -> Theorem:
    """Step by totals, that is without knowing which request holds what, or with what is known of the others."""
    claim = at_most(Quantity("held in all", lambda at: at.total_held + at.taken), _POOL)
    more = at_most(Quantity("held in all", lambda at: at.total_held + at.taken + 1), _POOL)
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(_TOTAL_HELD, _TOTAL_RESERVED, _USABLE, _HELD, _RESERVATION, _TAKEN),
        premises=(
            given("total_held <= total_reserved", lambda at: at.total_held <= at.total_reserved),
            given("total_reserved <= usable", lambda at: at.total_reserved <= at.usable),
            given("held <= total_held", lambda at: at.held <= at.total_held),
            given("reservation <= total_reserved", lambda at: at.reservation <= at.total_reserved),
            given("held + taken <= reservation", lambda at: at.held + at.taken <= at.reservation),
            *((premise,) if premise else ()),
        ),
        claim=claim,
        covers=(
            Statement("the step takes blocks beside others", lambda at: every([at.taken >= 1, at.total_held >= 2])),
        ),
        mutants=(variant("the step takes a block more", more),) if premise else (),
        expected=Expectation.HOLDS if premise else Expectation.REFUTED,
        least_sum=None if premise else 5,
    )


TOTALS = _totals(
    "totals_alone_keep_a_step_within_the_pool",
    "That all requests together hold no more than all have reserved is enough for the next step.",
    None,
)
POINTWISE = _totals(
    "totals_and_each_request_within_its_reservation_keep_a_step_within_the_pool",
    "That each request holds no more than it has reserved is enough for the next step.",
    given(
        "the others hold no more than they have reserved",
        lambda at: at.total_held - at.held <= at.total_reserved - at.reservation,
    ),
)

_SIZES = (BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN)
_ENDS_WITHIN = given("computed + scheduled <= tokens", lambda at: at.computed + at.scheduled <= at.tokens)
_STEP = (LOOKAHEAD, TOKENS, COMPUTED, SCHEDULED)
_PREMISES = (legal_deployment(deployed(window)), STEP_WITHIN_BUDGET, TOKENS_WITHIN_LENGTH, _ENDS_WITHIN)


def reserved_by(cache: CacheOf, design: Design, tokens: Formula = lambda at: at.tokens) -> Quantity:
    """Count what a request reserves for its last length."""
    return Quantity("reserved", lambda at: reservation(cache(at), tokens(at), deployment(at, cache(at)), design))


def _spare_dropped(at: Point) -> Term:
    return reserved_by(lambda at: window(at, NoSpareBlock), SOUND).of(at)


_UNRECYCLED = held_by(lambda at: window(at, SkipsNothing))
_BINDS = Statement(
    "the cap is below the whole sequence",
    lambda at: every([reserved_by(window, SOUND).of(at) < at.tokens, at.computed >= at.window, at.block_size >= 2]),
)

WITHIN = Theorem(
    name="window_request_stays_within_its_reservation",
    sentence="Whatever the lookahead, a request holds no more of a window group than the blocks of its last length "
    "with lookahead, and no more than its cap.",
    family=FAMILY,
    variables=(*_SIZES, *_STEP),
    premises=_PREMISES,
    claim=at_most(held_by(window), reserved_by(window, SOUND)),
    covers=(WINDOW_HAS_SLID, variant("all is used up", equal(held_by(window), reserved_by(window, SOUND)))),
    mutants=(
        variant("lookahead is not reserved", at_most(held_by(window), reserved_by(window, VLLM_030))),
        variant("the spare block is dropped", at_most(held_by(window), Quantity("reserved", _spare_dropped))),
        variant("nothing is recycled", at_most(_UNRECYCLED, reserved_by(window, SOUND))),
    ),
)

WITHOUT_LOOKAHEAD = Theorem(
    name="window_request_stays_within_a_reservation_without_lookahead",
    sentence="With a lookahead token, the blocks of the last length, up to the cap, are enough.",
    family=FAMILY,
    variables=(*_SIZES, *_STEP),
    premises=(*_PREMISES, given("lookahead <= 1", lambda at: at.lookahead <= 1)),
    claim=at_most(held_by(window), reserved_by(window, VLLM_030)),
    covers=(WINDOW_HAS_SLID, Statement("drafts", lambda at: at.lookahead >= 1)),
    expected=Expectation.REFUTED,
    least_sum=8,
)


def _gate(need: Quantity, taken: Formula) -> Premise:
    return given("need + others_reserved <= usable", lambda at: passes_beside(need.of(at), at.usable, taken(at)))


def _fits(held: Quantity, more: int = 0) -> Statement:
    return at_most(Quantity("held in all", lambda at: at.others_held + held.of(at) + more), _POOL)


NEVER_PREEMPTS = Theorem(
    name="gate_that_adds_up_reservations_never_preempts",
    sentence="A gate that sets a request's last length against what all others have reserved admits only requests "
    "whose every step then finds its blocks.",
    family=FAMILY,
    variables=(*_SIZES, *_STEP, OTHERS_HELD, OTHERS_RESERVED, _USABLE),
    premises=(*_PREMISES, OTHERS_WITHIN, _gate(reserved_by(window, SOUND), lambda at: at.others_reserved)),
    claim=_fits(held_by(window)),
    covers=(WINDOW_HAS_SLID, _OTHERS),
    mutants=(
        variant("the step takes a block more", _fits(held_by(window), 1)),
        variant("nothing is recycled", _fits(_UNRECYCLED)),
    ),
)

_OTHERS_COUNT = Variable("others", "requests", "how many other requests run")
_MAX_NUM_SEQS = Variable("max_num_seqs", "requests", "how many may run at once")


def _cap(at: Point) -> Term:
    return group_requirement(window(at), deployment(at, window(at)), SOUND)


_CAPS = Quantity("usable", lambda at: at.max_num_seqs * _cap(at))

SEATS = Theorem(
    name="pool_of_a_cap_per_seat_never_preempts",
    sentence="A pool with a cap for each request that may run at once never runs out, whatever the gate.",
    family=FAMILY,
    variables=(*_SIZES, LOOKAHEAD, COMPUTED, SCHEDULED, _OTHERS_COUNT, _MAX_NUM_SEQS),
    premises=(
        legal_deployment(deployed(window)),
        STEP_WITHIN_BUDGET,
        given("others < max_num_seqs", lambda at: at.others < at.max_num_seqs),
    ),
    claim=at_most(Quantity("held in all", lambda at: at.others * _cap(at) + held_by(window).of(at)), _CAPS),
    covers=(
        WINDOW_HAS_SLID,
        Statement("all seats are taken", lambda at: every([at.max_num_seqs == at.others + 1, at.others >= 2])),
    ),
    mutants=(
        variant(
            "a seat too few is paid for",
            at_most(Quantity("h", lambda at: (at.others + 1) * _cap(at) + held_by(window).of(at)), _CAPS),
        ),
        variant(
            "nothing is recycled", at_most(Quantity("h", lambda at: at.others * _cap(at) + _UNRECYCLED.of(at)), _CAPS)
        ),
    ),
)

THEOREMS = (BASE, SUM, STEP, LEAVE, TOTALS, POINTWISE, WITHIN, WITHOUT_LOOKAHEAD, NEVER_PREEMPTS, SEATS)
