"""The helpers compute on integers what they state on terms."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from poolproof.spec import Term, cdiv, every, fdiv, maximum, minimum, total, where

numbers = st.integers(-300_000, 300_000)
divisors = st.integers(1, 5_000)


def value(term: Term) -> int:
    """Evaluate a term without free variables."""
    return z3.simplify(term).as_long()


@pytest.mark.parametrize("divide", [fdiv, cdiv])
@given(left=numbers, right=divisors)
def test_division_agrees_on_integers_and_terms(divide: Callable[[Term, Term], Term], left: int, right: int) -> None:
    expected = divide(left, right)
    assert expected == {fdiv: math.floor, cdiv: math.ceil}[divide](left / right)
    for dividend in (left, z3.IntVal(left)):
        for divisor in (right, z3.IntVal(right)):
            if dividend is not left or divisor is not right:
                assert value(divide(dividend, divisor)) == expected


@pytest.mark.parametrize(("choose", "builtin"), [(minimum, min), (maximum, max)])
@given(left=numbers, right=numbers)
def test_choices_agree_on_integers_and_terms(
    choose: Callable[[Term, Term], Term], builtin: Callable[[int, int], int], left: int, right: int
) -> None:
    assert choose(left, right) == builtin(left, right)
    assert value(choose(z3.IntVal(left), right)) == builtin(left, right)
    assert value(choose(left, z3.IntVal(right))) == builtin(left, right)


@pytest.mark.parametrize("divide", [fdiv, cdiv])
@pytest.mark.parametrize("divisor", [0, -1])
def test_a_known_divisor_below_one_is_refused_on_both_paths(divide: Callable[[Term, Term], Term], divisor: int) -> None:
    for dividend in (7, z3.Int("x")):
        with pytest.raises(ZeroDivisionError, match="cannot divide"):
            divide(dividend, divisor)


@given(st.lists(numbers))
def test_totals_agree(terms: list[int]) -> None:
    assert total(terms) == sum(terms)
    assert value(total([z3.IntVal(0), *terms])) == sum(terms)


@given(st.lists(st.booleans()))
def test_conjunctions_agree(conditions: list[bool]) -> None:
    assert every(conditions) is all(conditions)
    symbolic = every([z3.BoolVal(True), *conditions])
    assert z3.is_true(z3.simplify(symbolic)) is all(conditions)


def test_a_known_condition_builds_no_term() -> None:
    assert where(True, 1, 2) == 1
    assert where(False, 1, 2) == 2
