"""What a sliding window holds stays within its cap, as far as tokens in flight are paid for."""

from __future__ import annotations

from dataclasses import replace

from ...spec.attention import SlidingWindow
from ...spec.design import SOUND, VLLM_028, VLLM_030, Design
from ..theorem import (
    Expectation,
    Premise,
    Statement,
    Theorem,
    at_most,
    equal,
    given,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    COMPUTED,
    EXTRA_RETAINED,
    IN_FLIGHT,
    IN_FLIGHT_WITHIN_BATCHES,
    LONG_SEQUENCES,
    LOOKAHEAD,
    MAX_CONCURRENT_BATCHES,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    SCHEDULED,
    SEQUENCE_WITHIN_LENGTH,
    STEP_WITHIN_BUDGET,
    WINDOW,
    WINDOW_HAS_SLID,
    CacheOf,
    cap_of,
    deployed,
    held_by,
    window,
)
from .mutated import (
    BudgetForgotten,
    FloorBound,
    NoSpareBlock,
    RetainsNothingExtra,
    RetainsTwoFewer,
    SkipsFewer,
    SkipsNothing,
)

FAMILY = "sliding_window"

SIZES = (BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN)
STEP = (COMPUTED, SCHEDULED)
PREMISES: tuple[Premise, ...] = (legal_deployment(deployed(window)), STEP_WITHIN_BUDGET)


def _of(kind: type[SlidingWindow]) -> CacheOf:
    return lambda at: window(at, kind)


def within_cap(design: Design, kind: type[SlidingWindow] = SlidingWindow) -> Statement:
    """State that a request holds no more than a design's cap."""
    return at_most(held_by(_of(kind)), cap_of(_of(kind), design))


def reaches_cap(design: Design) -> Statement:
    """State that a request holds as much as a design's cap."""
    return variant("the cap is reached", equal(held_by(window), cap_of(window, design)))


def faults(design: Design) -> tuple[Statement, ...]:
    """List wrong versions of a design's cap."""
    return (
        variant("the spare block is dropped", within_cap(design, NoSpareBlock)),
        variant("the cap rounds down", within_cap(design, FloorBound)),
        variant("the cap forgets the budget", within_cap(design, BudgetForgotten)),
        variant("the cap forgets two tokens of the window", within_cap(design, RetainsTwoFewer)),
        variant("nothing is recycled", within_cap(design, SkipsNothing)),
    )


DRAFTS = Statement("lookahead takes slots", lambda at: at.lookahead >= 3)


_AT_MOST_ONE = given("lookahead <= 1", lambda at: at.lookahead <= 1)
WITHOUT_LOOKAHEAD = Theorem(
    name="window_stays_within_cap",
    sentence="Without lookahead, a request never holds more blocks of a sliding-window group than its cap.",
    family=FAMILY,
    variables=(*SIZES, *STEP),
    premises=PREMISES,
    claim=within_cap(VLLM_030),
    covers=(reaches_cap(VLLM_030), WINDOW_HAS_SLID, LONG_SEQUENCES),
    mutants=faults(VLLM_030),
)

ONE_LOOKAHEAD_TOKEN = Theorem(
    name="window_with_one_lookahead_token_stays_within_cap",
    sentence="The spare block covers one lookahead token, although no release pays for lookahead.",
    family=FAMILY,
    variables=(*SIZES, LOOKAHEAD, *STEP),
    premises=(*PREMISES, _AT_MOST_ONE),
    claim=within_cap(VLLM_030),
    covers=(reaches_cap(VLLM_030), WINDOW_HAS_SLID, LONG_SEQUENCES, Statement("drafts", lambda at: at.lookahead >= 1)),
    mutants=(
        *faults(VLLM_030),
        variant("one token too few is skipped", within_cap(VLLM_030, SkipsFewer)),
    ),
)

_GENERAL = (*SIZES[:2], EXTRA_RETAINED, *SIZES[2:], MAX_CONCURRENT_BATCHES, LOOKAHEAD, COMPUTED, IN_FLIGHT, SCHEDULED)
_FLYING = Statement("tokens are in flight", lambda at: at.in_flight >= at.max_num_batched_tokens)
_ONE_BATCH_PAID = replace(VLLM_028, in_flight_budget=False)

EXTRA = Theorem(
    name="window_with_extra_retained_tokens_stays_within_cap",
    sentence="Tokens that are kept before the window are part of its cap.",
    family=FAMILY,
    variables=(*SIZES[:2], EXTRA_RETAINED, *SIZES[2:], *STEP),
    premises=PREMISES,
    claim=within_cap(VLLM_030),
    covers=(WINDOW_HAS_SLID, Statement("tokens are retained", lambda at: at.extra_retained >= 2)),
    mutants=(
        variant("the cap forgets the extra tokens", within_cap(VLLM_030, RetainsNothingExtra)),
        variant("the spare block is dropped", within_cap(VLLM_030, NoSpareBlock)),
    ),
)

IN_FLIGHT_PAID = Theorem(
    name="window_with_batches_in_flight_stays_within_cap",
    sentence="Freeing on processed tokens, a budget for all batches in flight keeps a request within its cap.",
    family=FAMILY,
    variables=_GENERAL,
    premises=(*PREMISES, IN_FLIGHT_WITHIN_BATCHES),
    claim=within_cap(SOUND),
    covers=(reaches_cap(SOUND), WINDOW_HAS_SLID, _FLYING, DRAFTS),
    mutants=(
        variant("one batch is paid for", within_cap(replace(SOUND, in_flight_budget=False))),
        variant("lookahead is not paid for", within_cap(VLLM_030)),
        variant("the spare block is dropped", within_cap(SOUND, NoSpareBlock)),
        variant("the cap forgets the extra tokens", within_cap(SOUND, RetainsNothingExtra)),
    ),
)

IN_FLIGHT_UNPAID = Theorem(
    name="window_with_batches_in_flight_stays_within_cap_of_one_batch",
    sentence="Freeing on processed tokens, a budget for one batch is enough.",
    family=FAMILY,
    variables=(*SIZES, MAX_CONCURRENT_BATCHES, COMPUTED, IN_FLIGHT, SCHEDULED),
    premises=(*PREMISES, IN_FLIGHT_WITHIN_BATCHES, SEQUENCE_WITHIN_LENGTH),
    claim=within_cap(_ONE_BATCH_PAID),
    covers=(WINDOW_HAS_SLID, _FLYING),
    expected=Expectation.REFUTED,
    least_sum=14,
)

THEOREMS = (WITHOUT_LOOKAHEAD, ONE_LOOKAHEAD_TOKEN, EXTRA, IN_FLIGHT_PAID, IN_FLIGHT_UNPAID)
