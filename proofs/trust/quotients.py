"""Quotients as numbers of their own, with what is true of them and hard for a solver to find.

Each quotient becomes a number; what defines it names its product with the divisor. The lemmas say what multiplication
by a positive divisor keeps: for a whole number e that is a sum of quotients, e >= 1 makes divisor * e >= divisor, and
e <= 0 makes it <= 0. All of this is true of integers, so that a solver that is given it loses no case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import z3

from ..rewriting import QuotientRewriter

_OFFSETS = (-1, 0, 1)
_OFFSETS_ALONE = (-2, *_OFFSETS)
"""A single number is held against the constants that quotients of a few divisors come to."""


@dataclass(frozen=True, slots=True)
class Multiple:
    """Pair a whole number with its product by a divisor."""

    number: z3.ArithRef
    divisor: z3.ArithRef
    product: z3.ArithRef


class Quotients(QuotientRewriter):
    """Rewrite conditions without `div`, and keep what is a multiple of what."""

    def __init__(self) -> None:
        super().__init__()
        self.multiples: list[Multiple] = []
        self.definitions: list[z3.BoolRef] = []

    def named(self, dividend: z3.ArithRef, divisor: z3.ArithRef) -> z3.ArithRef:
        """Name a quotient, its remainder and its product with the divisor."""
        divisor = z3.simplify(divisor)
        if z3.is_int_value(divisor) and divisor.as_long() == 1:
            return dividend
        number = len(self.multiples)
        quotient, remainder, product = (z3.Int(f"{name}!{number}") for name in ("quotient", "remainder", "product"))
        divides = z3.And(dividend == product + remainder, remainder >= 0, remainder < divisor)
        self.definitions += [z3.Implies(divisor >= 1, divides), product == divisor * quotient]
        self.multiples += [Multiple(quotient, divisor, product), *_read_off(dividend, divisor)]
        return quotient


def _read_off(dividend: z3.ArithRef, divisor: z3.ArithRef) -> Iterator[Multiple]:
    """Find the multiples of an unknown that are written out in what it divides."""
    if not z3.is_const(divisor) or z3.is_int_value(divisor):
        return
    name = divisor.sexpr()
    for factors in map(_factors, _terms(z3.simplify(dividend, som=True))):
        if _has(factors, name):
            number = _product([each for each in _without(factors, name) if not z3.is_int_value(each)])
            if not z3.is_int_value(number):
                yield Multiple(number, divisor, z3.simplify(number * divisor))


def lemmas(multiples: Sequence[Multiple], *, of_three: bool) -> Iterator[z3.BoolRef]:
    """State the lemmas for every number, every difference of two, and if asked for of one and two others."""
    by_divisor: dict[str, dict[str, Multiple]] = {}
    for multiple in (*multiples, *(each for one in multiples for each in _parts(one))):
        by_divisor.setdefault(multiple.divisor.sexpr(), {}).setdefault(multiple.number.sexpr(), multiple)
    for alike in map(list, map(dict.values, by_divisor.values())):
        for signs in _signs(len(alike), of_three):
            yield from _lemmas([(sign, alike[place]) for place, sign in signs])


def _signs(count: int, of_three: bool) -> Iterator[tuple[tuple[int, int], ...]]:
    yield from (((place, 1),) for place in range(count))
    yield from (((left, 1), (right, -1)) for left, right in combinations(range(count), 2))
    if of_three:
        yield from (((left, 1), (right, 1)) for left, right in combinations(range(count), 2))
        for place in range(count):
            others = [other for other in range(count) if other != place]
            yield from (((place, 1), (one, -1), (two, -1)) for one, two in combinations(others, 2))


def _lemmas(parts: Sequence[tuple[int, Multiple]]) -> Iterator[z3.BoolRef]:
    divisor = parts[0][1].divisor
    for offset in _OFFSETS_ALONE if len(parts) == 1 else _OFFSETS:
        number = _sum([sign * part.number for sign, part in parts]) + offset
        product = _sum([sign * part.product for sign, part in parts]) + offset * divisor
        yield z3.Implies(z3.And(divisor >= 1, number >= 1), product >= divisor)
        yield z3.Implies(z3.And(divisor >= 1, number <= 0), product <= 0)


def _parts(multiple: Multiple) -> Iterator[Multiple]:
    """Read a multiple of x*y + z as multiples of x: of y times the number, of the number, and of y itself."""
    monomials = [_factors(monomial) for monomial in _terms(multiple.divisor)]
    symbols = {each.sexpr(): each for factors in monomials for each in factors if not z3.is_int_value(each)}
    if len(symbols) < 2:
        return
    for name, symbol in symbols.items():
        within = _sum([_product(_without(factors, name)) for factors in monomials if _has(factors, name)])
        rest = _sum([_product(factors) for factors in monomials if not _has(factors, name)])
        product = multiple.product - rest * multiple.number
        yield Multiple(z3.simplify(within * multiple.number), symbol, z3.simplify(product))
        yield Multiple(multiple.number, symbol, symbol * multiple.number)
        yield Multiple(z3.simplify(within), symbol, z3.simplify(within * symbol))


def _terms(term: z3.ArithRef) -> list[z3.ArithRef]:
    return [part for child in term.children() for part in _terms(child)] if z3.is_add(term) else [term]


def _factors(term: z3.ArithRef) -> list[z3.ArithRef]:
    return [part for child in term.children() for part in _factors(child)] if z3.is_mul(term) else [term]


def _has(factors: Sequence[z3.ArithRef], name: str) -> bool:
    return any(factor.sexpr() == name for factor in factors)


def _without(factors: Sequence[z3.ArithRef], name: str) -> list[z3.ArithRef]:
    """Leave out one factor of that name."""
    place = [factor.sexpr() for factor in factors].index(name)
    return [*factors[:place], *factors[place + 1 :]]


def _sum(terms: Sequence[z3.ArithRef]) -> z3.ArithRef:
    result: z3.ArithRef = z3.IntVal(0)
    for term in terms:
        result = result + term
    return z3.simplify(result)


def _product(factors: Sequence[z3.ArithRef]) -> z3.ArithRef:
    result: z3.ArithRef = z3.IntVal(1)
    for factor in factors:
        result = result * factor
    return z3.simplify(result)
