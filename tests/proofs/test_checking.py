"""The runner says what it found, refuses what says nothing, and never takes an open question for an answer."""

from __future__ import annotations

import itertools
import pickle

import pytest

from poolproof.oracle.verdict import Holds, Inconclusive, Proved, Refuted, Vacuous
from poolproof.proofs.budget import Budget
from poolproof.proofs.checking import UnfaithfulError, check
from poolproof.proofs.theorem import Expectation, Quantity, Statement, at_most
from poolproof.spec import UsageError
from poolproof.spec.arithmetic import Truth

from .toys import CEILING, FLOOR, WRONG, both_above, toy

TWO = Quantity("2", lambda _: 2)
THREE = Quantity("3", lambda _: 3)


def test_a_true_theorem_is_proved_with_the_premises_that_it_needs() -> None:
    near = Statement("x < floor + y", lambda at: at.x < FLOOR.of(at) + at.y)
    outcome = check(toy(claim=near, premises=(lambda at: at.x <= 1000,)))
    assert isinstance(outcome.claim, Proved)
    assert outcome.claim.core == ("y >= 1",)
    assert outcome.verdict is outcome.claim
    assert outcome.as_expected
    assert [type(finding.verdict) for finding in (*outcome.covers, *outcome.mutants)] == [Holds, Refuted]
    assert 0 < outcome.claim.cost < outcome.cost


def test_a_proof_uses_the_stored_hypotheses_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    theorem = toy(premises=(lambda at: at.x <= 1000,))
    monkeypatch.setattr("poolproof.proofs.needed.stored", lambda: {"toy": {"y >= 1": {}}})
    proved = check(theorem).claim
    assert isinstance(proved, Proved)
    assert proved.core == ("y >= 1",)
    monkeypatch.setattr("poolproof.proofs.needed.stored", lambda: {"toy": {"premise 0": {}}})
    unproved = check(theorem).claim
    assert isinstance(unproved, Inconclusive)
    assert unproved.reason.startswith("the hypotheses on record do not suffice")


def test_a_false_theorem_is_refuted_by_its_smallest_case() -> None:
    outcome = check(toy(claim=WRONG))
    assert isinstance(outcome.claim, Refuted)
    assert outcome.claim.witness.values == (("x", 1), ("y", 2))
    assert outcome.claim.witness.facts == ("ceiling = 2 tokens", "floor = 0 tokens")
    assert outcome.verdict is outcome.claim
    assert not outcome.as_expected


def test_a_false_variant_is_refuted_as_recorded() -> None:
    outcome = check(toy(claim=WRONG, mutants=(), expected=Expectation.REFUTED))
    assert isinstance(outcome.claim, Refuted)
    assert isinstance(outcome.verdict, Holds)
    assert outcome.as_expected


def test_a_false_variant_that_is_true_is_a_fault() -> None:
    outcome = check(toy(mutants=(), expected=Expectation.REFUTED))
    assert isinstance(outcome.claim, Proved)
    assert isinstance(outcome.verdict, Inconclusive)
    assert "recorded as false" in outcome.verdict.reason


def test_premises_that_exclude_each_other_prove_nothing() -> None:
    outcome = check(toy(premises=(lambda at: at.x > 5, lambda at: at.x < 3)))
    assert outcome.verdict == Vacuous("premise 0; premise 1")


def test_a_cover_out_of_reach_outweighs_the_proof() -> None:
    outcome = check(toy(premises=(lambda at: at.x < 3,)))
    assert isinstance(outcome.claim, Proved)
    assert outcome.verdict == Vacuous("no case reaches: x is large")


def test_a_surviving_mutant_is_named() -> None:
    harmless = Statement("a harmless change", lambda at: at.x + 1 >= at.x)
    outcome = check(toy(mutants=(WRONG, harmless)))
    assert outcome.verdict == Inconclusive("a mutant survives: a harmless change")


@pytest.mark.parametrize("missing", ["covers", "mutants"])
def test_a_theorem_that_nothing_tests_is_refused(missing: str) -> None:
    with pytest.raises(UsageError) as refusal:
        check(toy(covers=()) if missing == "covers" else toy(mutants=()))
    assert refusal.value.field == missing


@pytest.mark.parametrize("expected", Expectation)
def test_a_question_beyond_the_budget_stays_open(expected: Expectation) -> None:
    outcome = check(toy(expected=expected), Budget(rlimit=1))
    assert isinstance(outcome.claim, Inconclusive)
    assert isinstance(outcome.verdict, Inconclusive)
    assert not outcome.as_expected


def test_a_question_beyond_the_clock_stays_open() -> None:
    product = Quantity("product", lambda at: at.x * at.x * at.x, "tokens")
    square = Statement("x^3 is no y^2 - 7", lambda at: at.x * at.x * at.x != at.y * at.y - 7, (product,))
    outcome = check(toy(claim=square, premises=(both_above(10**9),)), Budget(timeout_ms=50))
    assert isinstance(outcome.claim, Inconclusive)


def test_a_case_that_integers_do_not_confirm_is_an_error_of_this_program() -> None:
    def differs(at: object) -> Truth:
        """Fail on terms and hold on integers."""
        x = at.x  # type: ignore[attr-defined]
        return True if isinstance(x, int) else x < 0

    with pytest.raises(UnfaithfulError, match="does not replay"):
        check(toy(claim=Statement("two-faced", differs)))


@pytest.mark.parametrize(
    "claim",
    [
        WRONG,
        Statement("x + y < 9", lambda at: at.x + at.y < 9),
        Statement("x * y < 12", lambda at: at.x * at.y < 12),
        at_most(Quantity("x mod y", lambda at: at.x - FLOOR.of(at)), TWO),
        at_most(Quantity("loss", lambda at: CEILING.of(at) - at.x), THREE),
        Statement("x < 40 or y < 3", lambda at: 3 * at.x + 50 * at.y < 270),
    ],
    ids=lambda claim: claim.text,
)
def test_the_case_shown_is_the_smallest_and_then_the_first(claim: Statement) -> None:
    theorem = toy(claim=claim)
    cases = [{"x": x, "y": y} for x, y in itertools.product(range(100), range(1, 100))]
    smallest = min(
        (case for case in cases if theorem.fails(case)), key=lambda case: (sum(case.values()), *case.values())
    )
    found = check(theorem).claim
    assert isinstance(found, Refuted)
    assert dict(found.witness.values) == smallest


def test_outcomes_repeat_to_the_last_figure_and_travel_between_processes() -> None:
    first = check(toy(claim=WRONG))
    check(toy())
    assert check(toy(claim=WRONG)) == first
    assert pickle.loads(pickle.dumps(first)) == first  # noqa: S301 - our own bytes
