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

from .rewriting import QuotientRewriter

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


class _Quotients(QuotientRewriter):
    """Define each quotient by what its dividend comes to."""

    def __init__(self) -> None:
        super().__init__()
        self.definitions: list[z3.BoolRef] = []

    def named(self, dividend: z3.ArithRef, divisor: z3.ArithRef) -> z3.ArithRef:
        """Name a quotient and a remainder."""
        number = len(self.definitions)
        quotient, remainder = z3.Int(f"quotient!{number}"), z3.Int(f"remainder!{number}")
        divides = z3.And(dividend == divisor * quotient + remainder, remainder >= 0, remainder < divisor)
        self.definitions.append(z3.Implies(divisor >= 1, divides))
        return quotient
