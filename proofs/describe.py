"""What there is to read about a theorem, as plain strings."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import getdoc, getsource
from textwrap import dedent

from ..oracle.verdict import Refuted, Witness
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


def definitions(theorem: Theorem) -> tuple[str, ...]:
    """Show what the claim compares: each number's functions, in the words and in the code of `spec`."""
    at = theorem.symbols()
    lines: list[str] = []
    shown: set[Callable[..., object]] = set()
    for quantity in theorem.claim.shown:
        functions = [function for function in quantity.defined_by(at) if function not in shown]
        shown.update(functions)
        lines += [f"{quantity.name} ({quantity.unit})"] if functions else []
        lines += [line for function in functions for line in _definition(function)]
    return tuple(lines)


def _definition(function: Callable[..., object]) -> Iterator[str]:
    """Give a function as one line of words, and its body."""
    (node,) = ast.parse(dedent(getsource(function))).body
    if isinstance(node, ast.FunctionDef):
        words = (getdoc(function) or "").partition("\n")[0]
        parameters = ", ".join(each.arg for each in node.args.args if each.arg != "self")
        yield f"  {function.__qualname__}({parameters}): {words}"
        body = node.body[1:] if ast.get_docstring(node) else node.body
        yield from (f"      {line}" for part in body for line in ast.unparse(part).splitlines())


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
