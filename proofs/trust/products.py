"""Products of unknowns as numbers of their own, with what is true of two that share a factor.

Whatever has no case with such numbers has none at all; what is stated of them only keeps out cases that mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import z3


class Products:
    """Replace each product of unknowns by a number; equal products share one."""

    def __init__(self) -> None:
        self._numbers: dict[str, tuple[z3.ArithRef, tuple[z3.ArithRef, ...]]] = {}

    def replaced(self, conditions: Sequence[z3.BoolRef]) -> list[z3.BoolRef]:
        """Replace the products in conditions."""
        return [self._linear(z3.simplify(condition, som=True)) for condition in conditions]

    def in_order(self) -> list[z3.BoolRef]:
        """State of two products of a shared factor and another how they lie, by the sign of the shared one."""
        return [
            z3.Implies(z3.And(greater >= less + 1, sign), order)
            for (shared, greater, product), (same, less, other) in permutations(self._of_two(), 2)
            if shared.eq(same)
            for sign, order in (
                (shared >= 0, product >= other + shared),
                (shared <= 0, product <= other + shared),
            )
        ]

    def meant(self) -> Iterator[tuple[z3.ArithRef, z3.ArithRef]]:
        """Pair each number with the product that it stands for."""
        for number, factors in self._numbers.values():
            yield number, z3.Product(*factors)

    def _of_two(self) -> Iterator[tuple[z3.ArithRef, z3.ArithRef, z3.ArithRef]]:
        for number, factors in self._numbers.values():
            if len(factors) == 2:
                one, other = factors
                yield one, other, number
                yield other, one, number

    def _linear(self, term: z3.ExprRef) -> z3.ExprRef:
        children = [self._linear(child) for child in term.children()]
        if z3.is_mul(term):
            return self._product(children)
        return term.decl()(*children) if children else term

    def _product(self, factors: Sequence[z3.ArithRef]) -> z3.ArithRef:
        unknown = sorted((each for each in factors if not z3.is_int_value(each)), key=lambda each: each.sexpr())
        named = unknown[0] if len(unknown) == 1 else self._number(unknown)
        for known in factors:
            if z3.is_int_value(known):
                named = known * named
        return named

    def _number(self, factors: Sequence[z3.ArithRef]) -> z3.ArithRef:
        name = "*".join(each.sexpr() for each in factors)
        number, _ = self._numbers.setdefault(name, (z3.Int(f"product_of!{len(self._numbers)}"), tuple(factors)))
        return number
