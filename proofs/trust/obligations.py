"""What solvers are asked about a theorem, and what each must answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import z3

from ..solving import Answer, Question
from ..theorem import Expectation, Point, Theorem


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


def against(theorem: Theorem, needed: Collection[str] | None = None) -> Question:
    """Ask for a case that meets the hypotheses (None: all of them) and not the claim, or divides by less than one.

    What a solver says of a division by zero is its own affair, so that a theorem has to exclude it.
    """
    at = symbols(theorem)
    kept = [each for each in theorem.assumptions(at) if needed is None or each.text in needed]
    conditions = [_term(each.holds) for each in kept]
    claim = _term(theorem.claim.holds(at))
    undefined = (divisor < 1 for divisor in _divisors([*conditions, claim]))
    return Question(names(theorem), conditions=(*conditions, z3.Or(z3.Not(claim), *undefined)))


def names(theorem: Theorem) -> tuple[str, ...]:
    """List the variables of a theorem."""
    return tuple(variable.name for variable in theorem.variables)


def symbols(theorem: Theorem) -> Point:
    """Make the point at which every variable of a theorem is symbolic."""
    return Point({name: z3.Int(name) for name in names(theorem)})


def _divisors(terms: Iterable[z3.ExprRef]) -> list[z3.ArithRef]:
    """List what terms divide by, each once, known numbers left out."""
    found: dict[int, z3.ArithRef] = {}
    seen: set[int] = set()
    pending = list(terms)
    while pending:
        term = pending.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        pending += term.children()
        if term.decl().kind() == z3.Z3_OP_IDIV and not z3.is_int_value(term.arg(1)):
            found[term.arg(1).get_id()] = term.arg(1)
    return list(found.values())


def _up_to(question: Question, bound: int) -> Question:
    """Limit the sum of all values, and with it each of them."""
    numbers = [z3.Int(name) for name in question.variables]
    return question.also(z3.Sum(*numbers) <= bound, *(number <= bound for number in numbers))


def _term(truth: bool | z3.BoolRef) -> z3.BoolRef:
    return z3.BoolVal(truth) if isinstance(truth, bool) else truth
