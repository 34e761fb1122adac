"""Boot never demands much more than the worst step holds, whole pool and all groups counted."""

from __future__ import annotations

from ...spec.arithmetic import Term, cdiv, maximum
from ...spec.attention import Attention, FullAttention, SlidingWindow
from ...spec.deployment import Deployment
from ...spec.design import SOUND
from ...spec.sizing import boot_requirement
from ..theorem import (
    Expectation,
    Point,
    Quantity,
    Statement,
    Theorem,
    at_most,
    equal,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    EXTRA_RETAINED,
    FULL_BLOCK_SIZE,
    LOOKAHEAD,
    MAX_CONCURRENT_BATCHES,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    WINDOW,
    deployed,
    deployment,
    full,
    held_by,
    window,
)
from .mutated import SecondSpareBlock, SpareFull

FAMILY = "tightness"

_SIZES = (FULL_BLOCK_SIZE, BLOCK_SIZE, WINDOW, EXTRA_RETAINED)
_GENERAL = (MAX_NUM_BATCHED_TOKENS, MAX_CONCURRENT_BATCHES, MAX_MODEL_LEN, LOOKAHEAD)
_PAIR = deployed(full, window)


def _last_step(at: Point) -> Point:
    """Build the step that reaches the greatest length with as much in flight as may be: full attention is fullest."""
    settled = maximum(0, at.max_model_len - deployment(at).max_in_flight_tokens)
    return at.but(computed=settled, scheduled=at.max_model_len - settled)


def _peak(at: Point) -> Term:
    """Count what a request holds of both groups after that step."""
    return held_by(full).of(_last_step(at)) + held_by(window).of(_last_step(at))


def _slack(at: Point) -> Term:
    """Count what boot may demand beyond: the null block, one for misalignment, and all but one lookahead token."""
    return 2 + cdiv(maximum(0, at.lookahead - 1), at.block_size)


def _boot(deployed_as: Deployment) -> Term:
    return boot_requirement(deployed_as, SOUND)


def _demand(
    full_kind: type[FullAttention] = FullAttention, window_kind: type[SlidingWindow] = SlidingWindow
) -> Quantity:
    return Quantity("boot", lambda at: _boot(deployment(at, full(at, full_kind), window(at, window_kind))))


_WORST = Quantity("worst step + slack", lambda at: _peak(at) + _slack(at))
_WORST_LESS_ONE = Quantity("worst step + slack - 1", lambda at: _peak(at) + _slack(at) - 1)


def _whole(at: Point) -> Attention:
    """Keep every token of the windowed layers, too."""
    return FullAttention(at.block_size)


_ALL_FULL = Quantity("boot", lambda at: _boot(deployment(at, full(at), _whole(at))))

WITHIN_SLACK = Theorem(
    name="boot_demands_no_more_than_the_worst_step_and_its_slack",
    sentence="For full attention beside a window, boot demands no more than some step holds, but for the null block, "
    "one block for misalignment, and the blocks of all but one lookahead token.",
    family=FAMILY,
    variables=(*_SIZES, *_GENERAL),
    premises=(legal_deployment(_PAIR),),
    claim=at_most(_demand(), _WORST),
    covers=(
        variant("the slack is used up", equal(_demand(), _WORST)),
        Statement("the window is left behind", lambda at: _last_step(at).computed > at.window + at.block_size),
        Statement("lookahead takes blocks", lambda at: at.lookahead > at.block_size + 1),
    ),
    mutants=(
        variant("a block less of slack is enough", at_most(_demand(), _WORST_LESS_ONE)),
        variant("the window has a second spare block", at_most(_demand(window_kind=SecondSpareBlock), _WORST)),
        variant("full attention has a spare block", at_most(_demand(SpareFull), _WORST)),
        variant("windowed layers are sized as full ones", at_most(_ALL_FULL, _WORST)),
    ),
)

LESS_SLACK = Theorem(
    name="boot_demands_no_more_than_the_worst_step_and_the_null_block",
    sentence="For full attention beside a window, boot demands no more than some step holds and the null block.",
    family=FAMILY,
    variables=(FULL_BLOCK_SIZE, BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN),
    premises=(legal_deployment(_PAIR),),
    claim=at_most(_demand(), Quantity("worst step + 1", lambda at: _peak(at) + 1)),
    covers=(Statement("the window is left behind", lambda at: _last_step(at).computed > at.window + at.block_size),),
    expected=Expectation.REFUTED,
    least_sum=5,
)

_ALL_FULL_PEAK = Quantity("worst step + slack", lambda at: _peak(at) + 2)

UNRECYCLED = Theorem(
    name="boot_that_sizes_windows_as_full_attention_stays_within_the_slack",
    sentence="Boot that reserves the whole sequence for a window, too, demands little more than some step holds.",
    family=FAMILY,
    variables=(FULL_BLOCK_SIZE, BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN),
    premises=(legal_deployment(_PAIR),),
    claim=at_most(_ALL_FULL, _ALL_FULL_PEAK),
    covers=(Statement("the window is left behind", lambda at: _last_step(at).computed > at.window + at.block_size),),
    expected=Expectation.REFUTED,
    least_sum=7,
)

THEOREMS = (WITHIN_SLACK, LESS_SLACK, UNRECYCLED)
