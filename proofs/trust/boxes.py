"""Every case of small values, one by one, on plain integers and without a solver."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from ...oracle.verdict import Holds, Refuted, Vacuous, Verdict, Witness
from ..theorem import Expectation, Point, Theorem

POINTS = 20_000
"""The most cases of one box, those included that the hypotheses exclude."""


def box(variables: int, points: int = POINTS) -> tuple[int, ...]:
    """Choose how far each variable goes: all alike, the first ones one further where there is room."""
    reach = [1] * variables
    while True:
        for place in range(variables):
            grown = [*reach[:place], reach[place] + 1, *reach[place + 1 :]]
            if prod(each + 1 for each in grown) > points:
                return tuple(reach)
            reach = grown


def judge(theorem: Theorem, points: int = POINTS) -> Verdict:
    """Try every case of the box: a true theorem fails nowhere, a false variant nowhere below its recorded case."""
    reach = box(len(theorem.variables), points)
    tried = [values for values in _cases(theorem, reach) if theorem.admits(values)]
    failing = [values for values in tried if not theorem.claim.holds(Point(values))]
    surprising = [values for values in failing if not _recorded(theorem, values)]
    if surprising:
        least = min(surprising, key=lambda values: (sum(values.values()), *values.values()))
        return Refuted(Witness(tuple(least.items()), ("found by trying every small case",)))
    if not tried:
        return Vacuous(f"no case up to {_spelled(reach)} meets the hypotheses")
    return Holds(f"{len(tried)} legal cases up to {_spelled(reach)}")


def _cases(theorem: Theorem, reach: tuple[int, ...]) -> Iterator[dict[str, int]]:
    for values in product(*(range(each + 1) for each in reach)):
        yield dict(zip(theorem.names, values, strict=True))


def _recorded(theorem: Theorem, values: dict[str, int]) -> bool:
    """Tell whether a failing case is as recorded: only a false variant has any, none of a smaller sum."""
    return theorem.expected is Expectation.REFUTED and sum(values.values()) >= (theorem.least_sum or 0)


def _spelled(reach: tuple[int, ...]) -> str:
    return ", ".join(map(str, reach))
