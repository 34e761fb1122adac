"""Known numbers, where the formulas would take symbolic ones too, and the search for the least of them."""

from __future__ import annotations

from collections.abc import Callable


def known(term: object) -> int:
    """Read a number that a legal deployment of known numbers gives.

    Raises:
        TypeError: It is symbolic.
    """
    if not isinstance(term, int):
        raise TypeError("a known number is needed here")
    return term


def least(low: int, high: int, condition: Callable[[int], bool]) -> int:
    """Find the least number that meets a condition which `high` meets, and which once met stays met."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle + 1, high)
    return low
