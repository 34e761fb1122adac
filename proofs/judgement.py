"""What became of a property of an implementation, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from ..oracle.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Scope:
    """Say what a verdict covers.

    Args:
        symbolic: The fields that stand for every value.
        concrete: The fields that have one value.
        groups: The cache groups.
        batches_in_flight: How many batches may be scheduled and not settled.
    """

    symbolic: tuple[str, ...]
    concrete: tuple[tuple[str, int], ...]
    groups: tuple[str, ...]
    batches_in_flight: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """Record what became of a property.

    Args:
        name: The property.
        sentence: What it says.
        verdict: What was found.
        scope: What the verdict covers.
        paths: How many ways through the code were executed.
        accepting: On how many of them the property claims something.
        cost: What the solver spent, in resource counts.
        assumed: What was taken for granted on the way.
    """

    name: str
    sentence: str
    verdict: Verdict
    scope: Scope
    paths: int
    accepting: int
    cost: int
    assumed: tuple[str, ...] = ()
