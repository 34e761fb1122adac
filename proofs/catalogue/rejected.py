"""What the gate and a step's prediction promise, the step gets; two rejected proposals break it."""

from __future__ import annotations

from ...spec.arithmetic import Term
from ...spec.attention import blocks_for
from ...spec.design import ALLOCATOR_PREDICTS_CAPPED, GATE_CAPPED_BY_WINDOW, SOUND, VLLM_020, Design
from ..theorem import (
    Expectation,
    Point,
    Quantity,
    Statement,
    Theorem,
    at_most,
    implies,
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
    SEQUENCE_WITHIN_LENGTH,
    STEP_WITHIN_BUDGET,
    TOKENS,
    TOKENS_WITHIN_LENGTH,
    USABLE,
    WINDOW,
    WINDOW_HAS_SLID,
    deployed,
    excess,
    first_step_needs,
    gate_needs,
    predicted,
    table_of,
    window,
)

FAMILY = "rejected"

_SIZES = (BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN)
_SETTING = deployed(window)


def _served(design: Design) -> Statement:
    """State that a request which passes the gate of an empty pool gets its first step."""
    gate, step = gate_needs(_SETTING, design), first_step_needs(_SETTING, design)
    return Statement(
        "gate <= usable => first step <= usable",
        lambda at: implies(gate.of(at) <= USABLE.of(at), step.of(at) <= USABLE.of(at)),
        (gate, step, USABLE),
    )


def _gate(name: str, sentence: str, design: Design, least_sum: int | None) -> Theorem:
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(*_SIZES, TOKENS, BLOCKS),
        premises=(legal_deployment(_SETTING), TOKENS_WITHIN_LENGTH),
        claim=_served(design),
        covers=(
            Statement("the gate is just passed", lambda at: gate_needs(_SETTING, design).of(at) == USABLE.of(at)),
            Statement("the prompt takes two steps", lambda at: at.tokens > at.max_num_batched_tokens),
        ),
        mutants=() if least_sum else (variant("the gate forgets the budget", _served(GATE_CAPPED_BY_WINDOW)),),
        expected=Expectation.REFUTED if least_sum else Expectation.HOLDS,
        least_sum=least_sum,
    )


def _table_before(at: Point) -> Term:
    """Count the entries of the table before the step: those of the tokens computed."""
    return blocks_for(at.computed, at.block_size)


_TAKEN = Quantity("taken", lambda at: excess(table_of(window).of(at), _table_before(at)))


def _foreseen(design: Design) -> Statement:
    """State that a step takes no more than it was predicted to."""
    return at_most(_TAKEN, predicted(window, _table_before, design))


def _prediction(name: str, sentence: str, design: Design, least_sum: int | None) -> Theorem:
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(*_SIZES, LOOKAHEAD, COMPUTED, SCHEDULED),
        premises=(legal_deployment(_SETTING), STEP_WITHIN_BUDGET, SEQUENCE_WITHIN_LENGTH),
        claim=_foreseen(design),
        covers=(WINDOW_HAS_SLID, Statement("the step takes blocks", lambda at: _TAKEN.of(at) >= 2)),
        mutants=() if least_sum else (variant("the prediction is capped", _foreseen(ALLOCATOR_PREDICTS_CAPPED)),),
        expected=Expectation.REFUTED if least_sum else Expectation.HOLDS,
        least_sum=least_sum,
    )


THEOREMS = (
    _gate(
        "request_that_passes_the_gate_is_served",
        "Where the gate charges a window group its boot bound, a request that passes it gets its first step.",
        VLLM_020,
        None,
    ),
    _gate(
        "request_that_passes_a_gate_capped_by_the_window_is_served",
        "Where the gate charges a window group the slid window alone, a request that passes it gets its first step.",
        GATE_CAPPED_BY_WINDOW,
        14,
    ),
    _prediction(
        "step_takes_no_more_than_predicted",
        "Where a step's prediction is not capped, the step takes no more blocks than predicted.",
        SOUND,
        None,
    ),
    _prediction(
        "step_takes_no_more_than_a_capped_prediction",
        "Where a step's prediction is capped, the step takes no more blocks than predicted.",
        ALLOCATOR_PREDICTS_CAPPED,
        9,
    ),
)
