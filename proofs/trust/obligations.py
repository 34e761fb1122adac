"""What solvers are asked about a theorem, and what each must answer."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import z3

from ..questions import against
from ..solving import Answer, Question
from ..theorem import Expectation, Theorem


@dataclass(frozen=True, slots=True)
class Obligation:
    """Ask one question to which only one answer bears the theorem out.

    Args:
        text: What is asked, for the reader.
        question: The question.
        expected: The answer.
    """

    text: str
    question: Question
    expected: Answer


def obligations(theorem: Theorem, needed: Collection[str] | None = None) -> Iterator[Obligation]:
    """List what bears a theorem out; of a true one, under the hypotheses named only (None: all of them).

    A false variant has a case of the recorded sum, and none below it.
    """
    if theorem.expected is Expectation.HOLDS:
        yield Obligation("no case against the claim", against(theorem, needed), Answer.UNSATISFIABLE)
        return
    question = against(theorem)
    least = theorem.least_sum or 0
    yield Obligation(f"a case of sum {least}", _up_to(question, least), Answer.SATISFIABLE)
    yield Obligation(f"no case of a sum below {least}", _up_to(question, least - 1), Answer.UNSATISFIABLE)


def _up_to(question: Question, bound: int) -> Question:
    """Limit the sum of all values, and with it each of them."""
    numbers = [z3.Int(name) for name in question.variables]
    return question.also(z3.Sum(*numbers) <= bound, *(number <= bound for number in numbers))
