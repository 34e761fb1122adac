"""Known numbers, where the formulas would take symbolic ones too."""

from __future__ import annotations


def known(term: object) -> int:
    """Read a number that a legal deployment of known numbers gives.

    Raises:
        TypeError: It is symbolic.
    """
    if not isinstance(term, int):
        raise TypeError("a known number is needed here")
    return term
