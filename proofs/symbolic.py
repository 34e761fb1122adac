"""Decide a property of code that is not ours, by executing that code on symbolic integers.

A proof needs three things, and says what is missing otherwise: at least one path came through, no path was lost to an
error or to something that cannot be interpreted, and the case that matters is within reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import z3

from ..oracle.verdict import Inconclusive, Proved, Refuted, Unsupported, Vacuous, Verdict, Witness
from ..spec.errors import UnsupportedError
from .decisions import Replay, Replayer
from .judgement import Judgement, Scope
from .minimal import least
from .paths import Interrupted, Ledger, Limits, Path, Run, explore
from .proxy import SymbolicBool, as_term
from .solving import Answer, Question, ask
from .theorem import Assumption, Point, Variable


class NotConcerned(Exception):  # noqa: N818 - it is no error: the property says nothing about this path
    """Leave a path on which the property claims nothing (the engine refused to start, for example)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Say, at the end of a path, what must hold there.

    Args:
        holds: The claim.
        reached: The case that matters; it must be possible on some path.
        shown: The numbers that the claim compares, for a counterexample.
    """

    holds: Any
    reached: Any = True
    shown: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Property:
    """Claim something of an implementation in one setting.

    Args:
        name: Its sentence, short, in snake case.
        sentence: What it says in full.
        variables: The symbolic fields; the order breaks ties between counterexamples.
        premises: What is assumed of them.
        program: Runs the implementation at a point, symbolic or not, and states the claim.
        groups: The cache groups of the setting, as in the scope.
        concrete: The fields of the setting that have one value.
        batches_in_flight: As in the scope.
        replay: Runs a counterexample on the real objects.
        values: Up to which magnitude the code's loops and quotients are followed, one path per value; None: not at all.
    """

    name: str
    sentence: str
    variables: tuple[Variable, ...]
    premises: Callable[[Point], Iterable[Assumption]]
    program: Callable[[Point], Claim]
    groups: tuple[str, ...] = ()
    concrete: tuple[tuple[str, int], ...] = ()
    batches_in_flight: str = "1"
    replay: Replayer | None = None
    values: int | None = None

    @property
    def scope(self) -> Scope:
        """Say what a verdict covers."""
        return Scope(tuple(v.name for v in self.variables), self.concrete, self.groups, self.batches_in_flight)


def examine(subject: Property, limits: Limits | None = None) -> Judgement:
    """Execute the implementation on every path and decide the property."""
    bounds = limits or Limits()
    return _Examination(
        subject, bounds if subject.values is None else replace(bounds, values=subject.values)
    ).judgement()


@dataclass(frozen=True, slots=True)
class Together:
    """Put properties together that speak of one and the same run, so that its paths are explored once.

    Args:
        subjects: The properties; variables, premises and limits are those of the first.
        program: Runs the implementation at a point and states their claims, in their order.
    """

    subjects: tuple[Property, ...]
    program: Callable[[Point], tuple[Claim, ...]]


def examine_together(shared: Together, limits: Limits | None = None) -> list[Judgement]:
    """Execute the implementation on every path and decide each property; each is told the cost of them all."""
    bounds = limits or Limits()
    bounds = replace(bounds, values=shared.subjects[0].values)
    whole = _Examination(replace(shared.subjects[0], program=cast("Any", shared.program)), bounds)
    paths = whole.explored()
    return [
        _Examination(subject, bounds).judged([_part(path, number) for path in paths], whole.ledger)
        for number, subject in enumerate(shared.subjects)
    ]


def _part(path: Path, number: int) -> Path:
    """Keep one of the claims at the end of a path."""
    return path if path.error is not None else replace(path, value=cast("tuple[Claim, ...]", path.value)[number])


class _Examination:
    """One property, its paths, and the questions about them."""

    def __init__(self, subject: Property, limits: Limits) -> None:
        self._subject = subject
        self._limits = limits
        self.ledger = Ledger()
        names = [variable.name for variable in subject.variables]
        self._question = Question(tuple(names), tuple(_assumed(subject, Point({name: z3.Int(name) for name in names}))))

    def judgement(self) -> Judgement:
        """Explore, decide, and add up."""
        return self.judged(self.explored(), Ledger())

    def explored(self) -> list[Path]:
        """Execute the program on every path."""
        return explore(self._execute, self._question, self._limits, self.ledger)

    def judged(self, paths: Sequence[Path], explored: Ledger) -> Judgement:
        """Decide on paths that were explored, here or elsewhere, and add up what that took."""
        self.ledger.cost += explored.cost
        self.ledger.core |= explored.core
        self.ledger.notes |= explored.notes
        accepting = [path for path in paths if path.error is None]
        verdict = self._lost(paths) or self._vacuous(accepting) or self._decided(accepting)
        return Judgement(
            self._subject.name,
            self._subject.sentence,
            verdict,
            self._subject.scope,
            len(paths),
            len(accepting),
            self.ledger.cost,
            tuple(sorted(self.ledger.notes)),
        )

    def _execute(self, run: Run) -> Claim:
        return self._subject.program(Point({name: run.integer(name) for name in self._question.variables}))

    # -- what stands in the way of a proof -----------------------------------------------------------------------

    def _lost(self, paths: Sequence[Path]) -> Verdict | None:
        """Find a path that ended otherwise than by a claim or by not being concerned."""
        lost = [path for path in paths if path.error is not None and not isinstance(path.error, NotConcerned)]
        for path in lost:
            if isinstance(path.error, UnsupportedError):
                return Unsupported(path.error.what)
        return self._explained(lost[0], len(lost), len(paths)) if lost else None

    def _explained(self, path: Path, lost: int, explored: int) -> Verdict:
        kind = "not interpreted" if isinstance(path.error, Interrupted) else "the code failed"
        reply = ask(self._question.also(*path.condition), self._limits.budget)
        where = ", ".join(f"{name} = {value}" for name, value in reply.values.items())
        example = f", for example with {where}" if where else ""
        return Inconclusive(f"{kind} on {lost} of {explored} paths: {path.where}{example}")

    def _vacuous(self, accepting: Sequence[Path]) -> Verdict | None:
        if not accepting:
            return Vacuous("no path through the code on which the property claims anything")
        unknown = False
        for path in accepting:
            answer = self._ask(path, _term(_claim(path).reached))
            if answer is Answer.SATISFIABLE:
                return None
            unknown = unknown or answer is Answer.UNKNOWN
        if unknown:
            return Inconclusive("whether the case that matters can be reached stayed unknown")
        return Vacuous("the case that matters is out of reach on every path")

    # -- the claim -----------------------------------------------------------------------------------------------

    def _decided(self, accepting: Sequence[Path]) -> Verdict:
        answers = [(path, self._ask(path, z3.simplify(z3.Not(_term(_claim(path).holds))))) for path in accepting]
        failing = [path for path, answer in answers if answer is Answer.SATISFIABLE]
        if failing:
            return self._refuted(failing)
        unknown = sum(answer is Answer.UNKNOWN for _, answer in answers)
        if unknown:
            return Inconclusive(f"the solver did not decide the claim on {unknown} of {len(answers)} paths")
        needed = tuple(text for text, _ in self._question.tracked if text in self.ledger.core)
        return Proved(needed, self.ledger.cost)

    def _ask(self, path: Path, condition: z3.BoolRef) -> Answer:
        if z3.is_false(condition):
            return Answer.UNSATISFIABLE
        reply = ask(self._question.also(*path.condition, condition), self._limits.budget)
        self.ledger.cost += reply.cost
        self.ledger.core |= set(reply.core)
        return reply.answer

    def _refuted(self, failing: Sequence[Path]) -> Verdict:
        """Find the smallest counterexample over all failing paths, and run it on the code itself."""
        fails = z3.Or(*(z3.And(*path.condition, z3.Not(_term(_claim(path).holds))) for path in failing))
        found = least(self._question.also(fails), self._limits.budget)
        self.ledger.cost += found.cost
        if found.reply.answer is not Answer.SATISFIABLE or not found.proven:
            return Inconclusive("the claim fails, but no smallest counterexample was established")
        return self._replayed(dict(found.reply.values))

    def _replayed(self, values: dict[str, int]) -> Verdict:
        """Run a counterexample on the code, then on the real objects; what they do not bear out is no refutation."""
        numbers = ", ".join(f"{name} = {value}" for name, value in values.items())
        try:
            claim = self._subject.program(Point(values))
            seen = self._subject.replay(values) if self._subject.replay else Replay(confirmed=True)
        except Exception as error:  # noqa: BLE001 - whatever foreign code raises is the answer
            return Inconclusive(f"the counterexample {numbers} ended in {type(error).__name__}: {error}")
        if claim.holds:
            return Inconclusive(f"the counterexample {numbers} is not borne out: on these numbers the claim holds")
        if not seen.confirmed:
            return Inconclusive(f"the counterexample {numbers} is not borne out by a run: {'; '.join(seen.lines)}")
        facts = tuple(f"{name} = {value}" for name, value in claim.shown.items())
        return Refuted(Witness(tuple(values.items()), facts, seen.lines))


def _assumed(subject: Property, at: Point) -> Iterator[tuple[str, z3.BoolRef]]:
    """List the premises as terms, leaving out what the setting fixes to a legal number."""
    for assumption in subject.premises(at):
        if assumption.holds is not True:
            yield assumption.text, z3.BoolVal(False) if isinstance(assumption.holds, bool) else assumption.holds


def _claim(path: Path) -> Claim:
    if not isinstance(path.value, Claim):
        raise TypeError(f"a property's program states a Claim, not {type(path.value).__name__}")
    return path.value


def _term(truth: Any) -> z3.BoolRef:
    """Turn a truth value, known or symbolic, into a term; a number is none."""
    if type(truth) is SymbolicBool:
        return truth.term
    if type(truth) is bool:
        return z3.BoolVal(truth)
    raise TypeError(f"a claim is a truth value, not {as_term(truth) if isinstance(truth, int) else truth!r}")
