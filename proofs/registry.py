"""Every theorem of the catalogue, in order, and how one is found by name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from ..spec.errors import UsageError
from .catalogue import FAMILIES
from .theorem import Theorem

THEOREMS: tuple[Theorem, ...] = tuple(theorem for family in FAMILIES for theorem in family.theorems)
"""All of them; families stay together."""

_BY_NAME = {theorem.name: theorem for theorem in THEOREMS}


def find(name: str) -> Theorem:
    """Find a theorem.

    Raises:
        UsageError: No theorem has that name.
    """
    if name not in _BY_NAME:
        raise _unknown(name, list(_BY_NAME))
    return _BY_NAME[name]


def select(names: Sequence[str] | None = None) -> tuple[Theorem, ...]:
    """Select theorems by their names or their families' names, in the order of the catalogue (None: all).

    Raises:
        UsageError: A name is neither, or none is given.
    """
    if names is None:
        return THEOREMS
    if not names:
        raise UsageError("theorems", "none", "nothing is selected", "name a theorem or a family, or leave them out")
    known = {*_BY_NAME, *(family.name for family in FAMILIES)}
    for name in names:
        if name not in known:
            raise _unknown(name, sorted(known))
    return tuple(theorem for theorem in THEOREMS if theorem.name in names or theorem.family in names)


def _unknown(name: str, known: Sequence[str]) -> UsageError:
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else "see `poolproof list`"
    return UsageError("theorem", name, "no theorem has this name", hint)
