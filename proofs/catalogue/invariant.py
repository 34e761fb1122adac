"""One request, step by step: where its invariants begin, and how far the cap of the releases keeps them."""

from __future__ import annotations

from ...spec.arithmetic import Term
from ...spec.attention import blocks_for, recycled
from ...spec.design import VLLM_030
from ..theorem import (
    Point,
    Statement,
    Theorem,
    Variable,
    given,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    LOOKAHEAD,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    WINDOW,
    WINDOW_HAS_SLID,
    deployed,
    window,
)
from .mutated import NoSpareBlock, RetainsTwoFewer, SkipsNothing
from .progress import INVARIANT, invariants_hold, preserved

FAMILY = "invariant"

_HITS = Variable("hit_blocks", "blocks", "the blocks of a prefix that other requests have computed")
_SIZES = (BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, LOOKAHEAD)


def _hit(at: Point) -> Term:
    return at.hit_blocks * at.block_size


def _start(at: Point, table: Term = 0, freed: Term = 0) -> Point:
    """Build the state of a request that has just taken over a prefix: out of the window, its blocks are not taken."""
    computed = _hit(at)
    return at.but(
        computed=computed,
        table=blocks_for(computed, at.block_size) + table,
        freed=recycled(window(at), computed) + freed,
    )


_TAKES_OVER = Statement("a prefix is taken over", lambda at: at.hit_blocks >= 1)

START = Theorem(
    name="invariants_hold_where_a_request_starts",
    sentence="A request that has computed nothing, or has taken over whole blocks of a prefix, meets the invariants "
    "that every step keeps.",
    family=FAMILY,
    variables=(*_SIZES, _HITS),
    premises=(
        legal_deployment(deployed(window)),
        given("the prefix is shorter than max_model_len", lambda at: _hit(at) < at.max_model_len),
    ),
    claim=Statement("the invariants hold", lambda at: invariants_hold(_start(at))),
    covers=(
        _TAKES_OVER,
        Statement("a block of the prefix is out of the window", lambda at: _start(at).freed >= 1),
    ),
    mutants=(
        Statement("the table has a block less", lambda at: invariants_hold(_start(at, table=-1))),
        Statement("a block more has gone back", lambda at: invariants_hold(_start(at, freed=1))),
    ),
)

_DRAFTS = Statement("lookahead takes slots", lambda at: at.lookahead >= 1)

ONE_DRAFT = Theorem(
    name="window_with_one_lookahead_token_stays_within_cap_over_all_steps",
    sentence="With one lookahead token at most, the cap of the releases holds from step to step, whatever is rejected.",
    family=FAMILY,
    variables=INVARIANT.variables,
    premises=(*INVARIANT.premises, given("lookahead <= 1", lambda at: at.lookahead <= 1)),
    claim=preserved(VLLM_030),
    covers=(WINDOW_HAS_SLID, _DRAFTS),
    mutants=(
        variant("the window retains two tokens fewer", preserved(VLLM_030, RetainsTwoFewer)),
        variant("the spare block is dropped", preserved(VLLM_030, NoSpareBlock)),
        variant("nothing is recycled", preserved(VLLM_030, SkipsNothing)),
    ),
)

THEOREMS = (START, ONE_DRAFT)
