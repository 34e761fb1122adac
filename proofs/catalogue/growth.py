"""What a gate that reserves growth demands: all that a request may come to hold, and alike groups alike."""

from __future__ import annotations

from ...spec.admission import first_step_requirement, gate_requirement
from ...spec.arithmetic import Term, every
from ...spec.deployment import Deployment
from ...spec.design import SOUND, VLLM_011
from ..theorem import (
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
    COUNT,
    IN_FLIGHT,
    IN_FLIGHT_WITHIN_BATCHES,
    LOOKAHEAD,
    MAX_CONCURRENT_BATCHES,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    SCHEDULED,
    TOKENS,
    TOKENS_WITHIN_LENGTH,
    WINDOW,
    CacheOf,
    deployed,
    deployment,
    full,
    held_by,
    window,
)

FAMILY = "growth"

_LAST = Variable("last", "tokens", "what is computed of the request in the end: all but its last output token")
_LAST_WITHIN_LENGTH = given("last: 1 to max_model_len", lambda at: every([at.last >= 1, at.last <= at.max_model_len]))
_STEPS_TO_THE_END: Premise = given(
    "scheduled >= 1, and computed + scheduled <= last, but for the drafts of each batch in flight",
    lambda at: every(
        [at.scheduled >= 1, at.computed + at.scheduled <= at.last + at.max_concurrent_batches * at.lookahead]
    ),
)
_WITHIN_BUDGET = given("scheduled <= max_num_batched_tokens", lambda at: at.scheduled <= at.max_num_batched_tokens)


def _budgeted(at: Point) -> Point:
    """Set the budget, which full attention does not read, to one whole sequence."""
    return at.but(max_num_batched_tokens=at.max_model_len)


def _gate(cache: CacheOf, forgotten: str | None = None) -> Quantity:
    """Count what the gate demands of the last length, forgetting as many tokens as a variable says."""

    def of(at: Point) -> Term:
        tokens = at.last if forgotten is None else at.last - at.get(forgotten, 0)
        point = at if cache is window else _budgeted(at)
        return gate_requirement(tokens, deployment(point, cache(at)), SOUND)

    return Quantity("gate", of)


def _reserved(name: str, of_what: str, cache: CacheOf, variables: tuple[Variable, ...], *premises: Premise) -> Theorem:
    held, gate = held_by(cache), _gate(cache)
    return Theorem(
        name=name,
        sentence=f"A gate that reserves growth demands all that a request will hold of {of_what}, to its last step, "
        "whatever is drafted and rejected and however many batches are in flight.",
        family=FAMILY,
        variables=variables,
        premises=premises,
        claim=at_most(held, gate),
        covers=(
            variant("the gate demands no more than is held in the end", equal(held, gate)),
            Statement(
                "drafts are verified", lambda at: every([at.lookahead >= 1, at.computed + at.scheduled > at.last])
            ),
        ),
        mutants=(
            variant("the slots for the next drafts are forgotten", at_most(held, _gate(cache, "lookahead"))),
            variant("the tokens of the step are forgotten", at_most(held, _gate(cache, "scheduled"))),
        ),
    )


OF_FULL = _reserved(
    "gate_that_reserves_growth_pays_for_full_attention_to_the_end",
    "full attention",
    full,
    (BLOCK_SIZE, MAX_MODEL_LEN, MAX_CONCURRENT_BATCHES, LOOKAHEAD, _LAST, COMPUTED, SCHEDULED),
    lambda at: legal_deployment(deployed(full))(_budgeted(at)),
    _LAST_WITHIN_LENGTH,
    _STEPS_TO_THE_END,
)

OF_WINDOW = _reserved(
    "gate_that_reserves_growth_pays_for_a_window_to_the_end",
    "a window",
    window,
    (
        BLOCK_SIZE,
        WINDOW,
        MAX_NUM_BATCHED_TOKENS,
        MAX_MODEL_LEN,
        MAX_CONCURRENT_BATCHES,
        LOOKAHEAD,
        _LAST,
        COMPUTED,
        IN_FLIGHT,
        SCHEDULED,
    ),
    legal_deployment(deployed(window)),
    _LAST_WITHIN_LENGTH,
    _STEPS_TO_THE_END,
    _WITHIN_BUDGET,
    IN_FLIGHT_WITHIN_BATCHES,
)


def _alike(at: Point, count: Term) -> Deployment:
    return deployment(at.but(count=count), window(at))


def _demanded(name: str, first_step: bool, count: int | None) -> Quantity:
    """Count what as many groups as the point says are charged, or as many times what so many are."""

    def charged(deployed: Deployment, at: Point) -> Term:
        if first_step:
            return first_step_requirement(at.tokens, deployed, SOUND)
        return gate_requirement(at.tokens, deployed, SOUND)

    def of(at: Point) -> Term:
        if count is None:
            return charged(_alike(at, at.count), at)
        return at.count * charged(_alike(at, count), at)

    return Quantity(name, of)


def _add_up(first_step: bool, what: str) -> Theorem:
    together = _demanded("together", first_step, None)
    return Theorem(
        name=f"{'first_step' if first_step else 'gate'}_of_alike_groups_demands_as_many_times_one",
        sentence=f"{what} of groups that are alike demands as many times what it demands of one.",
        family=FAMILY,
        variables=(BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, COUNT, TOKENS),
        premises=(legal_deployment(lambda at: _alike(at, at.count)), TOKENS_WITHIN_LENGTH),
        claim=equal(together, _demanded("one each", first_step, 1)),
        covers=(Statement("several are alike", lambda at: at.count >= 2),),
        mutants=(variant("each counts twice", equal(together, _demanded("two each", first_step, 2))),),
    )


_GATE_OF_NONE = Quantity("gate", lambda at: gate_requirement(at.tokens, deployment(_budgeted(at), full(at)), VLLM_011))

NO_GATE = Theorem(
    name="design_without_a_gate_demands_nothing_at_it",
    sentence="A design without a gate lets every request as far as its first step.",
    family=FAMILY,
    variables=(BLOCK_SIZE, MAX_MODEL_LEN, TOKENS),
    premises=(lambda at: legal_deployment(deployed(full))(_budgeted(at)), TOKENS_WITHIN_LENGTH),
    claim=equal(_GATE_OF_NONE, Quantity("nothing", lambda _: 0)),
    covers=(Statement("the request takes blocks", lambda at: at.tokens > at.block_size),),
    mutants=(variant("it demands a block", equal(_GATE_OF_NONE, Quantity("one", lambda _: 1))),),
)

THEOREMS = (OF_FULL, OF_WINDOW, _add_up(False, "The gate"), _add_up(True, "The first step"), NO_GATE)
