"""Every doubt can be answered with no: each way of trusting a theorem refuses one that is wrong."""

from __future__ import annotations

import functools
import itertools
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from poolproof.oracle.verdict import Holds, Inconclusive, Refuted, Vacuous
from poolproof.proofs import needed
from poolproof.proofs.questions import against
from poolproof.proofs.registry import THEOREMS, find
from poolproof.proofs.solving import Answer, Question, Reply
from poolproof.proofs.theorem import Expectation, Statement, Theorem
from poolproof.proofs.trust import boxes, hypotheses, scrutiny
from poolproof.proofs.trust.obligations import obligations
from poolproof.proofs.trust.products import Products
from poolproof.proofs.trust.quotients import Quotients, lemmas
from poolproof.proofs.trust.runner import scrutinise_all, write_smtlib
from poolproof.proofs.trust.second import ask_second
from poolproof.proofs.trust.smtlib import exact, linear, with_lemmas

from .toys import WRONG, toy

STORE = Path(needed.__file__).with_name(needed.STORE)
TRUE = [theorem for theorem in THEOREMS if theorem.expected is Expectation.HOLDS]
PLAIN = find("window_stays_within_cap")
FALSE = find("window_with_any_lookahead_stays_within_cap")


# -- hypotheses -----------------------------------------------------------------------------------------------------


def test_the_store_is_written_where_asked() -> None:
    """Keep the stored cases of theorems that are as they were, and find those of the others."""
    if not os.environ.get("POOLPROOF_REFRESH"):
        pytest.skip("the store is kept; POOLPROOF_REFRESH=1 writes it anew")
    kept = {theorem.name: needed.stored().get(theorem.name) for theorem in TRUE}
    found = {
        theorem.name: kept[theorem.name]
        if isinstance(hypotheses.judge(theorem), Holds)
        else hypotheses.find_needed(theorem)
        for theorem in TRUE
    }
    STORE.write_text(f"{json.dumps(found, indent=1)}\n")
    needed.stored.cache_clear()


@pytest.mark.parametrize("theorem", TRUE, ids=lambda theorem: theorem.name)
def test_every_hypothesis_is_needed_and_its_case_is_stored(theorem: Theorem) -> None:
    verdict = hypotheses.judge(theorem)
    assert isinstance(verdict, Holds), f"{verdict}; POOLPROOF_REFRESH=1 writes the store anew"


def test_the_store_names_true_theorems_only() -> None:
    assert list(needed.stored()) == [theorem.name for theorem in TRUE]


def test_a_hypothesis_that_is_not_needed_is_left_out() -> None:
    theorem = toy(premises=(lambda at: at.x <= 1000,))
    assert theorem.conditions() == ("y >= 1", "premise 0")
    found = hypotheses.find_needed(theorem)
    assert list(found) == ["y >= 1"]
    assert hypotheses.shows_need(theorem, found, "y >= 1")
    assert not hypotheses.shows_need(theorem, {"y >= 1": {"x": 3, "y": 2}}, "y >= 1")
    assert not hypotheses.shows_need(theorem, {"y >= 1": {"y": 0, "x": 3}}, "y >= 1")


def test_a_theorem_without_stored_hypotheses_is_open() -> None:
    assert isinstance(hypotheses.judge(toy()), Inconclusive)


# -- small cases ----------------------------------------------------------------------------------------------------


def test_a_box_tries_every_case() -> None:
    assert boxes.box(2, 12) == (3, 2)
    found = boxes.judge(toy(), 12)
    assert found == Holds("8 legal cases up to 3, 2")


def test_a_box_refutes_what_is_false_and_says_where() -> None:
    found = boxes.judge(toy(claim=WRONG))
    assert isinstance(found, Refuted)
    assert found.witness.values == (("x", 1), ("y", 2))


def test_a_false_variant_may_fail_from_its_recorded_sum_on() -> None:
    variant = toy(claim=WRONG, mutants=(), expected=Expectation.REFUTED)
    assert isinstance(boxes.judge(replace(variant, least_sum=3)), Holds)
    assert isinstance(boxes.judge(replace(variant, least_sum=4)), Refuted)


def test_a_box_without_a_legal_case_is_vacuous() -> None:
    assert isinstance(boxes.judge(toy(premises=(lambda at: at.x > 10**6,))), Vacuous)


# -- questions for solvers ------------------------------------------------------------------------------------------


@functools.cache
def stated_about_quotients() -> z3.BoolRef:
    x, y, z = z3.Ints("x y z")
    quotients = Quotients()
    for term in (x / y == 0, x / (y * z) == 0, (x + 1) / y == 0, x / (y * z + 1) == 0, (2 * x * y - z) / y == 0):
        quotients.rewrite(term)
    return z3.And(*quotients.definitions, *lemmas(quotients.multiples, of_three=True))


@given(st.integers(-20, 20), st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_lemmas_are_true_of_integers(dividend: int, first: int, second: int) -> None:
    """Give quotients their own values: nothing that is stated about them may then be false."""
    x, y, z = z3.Ints("x y z")
    divided = (dividend, dividend, dividend + 1, dividend, 2 * dividend * first - second)
    divisors = (first, first * second, first, first * second + 1, first)
    numbers = dict(zip((x, y, z), (dividend, first, second), strict=True))
    for number, (each, divisor) in enumerate(zip(divided, divisors, strict=True)):
        quotient, remainder = divmod(each, divisor)
        numbers[z3.Int(f"quotient!{number}")] = quotient
        numbers[z3.Int(f"product!{number}")] = quotient * divisor
        numbers[z3.Int(f"remainder!{number}")] = remainder
    values = [(name, z3.IntVal(value)) for name, value in numbers.items()]
    assert z3.is_true(z3.simplify(z3.substitute(stated_about_quotients(), *values)))


@given(st.tuples(*[st.integers(-5, 5)] * 4))
@settings(max_examples=60, deadline=None)
def test_what_is_stated_of_products_is_true_of_integers(values: tuple[int, ...]) -> None:
    unknown = z3.Ints("a b c d")
    known = [(name, z3.IntVal(value)) for name, value in zip(unknown, values, strict=True)]
    a, b, c, d = unknown
    products = Products()
    products.replaced([a * b + 2 * c * b <= d * a * b, a * a == c * d])
    stated = products.in_order()
    assert len(stated) > 8
    meant = [(named, z3.substitute(product, *known)) for named, product in products.meant()]
    for each in stated:
        assert z3.is_true(z3.simplify(z3.substitute(z3.substitute(each, *meant), *known))), each


def z3_on(text: str) -> str:
    solver = z3.Solver()
    solver.from_string(text)
    return str(solver.check())


def test_every_script_is_read_back_with_the_same_answer() -> None:
    proof = against(PLAIN)
    scripts = [exact(proof), with_lemmas(proof, of_three=False), linear(proof, of_three=True)]
    assert [z3_on(script) for script in scripts] == ["unsat"] * 3
    refutation = against(FALSE)
    assert z3_on(exact(refutation)) == "sat"
    assert "QF_LIA" in scripts[2]


def test_the_second_solver_proves_refutes_and_shows_a_case() -> None:
    assert ask_second(against(PLAIN)).answer is Answer.UNSATISFIABLE
    found, smaller = (ask_second(each.question) for each in obligations(FALSE))
    assert found.answer is Answer.SATISFIABLE
    assert sum(found.values.values()) == FALSE.least_sum
    assert FALSE.fails(found.values)
    assert smaller.answer is Answer.UNSATISFIABLE


def test_the_second_solver_gives_up_rather_than_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poolproof.proofs.trust.second.RLIMITS", (1,))
    x, y, z = z3.Ints("x y z")
    hard = Question(("x", "y", "z"), conditions=(x * x * x + y * y * y + z * z * z == 114, x > 2, y > 2, z > 2))
    assert ask_second(hard).answer is Answer.UNKNOWN


# -- scrutiny -------------------------------------------------------------------------------------------------------


def test_a_sound_theorem_and_a_false_variant_withstand_every_doubt() -> None:
    for theorem in (PLAIN, FALSE):
        found = scrutiny.scrutinise(theorem)
        assert all(isinstance(verdict, Holds) for verdict in found.verdicts), found
        assert found.decided_by == ("z3", "cvc5")


def test_each_disagreement_is_a_verdict_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrutiny, "ask_second", lambda _: Reply(Answer.SATISFIABLE, 0, {"x": 1, "y": 2}))
    found = scrutiny.scrutinise(toy())
    assert isinstance(found.seeds, Holds)
    assert isinstance(found.second, Refuted)
    assert "cvc5 disagrees" in found.second.witness.facts[0]
    assert found.decided_by == ("z3",)


def test_a_solver_that_gives_up_has_decided_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrutiny, "ask_second", lambda _: Reply(Answer.UNKNOWN, 0, reason="tired"))
    found = scrutiny.scrutinise(toy())
    assert isinstance(found.second, Inconclusive)
    assert "tired" in found.second.reason


def test_a_case_of_the_solver_that_integers_do_not_confirm_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    variant = toy(claim=WRONG, mutants=(), expected=Expectation.REFUTED)
    answers = itertools.cycle([Reply(Answer.SATISFIABLE, 0, {"x": 2, "y": 1}), Reply(Answer.UNSATISFIABLE, 0)])
    monkeypatch.setattr(scrutiny, "ask_second", lambda _: next(answers))
    found = scrutiny.scrutinise(replace(variant, least_sum=3))
    assert isinstance(found.second, Refuted)
    assert "plain integers" in found.second.witness.facts[0]


def test_a_wrong_claim_fails_in_every_way() -> None:
    found = scrutiny.scrutinise(toy(claim=Statement("x < 4", lambda at: at.x < 4)))
    assert [type(verdict) for verdict in found.verdicts] == [Refuted, Refuted, Refuted, Inconclusive]


def test_theorems_are_scrutinised_in_order_and_in_processes() -> None:
    names = ["every_step_brings_a_request_nearer_its_end", "no_groups_need_nothing"]
    told: list[str] = []
    found = list(scrutinise_all(names, 1, lambda each: told.append(each.theorem)))
    assert told == [each.theorem for each in found] == [theorem.name for theorem in THEOREMS if theorem.name in names]


# -- SMT-LIB --------------------------------------------------------------------------------------------------------


def test_exported_questions_state_their_answer(tmp_path: Path) -> None:
    assert write_smtlib([PLAIN.name, FALSE.name], tmp_path) == 4
    for file in tmp_path.glob("*.[12].smt2"):
        text = file.read_text()
        assert f"(set-info :status {z3_on(text)})" in text


@pytest.mark.nightly
def test_both_solvers_decide_every_theorem() -> None:
    for each in scrutinise_all(None, 2):
        assert each.decided_by == ("z3", "cvc5"), each
        assert all(isinstance(verdict, Holds) for verdict in each.verdicts), each
