"""What an admission leaves free for those that run: a watermark, and the blocks that prefills in flight still need."""

from __future__ import annotations

from ...spec.arithmetic import Term, Truth, every
from ...spec.design import SOUND, VLLM_028, Design
from ...spec.sharing import headroom, passes_beside
from ...spec.sizing import boot_accepts, boot_requirement, usable
from ..theorem import (
    Expectation,
    Point,
    Premise,
    Quantity,
    Statement,
    Theorem,
    Variable,
    at_most,
    given,
    implies,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    BLOCKS,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    TOKENS,
    TOKENS_WITHIN_LENGTH,
    USABLE,
    WINDOW,
    deployed,
    gate_needs,
    window,
)

FAMILY = "watermark"

_WATERMARK = Variable("watermark", "blocks", "what an admission leaves free while others run")
_OTHERS = Variable("others", "requests", "how many other requests run")
_OTHERS_HELD = Variable("others_held", "blocks", "what all other requests hold")
_NEED = Variable("need", "blocks", "what the request that is admitted takes")
_SETTING = deployed(window)
_SIZES = (BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, TOKENS, BLOCKS)
_MATTERS = Statement(
    "the watermark does not fit beside the request", lambda at: at.watermark + _gate(at) > usable(at.blocks)
)
_SMALLEST = Statement("the pool is the smallest", lambda at: at.blocks == boot_requirement(_SETTING(at), SOUND))


def _gate(at: Point) -> Term:
    return gate_needs(_SETTING, SOUND).of(at)


def _others_run(at: Point) -> Truth:
    return at.others >= 1


def _admitted_once_idle(idle: bool, design: Design = SOUND) -> Statement:
    """State that a pool that passes the boot check admits a request as soon as nothing else runs."""

    def holds(at: Point) -> Truth:
        spare = headroom(at.watermark, at.others >= (1 if idle else 0))
        alone = every([boot_accepts(at.blocks, _SETTING(at), design), at.others == 0])
        return implies(alone, passes_beside(_gate(at), usable(at.blocks), at.others_held, spare))

    return Statement(
        "boot accepts and nothing else runs => admitted",
        holds,
        (Quantity("gate", _gate), USABLE),
    )


_NOBODY_HOLDS_NOTHING: Premise = given(
    "others_held = 0 where others = 0", lambda at: implies(at.others == 0, at.others_held == 0)
)
_PREMISES = (legal_deployment(_SETTING), TOKENS_WITHIN_LENGTH, _NOBODY_HOLDS_NOTHING)

IDLE = Theorem(
    name="watermark_leaves_an_idle_pool_alone",
    sentence="Whatever the watermark, a request that was refused beside others is admitted once nothing else runs.",
    family=FAMILY,
    variables=(*_SIZES, _WATERMARK, _OTHERS, _OTHERS_HELD),
    premises=_PREMISES,
    claim=_admitted_once_idle(idle=True),
    covers=(_MATTERS, _SMALLEST),
    mutants=(
        variant("the watermark is kept in an idle pool, too", _admitted_once_idle(idle=False)),
        variant("boot forgets the null block", _admitted_once_idle(idle=True, design=VLLM_028)),
    ),
)

ALWAYS = Theorem(
    name="watermark_that_is_kept_in_an_idle_pool_strands_nobody",
    sentence="A watermark that is kept free even where nothing runs still admits every request.",
    family=FAMILY,
    variables=(
        BLOCK_SIZE,
        WINDOW,
        MAX_NUM_BATCHED_TOKENS,
        MAX_MODEL_LEN,
        TOKENS,
        BLOCKS,
        _WATERMARK,
        _OTHERS,
        _OTHERS_HELD,
    ),
    premises=_PREMISES,
    claim=_admitted_once_idle(idle=False),
    covers=(_SMALLEST,),
    expected=Expectation.REFUTED,
    least_sum=10,
)


def _free(at: Point) -> Term:
    return usable(at.blocks) - at.others_held - at.need


_FREE = Quantity("free", _free)
_RUN = given("others >= 1", _others_run)
_PASSES = given(
    "the request is admitted",
    lambda at: passes_beside(at.need, usable(at.blocks), at.others_held, headroom(at.watermark, _others_run(at))),
)

LEFT_FREE = Theorem(
    name="admission_beside_others_leaves_the_watermark_free",
    sentence="After an admission beside running requests as many blocks are free as the watermark asks for.",
    family=FAMILY,
    variables=(BLOCKS, _WATERMARK, _OTHERS, _OTHERS_HELD, _NEED),
    premises=(_RUN, _PASSES),
    claim=at_most(Quantity("watermark", lambda at: at.watermark), _FREE),
    covers=(
        Statement("others hold blocks", lambda at: every([at.others_held >= 2, at.watermark >= 1, at.need >= 1])),
        Statement("the request just fits", lambda at: _free(at) == at.watermark),
    ),
    mutants=(
        variant("a block more is free", at_most(Quantity("watermark + 1", lambda at: at.watermark + 1), _FREE)),
        variant("what is needed is free once more", at_most(Quantity("need", lambda at: at.need), _FREE)),
    ),
)

_REMAINING = Variable("remaining", "blocks", "what prefills in flight still need")
_TAKEN = Variable("taken", "blocks", "what a step of theirs takes")
_USABLE = Variable("usable", "blocks", "what requests can have of the pool")
_WITHIN = given("taken <= remaining", lambda at: at.taken <= at.remaining)
_LOADS = Statement(
    "a request is admitted beside a prefill that takes blocks",
    lambda at: every([at.taken >= 1, at.need >= 1, at.others_held + at.need + at.remaining <= at.usable]),
)


def _finishes(reserved: bool, more: int = 0) -> Statement:
    """State that prefills in flight find what they still need after an admission."""

    def holds(at: Point) -> Truth:
        passes = passes_beside(at.need, at.usable, at.others_held, at.remaining if reserved else 0)
        return implies(passes, at.others_held + at.need + at.taken + more <= at.usable)

    free = Quantity("free", lambda at: at.usable - at.others_held - at.need)
    return Statement("admitted => a prefill in flight finds its blocks", holds, (free,))


_RESERVED = (_USABLE, _OTHERS_HELD, _REMAINING, _TAKEN, _NEED)
_FITTED = given(
    "others_held + remaining <= usable before the admission", lambda at: at.others_held + at.remaining <= at.usable
)

RESERVED = Theorem(
    name="admission_that_leaves_reserved_blocks_lets_prefills_finish",
    sentence="An admission that leaves free what the prefills in flight still need takes no block from them, as "
    "releases ask of asynchronous loads.",
    family=FAMILY,
    variables=_RESERVED,
    premises=(_WITHIN,),
    claim=_finishes(reserved=True),
    covers=(_LOADS,),
    mutants=(
        variant("nothing is reserved", _finishes(reserved=False)),
        variant("a prefill takes a block more", _finishes(reserved=True, more=1)),
    ),
)

UNRESERVED = Theorem(
    name="admission_without_reserved_blocks_lets_prefills_finish",
    sentence="An admission that asks for its own blocks alone, as any but an asynchronous load does, takes no block "
    "that a prefill in flight still needs.",
    family=FAMILY,
    variables=_RESERVED,
    premises=(_WITHIN, _FITTED),
    claim=_finishes(reserved=False),
    covers=(_LOADS,),
    expected=Expectation.REFUTED,
    least_sum=4,
)

THEOREMS = (IDLE, ALWAYS, LEFT_FREE, RESERVED, UNRESERVED)
