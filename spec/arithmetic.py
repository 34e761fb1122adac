"""The few operations over which every formula is written.

Each works on Python integers (the fast path, plain arithmetic) and on Z3 terms (it then builds the term), so that the
oracle executes the very function that a theorem is about. Divisors are positive: a formula that may divide by
zero or by a negative number is outside this vocabulary, because SMT-LIB leaves the first open and rounds the second
differently from Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    import z3

Term: TypeAlias = "int | z3.ArithRef"
"""An integer, known or symbolic."""

Truth: TypeAlias = "bool | z3.BoolRef"
"""A truth value, known or symbolic."""


def fdiv(dividend: Term, divisor: Term) -> Term:
    """Divide, rounding down.

    Raises:
        ZeroDivisionError: The divisor is a known number below one.
    """
    if type(divisor) is int and divisor < 1:
        raise ZeroDivisionError(f"a block or chunk of {divisor} tokens cannot divide anything")
    if type(dividend) is int and type(divisor) is int:
        return dividend // divisor
    import z3

    # Z3 has no `//`; its `/` on integers is SMT-LIB `div`, which for a positive divisor rounds down as Python does.
    numerator = z3.IntVal(dividend) if isinstance(dividend, int) else dividend
    return cast("Term", numerator / divisor)


def cdiv(dividend: Term, divisor: Term) -> Term:
    """Divide, rounding up (vLLM writes it `-(a // -b)`, which must not be transcribed for Z3)."""
    return -fdiv(-dividend, divisor)


def minimum(left: Term, right: Term) -> Term:
    """Take the smaller of two numbers."""
    if type(left) is int and type(right) is int:
        return left if left <= right else right
    return where(left <= right, left, right)


def maximum(left: Term, right: Term) -> Term:
    """Take the larger of two numbers."""
    if type(left) is int and type(right) is int:
        return left if left >= right else right
    return where(left >= right, left, right)


def where(condition: Truth, then: Term, otherwise: Term) -> Term:
    """Choose between two numbers by a condition."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    import z3

    return cast("Term", z3.If(condition, then, otherwise))


def total(terms: Iterable[Term]) -> Term:
    """Add up any number of terms (none at all is zero)."""
    result: Term = 0
    for term in terms:
        result = result + term
    return result


def every(conditions: Iterable[Truth]) -> Truth:
    """Hold when all conditions hold (none at all holds)."""
    collected = list(conditions)
    if all(isinstance(condition, bool) for condition in collected):
        return all(collected)
    import z3

    return cast("Truth", z3.And(*collected))
