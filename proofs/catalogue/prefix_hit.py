"""What a request demands that takes over a prefix which others have computed and nobody holds any more."""

from __future__ import annotations

from ...spec.aligned import first_blocks
from ...spec.arithmetic import Term, Truth, fdiv
from ...spec.attention import FullAttention, blocks_for
from ...spec.deployment import Deployment
from ...spec.design import SOUND
from ...spec.sizing import group_requirement
from ...spec.states import MambaAlign
from ...spec.tables import after_hit
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
    exceeds,
    given,
    legal_deployment,
    variant,
)
from .common import BLOCK_SIZE, MAX_MODEL_LEN, TOKENS, TOKENS_WITHIN_LENGTH, deployment, full
from .states import SPECULATIVE

FAMILY = "prefix_hit"

_HIT = Variable("hit", "tokens", "the prefix that is taken over")
_EVICTABLE = Variable("evictable", "blocks", "the blocks of the prefix that nobody holds")
_CHECKPOINT = Variable("checkpoint", "states", "kept inside the last chunk of a prompt")


def _hit_blocks(at: Point) -> Term:
    return blocks_for(at.hit, at.block_size)


def _partial(at: Point) -> Truth:
    """Tell whether the prefix ends inside a block."""
    return fdiv(at.hit, at.block_size) * at.block_size < at.hit


def _whole(at: Point) -> Truth:
    return fdiv(at.hit, at.block_size) * at.block_size == at.hit


_SHORTER = given("hit < tokens", lambda at: at.hit < at.tokens)
_WHOLE_BLOCKS = given("the prefix is of whole blocks", _whole)
_NOBODY_HOLDS = given("evictable <= the blocks of the prefix", lambda at: at.evictable <= _hit_blocks(at))
_TAKEN_OVER = Statement("blocks that nobody holds are taken over", lambda at: at.evictable >= 1)
_ENDS_INSIDE = Statement("the prefix ends inside a block", _partial)


def _stepwise(at: Point, cache: FullAttention | MambaAlign) -> Deployment:
    """Set the budget, which neither kind reads, to one whole sequence."""
    return deployment(at.but(max_num_batched_tokens=at.max_model_len), cache)


def _full_gate(at: Point) -> Term:
    required = blocks_for(at.tokens, at.block_size)
    return after_hit(required, _hit_blocks(at), at.evictable, _partial(at))


def _state(at: Point) -> MambaAlign:
    return MambaAlign(at.block_size, at.speculative, at.checkpoint)


def _state_gate(at: Point) -> Term:
    return first_blocks(at.tokens, _hit_blocks(at), at.evictable, _partial(at), _state(at))


_FULL = Quantity("gate", _full_gate)
_FULL_BOOT = Quantity("reserved", lambda at: group_requirement(full(at), _stepwise(at, full(at)), SOUND))
_STATE = Quantity("gate", _state_gate)
_STATE_BOOT = Quantity("reserved", lambda at: group_requirement(_state(at), _stepwise(at, _state(at)), SOUND))


def _plus(quantity: Quantity, count: int) -> Quantity:
    return Quantity(f"{quantity.name} {count:+d}", lambda at: quantity.of(at) + count)


_FULL_LEGAL = legal_deployment(lambda at: _stepwise(at, full(at)))
_STATE_LEGAL = legal_deployment(lambda at: _stepwise(at, _state(at)))
_ONE_STATE = given("evictable <= 1", lambda at: at.evictable <= 1)
_STATE_HIT = given("a state is taken over where the prefix has a token", lambda at: at.evictable <= at.hit)


def _theorem(
    name: str,
    sentence: str,
    sides: tuple[Quantity, Quantity],
    own: tuple[Variable, ...],
    premises: tuple[Premise, ...],
    least_sum: int | None = None,
) -> Theorem:
    gate, boot = sides
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(BLOCK_SIZE, *own, MAX_MODEL_LEN, TOKENS, _HIT, _EVICTABLE),
        premises=(*premises, TOKENS_WITHIN_LENGTH, _SHORTER),
        claim=at_most(gate, boot),
        covers=(_TAKEN_OVER, _ENDS_INSIDE if least_sum else variant("the reservation is used up", equal(gate, boot))),
        mutants=()
        if least_sum
        else (
            variant("a block less is reserved", at_most(gate, _plus(boot, -1))),
            variant("a block stays free", exceeds(boot, gate)),
        ),
        expected=Expectation.REFUTED if least_sum else Expectation.HOLDS,
        least_sum=least_sum,
    )


THEOREMS = (
    _theorem(
        "prefix_of_whole_blocks_stays_within_the_reservation",
        "A request that takes over whole blocks of full attention demands no more than boot reserves, even where "
        "nobody holds them.",
        (_FULL, _FULL_BOOT),
        (),
        (_FULL_LEGAL, _WHOLE_BLOCKS, _NOBODY_HOLDS),
    ),
    _theorem(
        "prefix_that_ends_inside_a_block_stays_within_the_reservation",
        "A request that takes over a prefix which ends inside a block of full attention, so that the block is copied, "
        "demands no more than boot reserves.",
        (_FULL, _FULL_BOOT),
        (),
        (_FULL_LEGAL, _NOBODY_HOLDS),
        8,
    ),
    _theorem(
        "prefix_that_ends_inside_a_block_takes_one_block_more",
        "A request that takes over a prefix which ends inside a block demands one block of full attention more than "
        "boot reserves, and no more than that.",
        (_FULL, _plus(_FULL_BOOT, 1)),
        (),
        (_FULL_LEGAL, _NOBODY_HOLDS),
    ),
    _theorem(
        "state_at_a_block_boundary_stays_within_the_reservation",
        "A request that takes over a state at a block boundary demands no more than boot reserves.",
        (_STATE, _STATE_BOOT),
        (SPECULATIVE, _CHECKPOINT),
        (_STATE_LEGAL, _WHOLE_BLOCKS, _ONE_STATE, _STATE_HIT),
    ),
    _theorem(
        "state_inside_a_block_stays_within_the_reservation",
        "A request that takes over a state inside a block, which is copied, demands no more than boot reserves.",
        (_STATE, _STATE_BOOT),
        (SPECULATIVE, _CHECKPOINT),
        (_STATE_LEGAL, _ONE_STATE, _STATE_HIT),
        10,
    ),
    _theorem(
        "state_inside_a_block_takes_one_block_more",
        "A request that takes over a state inside a block demands one block more than boot reserves, and no more.",
        (_STATE, _plus(_STATE_BOOT, 1)),
        (SPECULATIVE, _CHECKPOINT),
        (_STATE_LEGAL, _ONE_STATE, _STATE_HIT),
    ),
)
