"""The hypotheses of each true theorem: of the conditions under which it is stated, those that its proof may use.

A deployment is legal by many conditions. Those without which a claim fails are its hypotheses, each stored with a case
that shows so; the others are no part of what is proved. Covers and mutants are sought among legal cases all the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TypeAlias

from .theorem import Expectation, Theorem

Values: TypeAlias = Mapping[str, int]
"""A case: a number for each variable."""

Needed: TypeAlias = Mapping[str, Values]
"""The hypotheses that a claim needs, each with the case against the claim that it alone excludes."""

STORE = "hypotheses.json"


@cache
def stored() -> Mapping[str, Needed]:
    """Read what is stored, by the names of theorems."""
    found: Mapping[str, Needed] = json.loads(files(__package__).joinpath(STORE).read_text(encoding="utf-8"))
    return found


def hypotheses(theorem: Theorem) -> tuple[str, ...] | None:
    """List what a theorem's proof may use; None, for all conditions, where that was never examined.

    A false variant has a case that meets all conditions, so that there is nothing to leave out.
    """
    needed = stored().get(theorem.name) if theorem.expected is Expectation.HOLDS else None
    return None if needed is None else tuple(needed)
