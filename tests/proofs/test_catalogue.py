"""Every theorem of the catalogue is what it is recorded to be, by solver, by enumeration and by chance."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterator
from functools import cache

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from poolproof.oracle.verdict import Holds, Proved, Refuted
from poolproof.proofs.checking import check
from poolproof.proofs.outcome import Outcome
from poolproof.proofs.registry import THEOREMS, find
from poolproof.proofs.theorem import Expectation, Point, Theorem
from poolproof.spec.arithmetic import Truth, every

FALSE = [theorem for theorem in THEOREMS if theorem.expected is Expectation.REFUTED]
TRUE = [theorem for theorem in THEOREMS if theorem.expected is Expectation.HOLDS]
ONE_OR_MORE = {
    "block_size",
    "full_block_size",
    "window",
    "chunk",
    "max_model_len",
    "max_num_batched_tokens",
    "max_concurrent_batches",
    "context_parallel",
    "count",
    "ratio",
    "tokens",
    "scheduled",
    "blocks_per_chunk",
    "prompt",
    "other_prompt",
    "other_tokens",
    "max_num_seqs",
    "page",
    "override",
    "shorter",
    "fitted",
    "first",
    "second",
    "third",
    "accepted",
}
"""Variables that a premise keeps above zero wherever they occur."""

each_theorem = pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.name)
each_true_one = pytest.mark.parametrize("theorem", TRUE, ids=lambda theorem: theorem.name)
each_false_one = pytest.mark.parametrize("theorem", FALSE, ids=lambda theorem: theorem.name)


def lowest(theorem: Theorem) -> list[int]:
    return [int(variable.name in ONE_OR_MORE) for variable in theorem.variables]


def case(theorem: Theorem, values: tuple[int, ...]) -> dict[str, int]:
    return {variable.name: value for variable, value in zip(theorem.variables, values, strict=True)}


@cache
def outcome_of(name: str) -> Outcome:
    return check(find(name))


@each_true_one
def test_a_theorem_is_proved_with_its_covers_reached_and_its_mutants_refuted(theorem: Theorem) -> None:
    outcome = outcome_of(theorem.name)
    assert isinstance(outcome.verdict, Proved), outcome
    assert all(isinstance(cover.verdict, Holds) for cover in outcome.covers)
    for mutant in outcome.mutants:
        assert isinstance(mutant.verdict, Refuted), mutant
        assert max(value for _, value in mutant.verdict.witness.values) <= 6


def test_the_mutants_of_the_catalogue_are_many() -> None:
    assert sum(len(theorem.mutants) for theorem in THEOREMS) >= 60


def cases_of_sum(lows: list[int], total: int) -> Iterator[tuple[int, ...]]:
    """List all cases of one sum, the first in declared order first."""
    if len(lows) == 1:
        if total >= lows[0]:
            yield (total,)
        return
    for value in range(lows[0], total - sum(lows[1:]) + 1):
        for rest in cases_of_sum(lows[1:], total - value):
            yield (value, *rest)


@each_false_one
def test_a_false_variant_has_the_smallest_case_that_enumeration_finds(theorem: Theorem) -> None:
    by_sum = (case(theorem, values) for total in itertools.count() for values in cases_of_sum(lowest(theorem), total))
    first = next(values for values in by_sum if theorem.fails(values))
    outcome = outcome_of(theorem.name)
    assert outcome.as_expected, outcome
    assert isinstance(outcome.claim, Refuted)
    assert dict(outcome.claim.witness.values) == first
    assert outcome.claim.witness.sum == theorem.least_sum


PUBLISHED = {
    "window_with_any_lookahead_stays_within_cap": 9,
    "any_chunk_stays_within_cap": 14,
    "uncapped_gate_stays_within_boot_reservation": 10,
    "full_attention_gate_passes_where_boot_forgets_the_null_block": 4,
    "window_gate_passes_where_boot_forgets_the_null_block": 9,
    "unified_blocks_lose_no_room": 4,
}


@pytest.mark.parametrize(("name", "most"), PUBLISHED.items())
def test_no_counterexample_is_larger_than_the_one_first_found(name: str, most: int) -> None:
    assert (find(name).least_sum or math.inf) <= most


def small_cases(theorem: Theorem, most: int) -> Iterator[dict[str, int]]:
    """List the box of small values, as wide as so many cases allow."""
    lows = lowest(theorem)
    width = max(2, int(most ** (1 / len(lows))))
    boxes = [range(low, low + width) for low in lows]
    yield from (case(theorem, values) for values in itertools.product(*boxes))


def chance_cases(theorem: Theorem, count: int) -> Iterator[dict[str, int]]:
    """List cases by chance, from values of different magnitude."""
    chance = random.Random(theorem.name)  # noqa: S311 - a sample, not a secret
    for _ in range(count):
        width = chance.choice((3, 6, 40, 1000))
        yield case(theorem, tuple(chance.randint(low, low + width) for low in lowest(theorem)))


@each_true_one
def test_no_small_case_and_no_case_by_chance_speaks_against_a_theorem(theorem: Theorem) -> None:
    cases = [*small_cases(theorem, 4000), *chance_cases(theorem, 3000)]
    admitted = [values for values in cases if theorem.admits(values)]
    assert not [values for values in admitted if not theorem.claim.holds(Point(values))]
    assert admitted


def settled(truth: Truth) -> bool:
    """Evaluate a condition without free variables."""
    return truth if isinstance(truth, bool) else z3.is_true(z3.simplify(truth))


@each_theorem
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_terms_say_what_integers_say(theorem: Theorem, data: st.DataObject) -> None:
    lows = lowest(theorem)
    values = case(theorem, tuple(data.draw(st.integers(low, 5000)) for low in lows))
    terms = Point({name: z3.IntVal(value) for name, value in values.items()})
    numbers = Point(values)
    for statement in (theorem.claim, *theorem.covers, *theorem.mutants):
        assert settled(statement.holds(terms)) is statement.holds(numbers), statement.text
        for shown in statement.shown:
            assert z3.simplify(z3.IntVal(0) + shown.of(terms)).as_long() == shown.of(numbers), shown.name
    assumed = [assumption.holds for assumption in theorem.assumptions(terms)]
    assert settled(every(assumed)) is theorem.admits(values)


@each_theorem
def test_a_theorem_is_named_by_its_sentence(theorem: Theorem) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]+", theorem.name)
    assert theorem.sentence.endswith(".")
    assert (theorem.least_sum is not None) is (theorem.expected is Expectation.REFUTED)
    texts = [each.text for each in (*theorem.covers, *theorem.mutants)]
    assert len(texts) == len(set(texts))
