"""Ways to write a query for the solver; the formulas themselves stay as they are.

`native` leaves SMT-LIB's `div` in place, whose divisor may be symbolic. `euclidean` names each quotient and remainder
and states what they satisfy. Every defining condition is guarded by a positive divisor, so that the
encoding assumes nothing of its own: where the divisor is not positive the quotient is free, which adds models and
never removes one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import z3

Encoding: TypeAlias = Callable[[Sequence[z3.BoolRef]], list[z3.BoolRef]]
"""Rewrites conditions one by one, in order; conditions of its own come after them."""


def native(conditions: Sequence[z3.BoolRef]) -> list[z3.BoolRef]:
    """Leave quotients to the solver."""
    return list(conditions)


def euclidean(conditions: Sequence[z3.BoolRef]) -> list[z3.BoolRef]:
    """Replace each quotient by a number of its own, and define it by multiplication."""
    quotients = _Quotients()
    rewritten = [quotients.rewrite(condition) for condition in conditions]
    return rewritten + quotients.definitions


ENCODINGS: tuple[Encoding, ...] = (native, euclidean)
"""In the order in which they are tried while the answer is unknown."""


class _Quotients:
    """Rewrite terms bottom-up; equal quotients share one name."""

    def __init__(self) -> None:
        self.definitions: list[z3.BoolRef] = []
        # The solver reuses the number of a term that is gone, so each term is kept beside its replacement.
        self._done: dict[int, tuple[z3.ExprRef, z3.ExprRef]] = {}

    def rewrite(self, term: z3.ExprRef) -> z3.ExprRef:
        """Return the term without quotients."""
        known = self._done.get(term.get_id())
        if known is None:
            known = self._done[term.get_id()] = (term, self._rebuilt(term))
        return known[1]

    def _rebuilt(self, term: z3.ExprRef) -> z3.ExprRef:
        children = [self.rewrite(child) for child in term.children()]
        if not children:
            return term
        return self._named(*children) if term.decl().kind() == z3.Z3_OP_IDIV else term.decl()(*children)

    def _named(self, dividend: z3.ArithRef, divisor: z3.ArithRef) -> z3.ArithRef:
        number = len(self.definitions)
        quotient, remainder = z3.Int(f"quotient!{number}"), z3.Int(f"remainder!{number}")
        divides = z3.And(dividend == divisor * quotient + remainder, remainder >= 0, remainder < divisor)
        self.definitions.append(z3.Implies(divisor >= 1, divides))
        return quotient
