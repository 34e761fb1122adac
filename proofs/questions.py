"""The question that a proof answers: is there a case that meets the hypotheses, and not the claim?"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import z3

from ..spec.arithmetic import Truth
from .solving import Question
from .theorem import Theorem


def against(theorem: Theorem, needed: Collection[str] | None = None) -> Question:
    """Ask for a case that meets the hypotheses (None: all of them) and not the claim, or divides by less than one.

    What a solver says of a division by zero is its own affair, so that a theorem has to exclude it.
    """
    at = theorem.symbols()
    kept = [each for each in theorem.assumptions(at) if needed is None or each.text in needed]
    conditions = [as_condition(each.holds) for each in kept]
    claim = as_condition(theorem.claim.holds(at))
    undefined = (divisor < 1 for divisor in _divisors([*conditions, claim]))
    return Question(theorem.names, conditions=(*conditions, z3.Or(z3.Not(claim), *undefined)))


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


def as_condition(truth: Truth) -> z3.BoolRef:
    """Give the solver a truth value that may already be known."""
    return z3.BoolVal(truth) if isinstance(truth, bool) else truth
