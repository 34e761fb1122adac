"""What there is to read about a theorem, as plain strings."""

from __future__ import annotations

from dataclasses import dataclass

from ..oracle.verdict import Refuted, Witness
from .definitions import definitions
from .needed import hypotheses
from .theorem import Expectation, Theorem


@dataclass(frozen=True, slots=True)
class Explanation:
    """Hold the words of a theorem; a renderer only lays them out."""

    name: str
    family: str
    sentence: str
    expected: str
    variables: tuple[str, ...]
    premises: tuple[str, ...]
    left_out: tuple[str, ...]
    claim: str
    definitions: tuple[str, ...]
    counterexample: tuple[str, ...]
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
        left_out=left_out(theorem),
        claim=theorem.claim.text,
        definitions=definitions(theorem),
        counterexample=counterexample(theorem),
        covers=tuple(cover.text for cover in theorem.covers),
        mutants=tuple(mutant.text for mutant in theorem.mutants),
    )


def counterexample(theorem: Theorem) -> tuple[str, ...]:
    """Find the smallest counterexample of a false variant; a true theorem has none."""
    from .checking import decide

    claim = decide(theorem) if theorem.expected is Expectation.REFUTED else None
    return counterexample_lines(claim.witness) if isinstance(claim, Refuted) else ()


def premises(theorem: Theorem) -> tuple[str, ...]:
    """List what a theorem assumes, beside that every variable is a natural number."""
    needed = hypotheses(theorem)
    return theorem.conditions() if needed is None else needed


def left_out(theorem: Theorem) -> tuple[str, ...]:
    """List what holds of every legal deployment and the theorem does not need."""
    assumed = premises(theorem)
    return tuple(text for text in theorem.conditions() if text not in assumed)


def counterexample_lines(witness: Witness) -> tuple[str, ...]:
    """Put a case into lines: the values, what follows from them, and how to get there."""
    values = ", ".join(f"{name} = {value}" for name, value in witness.values)
    return (f"{values} (sum {witness.sum})", *witness.facts, *witness.steps)
