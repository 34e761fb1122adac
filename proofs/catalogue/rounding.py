"""Two ways to round one length: over ranks and blocks, and over small blocks and unified ones."""

from __future__ import annotations

from ...spec.admission import charged
from ...spec.arithmetic import cdiv, every, fdiv
from ...spec.design import SOUND, Cap
from ..theorem import (
    Expectation,
    Point,
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
    CONTEXT_PARALLEL,
    MAX_MODEL_LEN,
    cap_of,
    deployed,
    deployment,
    full,
)

FAMILY = "rounding"

_RATIO = Variable("ratio", "blocks", "the blocks of the smaller size that make up a unified one")


def _stepwise(at: Point) -> Point:
    """Set the budget, which does not matter here, to one whole sequence."""
    return at.but(max_num_batched_tokens=at.max_model_len)


_RUN_TIME = Quantity(
    "charged", lambda at: charged(full(at), at.max_model_len, deployment(_stepwise(at), full(at)), SOUND, Cap.NONE)
)
_BOOT = Quantity("reserved", lambda at: cap_of(full, SOUND).of(_stepwise(at)))
_FLOOR_FIRST = Quantity(
    "cdiv(fdiv(L, d), b)", lambda at: cdiv(fdiv(at.max_model_len, at.context_parallel), at.block_size)
)
_FLOOR_LAST = Quantity(
    "fdiv(cdiv(L, d), b)", lambda at: fdiv(cdiv(at.max_model_len, at.context_parallel), at.block_size)
)
_UNSHARDED = Quantity("cdiv(L, b)", lambda at: cdiv(at.max_model_len, at.block_size))

RANKS = Theorem(
    name="context_parallel_roundings_agree",
    sentence="Boot rounds a length over ranks, then over blocks; run time over both at once; the results agree.",
    family=FAMILY,
    variables=(BLOCK_SIZE, CONTEXT_PARALLEL, MAX_MODEL_LEN),
    premises=(legal_deployment(lambda at: deployed(full)(_stepwise(at))),),
    claim=equal(_BOOT, _RUN_TIME),
    covers=(
        Statement("ranks and blocks are larger than one", lambda at: at.block_size * at.context_parallel >= 6),
        Statement("the length is not whole", lambda at: _FLOOR_LAST.of(at) < _BOOT.of(at)),
    ),
    mutants=(
        variant("boot rounds down over ranks", equal(_FLOOR_FIRST, _RUN_TIME)),
        variant("boot rounds down over blocks", equal(_FLOOR_LAST, _RUN_TIME)),
        variant("boot forgets the ranks", equal(_UNSHARDED, _RUN_TIME)),
    ),
)

_SMALL = Quantity("cdiv(L, b)", lambda at: cdiv(at.max_model_len, at.block_size))
_UNIFIED = Quantity("r * cdiv(L, b * r)", lambda at: at.ratio * cdiv(at.max_model_len, at.block_size * at.ratio))
_UNIFIED_FLOOR = Quantity("r * fdiv(L, b * r)", lambda at: at.ratio * fdiv(at.max_model_len, at.block_size * at.ratio))
_POSITIVE = given(
    "block_size, ratio and max_model_len are 1 or more",
    lambda at: every([at.block_size >= 1, at.ratio >= 1, at.max_model_len >= 1]),
)
_SEVERAL = Statement("several blocks make up one", lambda at: at.ratio >= 2)
_VARIABLES = (BLOCK_SIZE, _RATIO, MAX_MODEL_LEN)

UNIFIED = Theorem(
    name="unified_blocks_cover_the_smaller_ones",
    sentence="A length takes at least as much room in unified blocks as in the smaller ones they are made of.",
    family=FAMILY,
    variables=_VARIABLES,
    premises=(_POSITIVE,),
    claim=at_most(_SMALL, _UNIFIED),
    covers=(_SEVERAL, variant("no room is lost", equal(_SMALL, _UNIFIED))),
    mutants=(
        variant("unified blocks round down", at_most(_SMALL, _UNIFIED_FLOOR)),
        variant("the smaller blocks cover the unified ones", at_most(_UNIFIED, _SMALL)),
    ),
)

UNIFIED_EXACT = Theorem(
    name="unified_blocks_lose_no_room",
    sentence="A length takes as much room in unified blocks as in the smaller ones they are made of.",
    family=FAMILY,
    variables=_VARIABLES,
    premises=(_POSITIVE,),
    claim=equal(_SMALL, _UNIFIED),
    covers=(_SEVERAL,),
    expected=Expectation.REFUTED,
    least_sum=4,
)

THEOREMS = (RANKS, UNIFIED, UNIFIED_EXACT)
