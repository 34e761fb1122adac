"""Mamba states in cache mode `align`: what a request holds over its steps, and the two states that boot reserves."""

from __future__ import annotations

from dataclasses import replace

from ...spec.aligned import FRESH, Copies, advanced, checkpoint_taken, copies_held, settled_but_drafts
from ...spec.arithmetic import Term, Truth, every
from ...spec.attention import blocks_for
from ...spec.deployment import Deployment, Group
from ...spec.design import SOUND, Design
from ...spec.sizing import group_requirement
from ...spec.states import MambaAlign
from ...spec.tables import retired
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
    given,
    implies,
    legal_cache,
    variant,
)
from .common import BLOCK_SIZE, COMPUTED, LOOKAHEAD, MAX_CONCURRENT_BATCHES, SCHEDULED
from .states import SPECULATIVE

FAMILY = "aligned"

_CHECKPOINT = Variable("checkpoint", "states", "kept inside the last chunk of a prompt")
_COVERED = Variable("covered", "blocks", "the blocks of tokens that the table covers before the step")
_SOURCE = Variable("source", "blocks", "how many it covered at the last copy; 0 once that block has gone back")
_STATE = (_COVERED, _SOURCE)


def _cache(at: Point) -> MambaAlign:
    return MambaAlign(at.block_size, at.get("speculative", 0), at.get("checkpoint", 0))


def _reserved(at: Point) -> Term:
    return group_requirement(_cache(at), Deployment((Group(_cache(at)),), 1, 1), SOUND)


_RESERVED = Quantity("reserved", _reserved)
_ONE_COPY = Quantity("reserved", lambda at: _reserved(at) - 1)


def _before(at: Point) -> Copies:
    return Copies(at.covered, at.source, 0)


def _after(at: Point, settled: Term) -> Copies:
    return advanced(_before(at), settled, at.computed + at.scheduled, _cache(at))


def _kept(settled: Formula, reserved: Quantity = _RESERVED) -> Statement:
    """State that no copy goes astray in a step, that its source lies behind, and that the reservation suffices."""

    def held(at: Point) -> Term:
        after = _after(at, settled(at))
        return copies_held(after, _cache(at)) + checkpoint_taken(_before(at), after, _cache(at))

    def holds(at: Point) -> Truth:
        after = _after(at, settled(at))
        return every([after.stray == 0, after.source < after.covered, held(at) <= reserved.of(at)])

    return Statement("no copy is astray, and held <= reserved", holds, (Quantity("held", held), reserved))


def _but_drafts(at: Point) -> Term:
    return settled_but_drafts(at.computed, _cache(at))


def _but_twice(at: Point) -> Term:
    return settled_but_drafts(settled_but_drafts(at.computed, _cache(at)), _cache(at))


def _all(at: Point) -> Term:
    return at.computed


def _nothing(_: Point) -> Term:
    return 0


_SOURCE_BEHIND: Premise = given(
    "source < covered, or both are 0", lambda at: implies(at.source >= 1, at.source < at.covered)
)
_STEPS = given("scheduled >= 1", lambda at: at.scheduled >= 1)


def _room(at: Point) -> Term:
    """Count the tokens that the covered blocks hold."""
    return at.covered * at.block_size


_AT_BOUNDARY = given(
    "a chunk that enters a new block starts at the boundary of one",
    lambda at: implies(at.computed + at.scheduled > _room(at), at.computed == _room(at)),
)
_COVERS = given(
    "the table covers what is computed, and no more", lambda at: at.covered == blocks_for(at.computed, at.block_size)
)
_VERIFIES = given(
    "computed <= covered * block_size, and scheduled <= 1 + speculative",
    lambda at: every([at.computed <= _room(at), at.covered >= 1, at.scheduled <= 1 + at.speculative]),
)
_BLOCK_ABOVE = given("block_size > speculative", lambda at: at.block_size > at.speculative)
_BLOCK_TWICE = given("block_size > 2 * speculative", lambda at: at.block_size > 2 * at.speculative)
_COPIED = Statement("the state that was copied last has not gone back", lambda at: at.source >= 1)
_SPANS = Statement("the step spans several blocks", lambda at: at.scheduled > 2 * at.block_size)
_REJECTED = Statement("drafts were rejected", lambda at: at.computed + at.block_size < _room(at) + 1)
_ENTERS = Statement("the step enters a new block", lambda at: at.computed + at.scheduled > _room(at))
_LEGAL = legal_cache(_cache)


def _step(
    name: str,
    sentence: str,
    settled: Formula,
    premises: tuple[Premise, ...],
    covers: tuple[Statement, ...],
    mutants: tuple[Statement, ...],
    own: tuple[Variable, ...] = (),
) -> Theorem:
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(BLOCK_SIZE, SPECULATIVE, *own, *_STATE, COMPUTED, SCHEDULED),
        premises=(_LEGAL, _SOURCE_BEHIND, _STEPS, *premises),
        claim=_kept(settled),
        covers=(_COPIED, *covers),
        mutants=(variant("the copied state is not reserved", _kept(settled, _ONE_COPY)), *mutants),
    )


STEPS = (
    _step(
        "aligned_chunk_keeps_states_within_their_reservation",
        "Where all but the drafts count as settled and every chunk starts at a block boundary, a request holds two "
        "states and the speculated ones, blocks being larger than the drafts.",
        _but_drafts,
        (_AT_BOUNDARY, _BLOCK_ABOVE),
        (_SPANS,),
        (
            variant("nothing counts as settled", _kept(_nothing)),
            variant("twice the drafts are kept back", _kept(_but_twice)),
        ),
    ),
    _step(
        "verified_drafts_keep_states_within_their_reservation",
        "Where all but the drafts count as settled, decoding keeps to the reservation, whatever is rejected, blocks "
        "being larger than twice the drafts.",
        _but_drafts,
        (_VERIFIES, _BLOCK_TWICE),
        (_ENTERS, _REJECTED),
        (
            variant("nothing counts as settled", _kept(_nothing)),
            variant("twice the drafts are kept back", _kept(_but_twice)),
        ),
    ),
    _step(
        "settled_chunk_keeps_states_within_their_reservation",
        "Where processed tokens count as settled and one batch is in flight, a chunk may end anywhere, and a state "
        "inside the last one is paid for.",
        _all,
        (_COVERS,),
        (_SPANS, Statement("a state inside the chunk is kept", lambda at: at.checkpoint >= 1)),
        (
            variant("all but the drafts count as settled", _kept(_but_drafts)),
            variant("nothing counts as settled", _kept(_nothing)),
        ),
        (_CHECKPOINT,),
    ),
    _step(
        "settled_drafts_keep_states_within_their_reservation",
        "Where processed tokens count as settled and one batch is in flight, decoding keeps to the reservation, "
        "whatever is rejected, blocks being larger than the drafts.",
        _all,
        (_VERIFIES, _BLOCK_ABOVE),
        (_ENTERS, _REJECTED),
        (
            variant("all but the drafts count as settled", _kept(_but_drafts)),
            variant("nothing counts as settled", _kept(_nothing)),
        ),
    ),
)

_FIRST = Variable("first", "tokens", "the first step of a request")
_SECOND = Variable("second", "tokens", "its second step")
_THIRD = Variable("third", "tokens", "its third step")
_RUN = (_FIRST, _SECOND, _THIRD)
_TAKE_STEPS = given("every step computes a token", lambda at: every([at.first >= 1, at.second >= 1, at.third >= 1]))


def _run(at: Point, in_flight: bool) -> Term:
    """Count what a request holds after its third step; in flight, the second has not settled when the third starts."""
    cache, one, two = _cache(at), at.first, at.first + at.second
    copies = advanced(FRESH, 0, one, cache)
    copies = advanced(copies, 0 if in_flight else settled_but_drafts(one, cache), two, cache)
    copies = advanced(copies, one if in_flight else settled_but_drafts(two, cache), two + at.third, cache)
    return copies_held(copies, cache)


def _runs_within(in_flight: bool, more: int = 0) -> Statement:
    return at_most(
        Quantity("held after the third step", lambda at: _run(at, in_flight)),
        Quantity("reserved", lambda at: _reserved(at) + more),
    )


def _refuted_run(name: str, sentence: str, in_flight: bool, premises: tuple[Premise, ...], least_sum: int) -> Theorem:
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(BLOCK_SIZE, SPECULATIVE, *_RUN),
        premises=(_LEGAL, _TAKE_STEPS, *premises),
        claim=_runs_within(in_flight),
        covers=(Statement("the steps are of several sizes", lambda at: at.first > at.second),),
        expected=Expectation.REFUTED,
        least_sum=least_sum,
    )


_PROMPT_THEN_DRAFTS = given(
    "second and third verify drafts",
    lambda at: every([at.second <= 1 + at.speculative, at.third <= 1 + at.speculative]),
)
_TAIL = given(
    "the first chunk ends at the last boundary but one before the end of the prompt",
    lambda at: every(
        [at.first == blocks_for(at.first, at.block_size) * at.block_size, at.second + at.third < 2 * at.block_size]
    ),
)

RUNS = (
    _refuted_run(
        "verified_drafts_keep_states_in_any_blocks_within_their_reservation",
        "Where all but the drafts count as settled, decoding keeps to the reservation, whatever the block size.",
        False,
        (_PROMPT_THEN_DRAFTS,),
        5,
    ),
    _refuted_run(
        "split_end_of_a_prompt_keeps_states_within_their_reservation",
        "Where all but the drafts count as settled, the last two blocks of a prompt, which a drafter leaves unaligned, "
        "may be computed in any chunks.",
        False,
        (_BLOCK_TWICE, _TAIL),
        11,
    ),
    _refuted_run(
        "chunks_in_flight_keep_states_within_their_reservation",
        "Where processed tokens count as settled, two batches in flight keep to a reservation of two states and the "
        "speculated ones.",
        True,
        (),
        4,
    ),
)

TWO_BATCHES = Theorem(
    name="chunks_in_flight_take_one_state_more",
    sentence="With two batches in flight, one state more than two and the speculated ones is enough for the first "
    "three chunks of a request.",
    family=FAMILY,
    variables=(BLOCK_SIZE, SPECULATIVE, *_RUN),
    premises=(_LEGAL, _TAKE_STEPS),
    claim=_runs_within(in_flight=True, more=1),
    covers=(
        Statement("the chunks span several blocks", lambda at: every([at.second > at.block_size, at.block_size >= 2])),
    ),
    mutants=(variant("nothing more is reserved", _runs_within(in_flight=True)),),
)

_PROCESSED = Variable("processed", "tokens", "the tokens whose steps have settled")
_END = Variable("end", "tokens", "where the step that is computed last ends")
_COPIES = Variable("copies", "states", "copied by steps in flight, and not gone back yet")
_STEPS_IN_FLIGHT = Variable("steps_in_flight", "steps", "that have not settled, beside the one that starts")
_UNPAID_FLIGHT = replace(SOUND, state_in_flight_budget=False)


def _paid(design: Design) -> Quantity:
    """Count what boot reserves for the batches in flight."""

    def of(at: Point) -> Term:
        batches, lookahead = at.max_concurrent_batches, at.get("lookahead", 0)
        groups = (Group(_cache(at)),)
        flying = Deployment(groups, 1, 1, max_concurrent_batches=batches, lookahead=lookahead)
        return group_requirement(_cache(at), flying, design)

    return Quantity("reserved", of)


def _spanned(retires: bool = True) -> Quantity:
    """Count all entries from the first that may be read again to the last speculated one, as if none were empty."""

    def of(at: Point) -> Term:
        gone = retired(_cache(at), at.processed, SOUND) if retires else 0
        return blocks_for(at.end, at.block_size) + _cache(at).speculative - gone

    return Quantity("held", of)


_REACH = given(
    "end <= processed + max_concurrent_batches * (1 + lookahead)",
    lambda at: every([at.end >= at.processed, at.end <= at.processed + at.max_concurrent_batches * (1 + at.lookahead)]),
)
_FLYING = given("max_concurrent_batches >= 1", lambda at: at.max_concurrent_batches >= 1)
_SEVERAL = Statement("several batches are in flight", lambda at: at.max_concurrent_batches >= 2)

DRAFTS_IN_FLIGHT = Theorem(
    name="drafts_in_flight_keep_states_within_a_reservation_for_all_batches",
    sentence="Where processed tokens count as settled, a state for every block that the drafts of all batches in "
    "flight can reach is enough while decoding, whatever is rejected.",
    family=FAMILY,
    variables=(BLOCK_SIZE, SPECULATIVE, MAX_CONCURRENT_BATCHES, LOOKAHEAD, _PROCESSED, _END),
    premises=(_LEGAL, _FLYING, _REACH),
    claim=at_most(_spanned(), _paid(SOUND)),
    covers=(
        _SEVERAL,
        Statement("drafts reach beyond a block", lambda at: at.lookahead > at.block_size),
        variant("all is used up", equal(_spanned(), _paid(SOUND))),
    ),
    mutants=(
        variant("one batch is paid for", at_most(_spanned(), _paid(_UNPAID_FLIGHT))),
        variant("nothing goes back", at_most(_spanned(retires=False), _paid(SOUND))),
    ),
)

_IN_FLIGHT_WITHIN = given(
    "steps_in_flight < max_concurrent_batches", lambda at: at.steps_in_flight < at.max_concurrent_batches
)
_COPIES_OF_STEPS = given("copies <= steps_in_flight", lambda at: at.copies <= at.steps_in_flight)


def _left(more: int = 1) -> Quantity:
    """Count the running state, the speculated ones and the copies when a step has copied the running one again."""
    return Quantity("held", lambda at: 1 + _cache(at).speculative + at.copies + more)


def _each_leaves_one(more: int = 1, paid: Design = SOUND) -> Statement:
    within = at_most(_left(more), _paid(paid))
    return Statement(
        f"copies <= steps in flight, and {within.text}",
        lambda at: every([at.copies + more <= at.steps_in_flight + 1, within.holds(at)]),
        within.shown,
    )


CHUNKS_IN_FLIGHT = Theorem(
    name="chunks_in_flight_keep_states_within_a_reservation_for_all_batches",
    sentence="A step copies the running state once, and the copy goes back when that step settles; so a state for "
    "each batch in flight is enough while a prompt is computed, and the next step finds no more copies than steps in "
    "flight.",
    family=FAMILY,
    variables=(BLOCK_SIZE, SPECULATIVE, MAX_CONCURRENT_BATCHES, _STEPS_IN_FLIGHT, _COPIES),
    premises=(_LEGAL, _IN_FLIGHT_WITHIN, _COPIES_OF_STEPS),
    claim=_each_leaves_one(),
    covers=(_SEVERAL, Statement("copies are in flight", lambda at: at.copies >= 2)),
    mutants=(
        variant("a step leaves two copies", _each_leaves_one(2)),
        variant("one batch is paid for", _each_leaves_one(paid=_UNPAID_FLIGHT)),
    ),
)

THEOREMS = (*STEPS, *RUNS, TWO_BATCHES, DRAFTS_IN_FLIGHT, CHUNKS_IN_FLIGHT)
