"""What there is to read about a theorem, as plain strings."""

from __future__ import annotations

from dataclasses import dataclass

from ..oracle.verdict import Witness
from .theorem import Point, Theorem


@dataclass(frozen=True, slots=True)
class Explanation:
    """Hold the words of a theorem; a renderer only lays them out."""

    name: str
    family: str
    sentence: str
    expected: str
    variables: tuple[str, ...]
    premises: tuple[str, ...]
    claim: str
    covers: tuple[str, ...]
    mutants: tuple[str, ...]


def explain(theorem: Theorem) -> Explanation:
    """Put a theorem into words."""
    return Explanation(
        name=theorem.name,
        family=theorem.family,
        sentence=theorem.sentence,
        expected=theorem.expected.value,
        variables=tuple(f"{each.name} ({each.unit}): {each.meaning}" for each in theorem.variables),
        premises=premises(theorem),
        claim=theorem.claim.text,
        covers=tuple(cover.text for cover in theorem.covers),
        mutants=tuple(mutant.text for mutant in theorem.mutants),
    )


def premises(theorem: Theorem) -> tuple[str, ...]:
    """List what a theorem assumes, beside that every variable is a natural number."""
    import z3

    symbols = Point({variable.name: z3.Int(variable.name) for variable in theorem.variables})
    return tuple(assumption.text for assumption in theorem.assumptions(symbols))


def counterexample_lines(witness: Witness) -> tuple[str, ...]:
    """Put a case into lines: the values, what follows from them, and how to get there."""
    values = ", ".join(f"{name} = {value}" for name, value in witness.values)
    return (f"{values} (sum {witness.sum})", *witness.facts, *witness.steps)
