"""Which conditions a claim needs as hypotheses: each has a case that shows what happens without it."""

from __future__ import annotations

import contextlib

from ...oracle.counting import counted
from ...oracle.verdict import Holds, Inconclusive, Refuted, Verdict, Witness
from ...spec.errors import InconclusiveError
from ..budget import Budget
from ..needed import Needed, Values, stored
from ..questions import against
from ..solving import Answer, Question, Reply, ask
from ..theorem import Point, Theorem
from .second import ask_second

_SMALL = (3, 6)
"""The values up to which cases are sought, one after the other, before all are."""


def find_needed(theorem: Theorem, budget: Budget | None = None) -> dict[str, dict[str, int]]:
    """Leave out one hypothesis after the other; keep those without which a case against the claim appears.

    Raises:
        InconclusiveError: Neither solver tells whether one is needed.
    """
    kept = list(theorem.conditions())
    needed: dict[str, dict[str, int]] = {}
    for text in theorem.conditions():
        others = [each for each in kept if each != text]
        reply = _smallest(against(theorem, others), budget or Budget())
        if reply.answer is Answer.UNKNOWN:
            raise InconclusiveError(f"{theorem.name}: whether {text!r} is needed: {reply.reason}")
        if reply.answer is Answer.SATISFIABLE:
            needed[text] = dict(reply.values)
        else:
            kept = others
    return needed


def _smallest(question: Question, budget: Budget) -> Reply:
    """Ask for a case of small values first: it reads better, and is found faster; the second solver comes last."""
    import z3

    for bound in _SMALL:
        reply = ask(question.also(*(z3.Int(name) <= bound for name in question.variables)), budget)
        if reply.answer is Answer.SATISFIABLE:
            return reply
    reply = ask(question, budget)
    return ask_second(question) if reply.answer is Answer.UNKNOWN else reply


def judge(theorem: Theorem) -> Verdict:
    """Replay every stored case on plain integers: it meets all other hypotheses, not this one, and not the claim."""
    found = stored().get(theorem.name)
    if found is None:
        return Inconclusive("no hypotheses are stored for it; run the tests with POOLPROOF_REFRESH=1")
    unknown = [text for text in found if text not in theorem.conditions()]
    if unknown:
        return Inconclusive(f"a stored hypothesis is not declared: {unknown[0]}")
    for text, values in found.items():
        if not shows_need(theorem, found, text):
            told = f"the stored case does not show that it is needed: {text}"
            return Refuted(Witness(tuple(values.items()), (told,)))
    spared = len(theorem.conditions()) - len(found)
    return Holds(f"{counted(len(found), 'hypothesis')}, each with a case; {spared} left out")


def shows_need(theorem: Theorem, needed: Needed, text: str) -> bool:
    """Tell whether a stored case shows that a hypothesis is needed: without it the claim fails, or is not defined."""
    values = needed[text]
    if tuple(values) != theorem.names:
        return False
    excluded = _excluding(theorem, values)
    return [each for each in needed if each in excluded] == [text] and not _claimed(theorem, values)


def _excluding(theorem: Theorem, values: Values) -> set[str]:
    """List the hypotheses that exclude a case, up to the first that is not defined there for want of another."""
    excluding = set()
    with contextlib.suppress(ZeroDivisionError):
        for assumption in theorem.assumptions(Point(values)):
            if not assumption.holds:
                excluding.add(assumption.text)
    return excluding


def _claimed(theorem: Theorem, values: Values) -> bool:
    """Tell whether the claim holds in a case; where it divides by zero it says nothing."""
    try:
        return bool(theorem.claim.holds(Point(values)))
    except ZeroDivisionError:
        return False
