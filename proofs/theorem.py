"""A theorem as data: what it says, under what premises, what must be reachable, and what must be refuted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, cast

from ..spec.arithmetic import Term, Truth
from ..spec.attention import Attention
from ..spec.deployment import Constraint, Deployment, cache_is_legal, legal


class Point:
    """Hold a number, known or symbolic, for each variable of a theorem: `at.window`."""

    __slots__ = ("_terms",)

    def __init__(self, terms: Mapping[str, Term]) -> None:
        self._terms = dict(terms)

    def __getattr__(self, name: str) -> Term:
        try:
            return self._terms[name]
        except KeyError:
            raise AttributeError(f"the theorem declares no variable {name}") from None

    def get(self, name: str, fixed: Term) -> Term:
        """Return the number of a variable, or a fixed one where the theorem does not vary it."""
        return self._terms.get(name, fixed)

    def but(self, **terms: Term) -> Point:
        """Return the point with some of its numbers replaced or added."""
        return Point({**self._terms, **terms})


Formula: TypeAlias = Callable[[Point], Term]
"""A number that follows from a point."""

Predicate: TypeAlias = Callable[[Point], Truth]
"""A truth value that follows from a point."""


class Expectation(StrEnum):
    """What a theorem is recorded to be."""

    HOLDS = "holds"
    """True for all values."""
    REFUTED = "refuted"
    """False: a variant that looks right, kept with its smallest counterexample."""


@dataclass(frozen=True, slots=True)
class Variable:
    """Declare a natural number (0 or more) that a theorem quantifies over.

    Args:
        name: How formulas and counterexamples call it.
        unit: What is counted.
        meaning: A phrase for the reader.
    """

    name: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Assumption:
    """State one condition at one point, in words and as a truth value."""

    text: str
    holds: Truth


Premise: TypeAlias = Callable[[Point], Iterable[Assumption]]
"""One or more conditions that a theorem assumes of its point."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Name a number that a statement compares, so that a counterexample can show it.

    Args:
        name: How it is called.
        of: The number.
        unit: What is counted.
    """

    name: str
    of: Formula
    unit: str = "blocks"


@dataclass(frozen=True, slots=True)
class Statement:
    """Say something of a point.

    Args:
        text: What is said, for the reader.
        holds: Whether it is so.
        shown: The numbers that a counterexample shows.
    """

    text: str
    holds: Predicate
    shown: tuple[Quantity, ...] = ()


@dataclass(frozen=True, slots=True)
class Theorem:
    """Claim something of all natural numbers that meet the premises.

    Args:
        name: Its sentence, short, in snake case.
        sentence: What it says in full.
        family: The file of the catalogue that it belongs to.
        variables: What it quantifies over; the order breaks ties between counterexamples.
        premises: The conditions under which it is stated, those of a legal deployment where there is one; which of them
            the proof may use as hypotheses is stored (`needed`).
        claim: What holds, or, for a false variant, does not.
        covers: Cases that the premises must leave reachable, so that the claim is not empty.
        mutants: Claims that are wrong and must be refuted, so that the claim is not weak (none for a false variant).
        expected: Whether it is recorded as true or as false.
        least_sum: For a false variant, the sum of the values of its smallest counterexample.
    """

    name: str
    sentence: str
    family: str
    variables: tuple[Variable, ...]
    premises: tuple[Premise, ...]
    claim: Statement
    covers: tuple[Statement, ...]
    mutants: tuple[Statement, ...] = ()
    expected: Expectation = Expectation.HOLDS
    least_sum: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """List the variables by name."""
        return tuple(variable.name for variable in self.variables)

    def symbols(self) -> Point:
        """Make the point at which every variable is symbolic."""
        import z3

        return Point({name: z3.Int(name) for name in self.names})

    def conditions(self) -> tuple[str, ...]:
        """List the conditions under which it is stated, each once."""
        return tuple(dict.fromkeys(assumption.text for assumption in self.assumptions(self.symbols())))

    def assumptions(self, at: Point) -> Iterator[Assumption]:
        """List what is assumed of a point, leaving out what the theorem fixes to a legal number."""
        for premise in self.premises:
            yield from (assumption for assumption in premise(at) if assumption.holds is not True)

    def fails(self, values: Mapping[str, int], claim: Statement | None = None) -> bool:
        """Replay a case on plain integers: the premises hold and the claim (or another one) does not."""
        at = Point(values)
        return self.admits(values) and not (claim or self.claim).holds(at)

    def admits(self, values: Mapping[str, int]) -> bool:
        """Tell whether plain integers meet every premise; a later one may rely on an earlier one to be defined."""
        return all(assumption.holds for assumption in self.assumptions(Point(values)))


def given(text: str, holds: Predicate) -> Premise:
    """Assume one condition."""
    return lambda at: (Assumption(text, holds(at)),)


def legal_deployment(setting: Callable[[Point], Deployment]) -> Premise:
    """Assume the conditions of a legal deployment, the very ones that validate an operator's input."""
    return lambda at: map(_assumed, legal(setting(at)))


def legal_cache(cache: Callable[[Point], Attention]) -> Premise:
    """Assume the conditions on the sizes of one cache kind."""
    return lambda at: map(_assumed, cache_is_legal(cache(at)))


def _assumed(constraint: Constraint) -> Assumption:
    return Assumption(f"{constraint.field}: {constraint.reason}", constraint.holds)


def at_most(left: Quantity, right: Quantity) -> Statement:
    """State that one quantity never exceeds another."""
    return Statement(f"{left.name} <= {right.name}", lambda at: left.of(at) <= right.of(at), (left, right))


def equal(left: Quantity, right: Quantity) -> Statement:
    """State that two quantities are the same."""
    return Statement(f"{left.name} = {right.name}", lambda at: left.of(at) == right.of(at), (left, right))


def exceeds(left: Quantity, right: Quantity) -> Statement:
    """State that one quantity is above another."""
    return Statement(f"{left.name} > {right.name}", lambda at: left.of(at) > right.of(at), (left, right))


def implies(condition: Truth, conclusion: Truth) -> Truth:
    """Hold unless the condition does and the conclusion does not."""
    if isinstance(condition, bool):
        return conclusion if condition else True
    import z3

    return cast("Truth", z3.Implies(condition, conclusion))


def negation(condition: Truth) -> Truth:
    """Hold where the condition does not."""
    if isinstance(condition, bool):
        return not condition
    import z3

    return cast("Truth", z3.Not(condition))


def variant(text: str, claim: Statement) -> Statement:
    """Describe a claim by what was changed in it."""
    return Statement(text, claim.holds, claim.shown)


@dataclass(frozen=True, slots=True)
class Family:
    """Group theorems about one matter.

    Args:
        name: How it is called on the command line.
        title: What its theorems are about.
        theorems: In the order of reading.
    """

    name: str
    title: str
    theorems: tuple[Theorem, ...]
