"""The gate demands no more of groups that do not follow the tokens alone than boot reserves for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...spec.aligned import first_blocks
from ...spec.arithmetic import Term, minimum
from ...spec.attention import Attention, blocks_for
from ...spec.design import SOUND, VLLM_011, VLLM_021, VLLM_022, Design
from ...spec.sizing import group_requirement
from ...spec.states import CircularBuffer, MambaAlign, MambaAll, MambaNone
from ...spec.tables import ring_taken, state_table
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
from .common import BLOCK_SIZE, MAX_MODEL_LEN, TOKENS, TOKENS_WITHIN_LENGTH, deployment
from .states import SPECULATIVE

FAMILY = "state_gate"

_CHECKPOINT = Variable("checkpoint", "states", "kept inside the last chunk of a prompt")

Cache: TypeAlias = Callable[[Point], Attention]
"""The cache of a theorem's only group, at a point."""


def _reserved(cache: Cache, design: Design, unsized: int = 0) -> Quantity:
    def of(at: Point) -> Term:
        whole = at.but(max_num_batched_tokens=at.max_model_len)
        return group_requirement(cache(at), deployment(whole, cache(at)), design) - unsized

    return Quantity("reserved", of)


def _legal(cache: Cache) -> Premise:
    return legal_deployment(lambda at: deployment(at.but(max_num_batched_tokens=at.max_model_len), cache(at)))


def _none(at: Point) -> MambaNone:
    return MambaNone(at.block_size, at.speculative)


def _all(at: Point) -> MambaAll:
    return MambaAll(at.block_size, at.speculative)


def _align(at: Point) -> MambaAlign:
    return MambaAlign(at.block_size, at.speculative, at.checkpoint)


def _ring(at: Point) -> CircularBuffer:
    return CircularBuffer(at.block_size)


_FULL_LENGTH = Statement("the request is of full length", lambda at: at.tokens == at.max_model_len)
_DRAFTS = Statement("states are speculated", lambda at: at.speculative >= 2)
_STATE_GATE = Quantity("gate", lambda at: state_table(_none(at), minimum(at.tokens, at.max_model_len)))
_FIRST = Quantity("gate", lambda at: first_blocks(at.tokens, 0, 0, False, _align(at)))
_PER_BLOCK = Quantity("gate", lambda at: blocks_for(at.max_model_len, at.block_size))
_RING = Quantity("gate", lambda _: ring_taken(0))
_TWO_BLOCKS = Statement("the sequence takes two blocks", lambda at: at.max_model_len > at.block_size)
_VARIABLES = (BLOCK_SIZE, SPECULATIVE, MAX_MODEL_LEN, TOKENS)


def _positions(
    name: str, sentence: str, cache: Cache, design: Design, premises: tuple[Premise, ...], least_sum: int | None = None
) -> Theorem:
    less = at_most(_STATE_GATE, _reserved(cache, design, 1))
    forgetful = at_most(_STATE_GATE, _reserved(cache, VLLM_011))
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=_VARIABLES,
        premises=(_legal(cache), TOKENS_WITHIN_LENGTH, *premises),
        claim=at_most(_STATE_GATE, _reserved(cache, design)),
        covers=(_FULL_LENGTH, _DRAFTS),
        mutants=()
        if least_sum
        else (
            variant("a state less is reserved", less),
            variant("speculated states are not reserved", forgetful),
        ),
        expected=Expectation.REFUTED if least_sum else Expectation.HOLDS,
        least_sum=least_sum,
    )


ALIGNED = Theorem(
    name="gate_of_aligned_states_stays_within_their_reservation",
    sentence="The gate demands of aligned states no more than boot reserves, where nothing is taken over.",
    family=FAMILY,
    variables=(BLOCK_SIZE, SPECULATIVE, _CHECKPOINT, MAX_MODEL_LEN, TOKENS),
    premises=(_legal(_align), TOKENS_WITHIN_LENGTH),
    claim=at_most(_FIRST, _reserved(_align, SOUND)),
    covers=(_FULL_LENGTH, _DRAFTS, Statement("a state inside the chunk is kept", lambda at: at.checkpoint >= 1)),
    mutants=(
        variant("two states less are reserved", at_most(_FIRST, _reserved(_align, SOUND, 2))),
        variant("the speculated states are reserved alone", at_most(_FIRST, Quantity("r", lambda at: at.speculative))),
    ),
)

RING = Theorem(
    name="gate_of_a_ring_demands_its_block",
    sentence="The gate demands of a ring the one block that boot reserves.",
    family=FAMILY,
    variables=(BLOCK_SIZE, MAX_MODEL_LEN),
    premises=(_legal(_ring),),
    claim=equal(_RING, _reserved(_ring, SOUND)),
    covers=(_TWO_BLOCKS,),
    mutants=(
        variant("a block less is reserved", equal(_RING, _reserved(_ring, SOUND, 1))),
        variant("a block per block of tokens is demanded", equal(_PER_BLOCK, _reserved(_ring, SOUND))),
    ),
)

THEOREMS = (
    _positions(
        "gate_of_one_state_per_sequence_stays_within_its_reservation",
        "Where one block stands for the whole sequence, the gate demands the state and the speculated ones, as boot "
        "reserves.",
        _none,
        SOUND,
        (given("block_size >= max_model_len", lambda at: at.block_size >= at.max_model_len),),
    ),
    _positions(
        "gate_of_states_at_all_blocks_stays_within_their_reservation",
        "Where the state at every block is kept, the gate demands no more than boot reserves.",
        _all,
        VLLM_022,
        (),
    ),
    _positions(
        "gate_of_states_at_all_blocks_stays_within_a_reservation_without_speculated_ones",
        "Where the state at every block is kept, the gate demands no more than a boot that forgets speculated ones.",
        _all,
        VLLM_021,
        (),
        4,
    ),
    ALIGNED,
    RING,
)
