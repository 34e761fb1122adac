"""Both encodings ask the same question, and an answer depends on nothing that was asked before."""

from __future__ import annotations

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from poolproof.proofs.budget import Budget
from poolproof.proofs.encoding import ENCODINGS, Encoding, euclidean, native
from poolproof.proofs.solving import Answer, Question, ask
from poolproof.spec import cdiv, fdiv

X, Y, Z = z3.Ints("x y z")

each_encoding = pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: encoding.__name__)


def answer(encoding: Encoding, *conditions: z3.BoolRef) -> z3.CheckSatResult:
    solver = z3.Solver()
    solver.add(*encoding(conditions))
    return solver.check()


@each_encoding
@settings(max_examples=15, deadline=None)
@given(dividend=st.integers(-60, 60), divisor=st.integers(1, 9))
def test_a_quotient_has_one_value(encoding: Encoding, dividend: int, divisor: int) -> None:
    given_values = (dividend == X, divisor == Y)
    for divide in (fdiv, cdiv):
        quotient = divide(dividend, divisor)
        assert answer(encoding, *given_values, divide(X, Y) == quotient) == z3.sat
        assert answer(encoding, *given_values, divide(X, Y) != quotient) == z3.unsat


@each_encoding
def test_nested_quotients_are_encoded(encoding: Encoding) -> None:
    positive = (X >= 0, Y >= 1, Z >= 1)
    assert answer(encoding, *positive, cdiv(cdiv(X, Y), Z) != cdiv(X, Y * Z), X <= 9, Y <= 3, Z <= 3) == z3.unsat
    assert answer(encoding, *positive, fdiv(cdiv(X, Y), Z) != cdiv(X, Y * Z)) == z3.sat


def test_the_euclidean_encoding_leaves_no_quotient() -> None:
    encoded = euclidean([cdiv(X + fdiv(X, Y), Y) <= Z])
    assert "div" not in " ".join(map(str, encoded))
    assert native([X <= Z]) == [X <= Z]


def test_the_euclidean_encoding_does_not_assume_a_positive_divisor() -> None:
    assert answer(euclidean, fdiv(X, Y) == 7, Y == 0, X == 1) == z3.sat


def test_equal_quotients_share_one_name() -> None:
    encoded = euclidean([fdiv(X, Y) <= Z, fdiv(X, Y) >= 1])
    assert len(encoded) == 3


def test_an_answer_costs_the_same_whatever_was_asked_before() -> None:
    question = Question(("x", "y"), tracked=(("y is positive", Y >= 1),), conditions=(fdiv(X, Y) * Y + Y <= X,))
    first = ask(question, Budget())
    ask(Question(("x",), conditions=(X * X == 49,)), Budget())
    assert ask(question, Budget()) == first
    assert first.answer is Answer.UNSATISFIABLE
    assert first.core == ("y is positive",)


def test_variables_are_natural_numbers() -> None:
    assert ask(Question(("x",), conditions=(X < 0,)), Budget()).answer is Answer.UNSATISFIABLE
    assert ask(Question(("x",), conditions=(X * X == 49,)), Budget()).values == {"x": 7}


def test_an_open_question_has_a_reason() -> None:
    reply = ask(Question(("x", "y"), conditions=(X * X * X == Y * Y + 7, X > 10**6)), Budget(rlimit=10))
    assert reply.answer is Answer.UNKNOWN
    assert reply.reason


def test_rounds_grow_and_end_with_the_whole_budget() -> None:
    assert [limit.rlimit for limit in Budget(rlimit=32_000_000).rounds()] == [500_000, 4_000_000, 32_000_000]
    assert [limit.rlimit for limit in Budget(rlimit=1).rounds()] == [1]
