"""Kinds whose blocks do not follow the tokens alone: states at fixed positions, encoder output, a ring."""

from __future__ import annotations

from ...spec.arithmetic import Term, every, fdiv
from ...spec.attention import blocks_for, recycled
from ...spec.deployment import Deployment, Group
from ...spec.design import SOUND, VLLM_011, VLLM_021, VLLM_022, Design
from ...spec.sizing import group_requirement
from ...spec.states import CircularBuffer, CrossAttention, MambaAll, MambaNone
from ...spec.tables import encoder_table, missing, ring_taken, state_table
from ..theorem import (
    Expectation,
    Point,
    Premise,
    Quantity,
    Statement,
    Theorem,
    Variable,
    at_most,
    equal,
    given,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    COMPUTED,
    LOOKAHEAD,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    SCHEDULED,
    SEQUENCE_WITHIN_LENGTH,
    STEP_WITHIN_BUDGET,
    deployment,
    processed,
    slots,
)

FAMILY = "states"

SPECULATIVE = Variable("speculative", "states", "kept for speculated tokens, one each")
_ENCODER = Variable("encoder_tokens", "tokens", "the longest output of an encoder")
_OUTPUT = Variable("output", "tokens", "the output of a request's encoder")
_HELD = Variable("held", "blocks", "what a request holds before a step")


def _state(at: Point, kind: type[MambaNone]) -> MambaNone:
    return kind(at.block_size, at.speculative)


def _required(at: Point, kind: type[MambaNone], design: Design) -> Term:
    cache = _state(at, kind)
    return group_requirement(cache, deployment(at, cache), design)


def _within(kind: type[MambaNone], design: Design, unsized: int = 0) -> Statement:
    """State that a request holds no more states than boot reserves."""

    def held(at: Point) -> Term:
        cache = _state(at, kind)
        return state_table(cache, slots(at)) - recycled(cache, processed(at))

    reserved = Quantity("reserved", lambda at: _required(at, kind, design) - unsized)
    return at_most(Quantity("held", held), reserved)


def _legal(kind: type[MambaNone]) -> Premise:
    return legal_deployment(lambda at: deployment(at, _state(at, kind)))


_WHOLE = given("block_size >= max_model_len", lambda at: at.block_size >= at.max_model_len)
_STEP = (BLOCK_SIZE, SPECULATIVE, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, LOOKAHEAD, COMPUTED, SCHEDULED)
_LAST = Statement("the sequence reaches its greatest length", lambda at: slots(at) == at.max_model_len)
_DRAFTS = Statement("states are speculated", lambda at: at.speculative >= 2)


def _positions(
    name: str,
    sentence: str,
    kind: type[MambaNone],
    design: Design,
    premises: tuple[Premise, ...],
    least_sum: int | None,
) -> Theorem:
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=_STEP,
        premises=(_legal(kind), STEP_WITHIN_BUDGET, SEQUENCE_WITHIN_LENGTH, *premises),
        claim=_within(kind, design),
        covers=(_LAST, _DRAFTS),
        mutants=()
        if least_sum
        else (
            variant("a state less is reserved", _within(kind, design, 1)),
            variant("speculated states are not reserved", _within(kind, VLLM_011)),
        ),
        expected=Expectation.REFUTED if least_sum else Expectation.HOLDS,
        least_sum=least_sum,
    )


def _cross(at: Point) -> CrossAttention:
    return CrossAttention(at.block_size, at.encoder_tokens)


def _encoder_deployment(at: Point) -> Deployment:
    return Deployment((Group(_cross(at)),), 1, 1)


_WITHIN_LONGEST = given("output <= encoder_tokens", lambda at: at.output <= at.encoder_tokens)
_ENCODED = Quantity("held", lambda at: encoder_table(_cross(at), at.output))
_ENCODER_RESERVED = Quantity("reserved", lambda at: group_requirement(_cross(at), _encoder_deployment(at), SOUND))
_ENCODER_FLOOR = Quantity("reserved", lambda at: fdiv(at.encoder_tokens, at.block_size))

CROSS = Theorem(
    name="encoder_output_stays_within_its_reservation",
    sentence="The output of an encoder takes no more blocks than boot reserves for the longest.",
    family=FAMILY,
    variables=(BLOCK_SIZE, _ENCODER, _OUTPUT),
    premises=(
        legal_deployment(_encoder_deployment),
        _WITHIN_LONGEST,
    ),
    claim=at_most(_ENCODED, _ENCODER_RESERVED),
    covers=(
        variant("the reservation is used up", equal(_ENCODED, _ENCODER_RESERVED)),
        Statement("the output is shorter by a block", lambda at: at.output + at.block_size < at.encoder_tokens),
    ),
    mutants=(
        variant("boot rounds down", at_most(_ENCODED, _ENCODER_FLOOR)),
        variant("a block stays free", at_most(_ENCODED, Quantity("r", lambda at: _ENCODER_RESERVED.of(at) - 1))),
    ),
)

_TABLE = Quantity("table", lambda at: blocks_for(at.computed, at.block_size))


def _grown(at: Point) -> Term:
    return blocks_for(at.computed + at.scheduled, at.block_size)


_TAKEN = Quantity("taken", lambda at: _grown(at) - _TABLE.of(at))


def _foreseen(design: Design) -> Statement:
    """State that a decoder's step takes no more than is predicted of full attention beside encoder output."""

    def predicted(at: Point) -> Term:
        floored = design.prediction_floor
        # A step after the first encodes nothing: it asks for a table of no entries.
        of_cross = missing(0, _ENCODED.of(at), floored)
        return missing(_grown(at), _TABLE.of(at), floored) + of_cross

    return at_most(_TAKEN, Quantity("predicted", predicted))


def _beside_cross(name: str, sentence: str, design: Design, least_sum: int | None) -> Theorem:
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(BLOCK_SIZE, _ENCODER, _OUTPUT, COMPUTED, SCHEDULED),
        premises=(
            legal_deployment(_encoder_deployment),
            _WITHIN_LONGEST,
            given("computed >= 1 and scheduled >= 1", lambda at: every([at.computed >= 1, at.scheduled >= 1])),
        ),
        claim=_foreseen(design),
        covers=(Statement("the step takes blocks", lambda at: _TAKEN.of(at) >= 1),),
        mutants=()
        if least_sum
        else (
            variant("encoder output is a credit", _foreseen(VLLM_011)),
            variant("less is taken than is predicted", at_most(Quantity("t", lambda at: _TAKEN.of(at) + 1), _TAKEN)),
        ),
        expected=Expectation.REFUTED if least_sum else Expectation.HOLDS,
        least_sum=least_sum,
    )


def _ring(at: Point) -> CircularBuffer:
    return CircularBuffer(at.block_size)


_RING_AFTER = Quantity("held after the step", lambda at: at.held + ring_taken(at.held))
_RING_RESERVED = Quantity("reserved", lambda at: group_requirement(_ring(at), deployment(at, _ring(at)), SOUND))

_PER_BLOCK = Quantity("reserved", lambda at: blocks_for(at.max_model_len, at.block_size))

RING = Theorem(
    name="ring_takes_its_block_once",
    sentence="After any step a request holds exactly the one block of a ring that boot reserves.",
    family=FAMILY,
    variables=(BLOCK_SIZE, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, _HELD),
    premises=(
        legal_deployment(lambda at: deployment(at, _ring(at))),
        given("held <= reserved", lambda at: at.held <= _RING_RESERVED.of(at)),
    ),
    claim=equal(_RING_AFTER, _RING_RESERVED),
    covers=(
        Statement("the ring is claimed", lambda at: at.held == 0),
        Statement("the ring was claimed before", lambda at: at.held == 1),
    ),
    mutants=(
        variant("every step takes a block", equal(Quantity("held", lambda at: at.held + 1), _RING_RESERVED)),
        variant("no step takes a block", equal(Quantity("held", lambda at: at.held), _RING_RESERVED)),
        variant(
            "a block per block of tokens is reserved",
            equal(_RING_AFTER, _PER_BLOCK),
        ),
    ),
)

THEOREMS = (
    _positions(
        "one_state_per_sequence_stays_within_its_reservation",
        "Where one block of a state group stands for the whole sequence, a request holds its state and the speculated "
        "ones, as boot reserves.",
        MambaNone,
        SOUND,
        (_WHOLE,),
        None,
    ),
    _positions(
        "one_state_per_block_of_any_size_stays_within_its_reservation",
        "Whatever the block size, a request holds one state and the speculated ones.",
        MambaNone,
        SOUND,
        (),
        6,
    ),
    _positions(
        "speculated_states_stay_within_a_reservation_that_forgets_them",
        "Boot that reserves one state, as the earliest release does, covers the speculated ones.",
        MambaNone,
        VLLM_011,
        (_WHOLE,),
        5,
    ),
    _positions(
        "states_at_all_blocks_stay_within_their_reservation",
        "Where the state at every block is kept, boot reserves them and the speculated ones.",
        MambaAll,
        VLLM_022,
        (),
        None,
    ),
    _positions(
        "states_at_all_blocks_stay_within_a_reservation_without_speculated_ones",
        "Where the state at every block is kept, boot that forgets the speculated ones covers a request.",
        MambaAll,
        VLLM_021,
        (),
        5,
    ),
    CROSS,
    _beside_cross(
        "step_beside_encoder_output_takes_no_more_than_predicted",
        "Where no group is predicted less than nothing, a decoder's step takes no more than predicted.",
        SOUND,
        None,
    ),
    _beside_cross(
        "step_beside_encoder_output_takes_no_more_than_predicted_without_a_floor",
        "Where a table that is longer than asked for is a credit, a decoder's step takes no more than predicted.",
        VLLM_011,
        5,
    ),
    RING,
)
