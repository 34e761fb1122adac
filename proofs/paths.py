"""Every way through a piece of code, found by executing it again for each.

A branch on a symbolic value asks the solver which sides are possible under what was decided so far; where both are,
the other side is executed later from the start. Nothing is skipped: what the solver cannot rule out is executed.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import z3

from .budget import Budget
from .proxy import SymbolicInt, caller, place
from .solving import Question, naturals


class Interrupted(BaseException):
    """Leave code under execution; not an `Exception`, so that the code cannot take it for one of its own."""


class ConcretisationNeeded(Interrupted):
    """Say that the code needs a number where there is only a name (a loop bound, an index, a fraction)."""


class Unrepeatable(Interrupted):
    """Say that the code took another way when it was executed again."""


class Endless(Interrupted):
    """Say that one path, or all of them together, exceed their limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound an exploration.

    Args:
        paths: The most paths that are executed.
        decisions: The most branches on one path.
        budget: The most that one question to the solver may take.
        values: Up to which magnitude a number that the code needs the value of, or a quotient by a symbol, is
            followed: one path per value. None follows no value.
    """

    paths: int = 2000
    decisions: int = 500
    budget: Budget = field(default_factory=Budget)
    values: int | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """Tell one way through the code.

    Args:
        condition: What the symbols meet on it.
        value: What the code returned, if it returned.
        error: What it raised, or why it was left.
    """

    condition: tuple[z3.BoolRef, ...]
    value: object = None
    error: BaseException | None = None

    @property
    def where(self) -> str:
        """Name the error and the line that raised it; what was left says its place itself."""
        frames = traceback.extract_tb(self.error.__traceback__) if self.error is not None else []
        if isinstance(self.error, Interrupted) or not frames:
            return str(self.error or "")
        last = frames[-1]
        return f"{type(self.error).__name__}: {self.error} at {place(last.filename, last.lineno or 0, last.name)}"


@dataclass(slots=True)
class Ledger:
    """Add up what the questions of one examination cost, which assumptions they needed, and what was noted."""

    cost: int = 0
    core: set[str] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)


class Pruning:
    """Tell which sides of a branch are possible, in a solver context of its own.

    What was asked elsewhere before then changes neither an answer nor its cost.
    """

    def __init__(self, question: Question, limits: Limits, ledger: Ledger) -> None:
        self._ledger = ledger
        self._context = z3.Context()
        self._solver = z3.Solver(ctx=self._context)
        self._solver.set("rlimit", limits.budget.rlimit)
        self._solver.set("timeout", limits.budget.timeout_ms)
        self._texts = {f"assume!{index}": text for index, (text, _) in enumerate(question.tracked)}
        self._names = [z3.Bool(name, self._context) for name in self._texts]
        self._example: z3.ModelRef | None = None
        self._brought: dict[int, tuple[z3.BoolRef, z3.BoolRef]] = {}
        self.keep(*naturals(question.variables))
        for name, (_, holds) in zip(self._names, question.tracked, strict=True):
            self._solver.add(z3.Implies(name, holds.translate(self._context)))
        self._solver.push()

    def restart(self) -> None:
        """Forget the conditions of the path before."""
        self._solver.pop()
        self._solver.push()
        self._example = None

    def keep(self, *conditions: z3.BoolRef) -> None:
        """Hold conditions true for the rest of the path."""
        held = [self._translated(condition) for condition in conditions]
        self._solver.add(*held)
        if not all(map(self._exemplified, held)):
            self._example = None

    def excludes(self, condition: z3.BoolRef) -> bool:
        """Tell whether a condition is known to be impossible on this path."""
        asked = self._translated(condition)
        if self._exemplified(asked):
            return False
        answer = self._solver.check(*self._names, asked)
        if answer == z3.sat:
            self._example = self._solver.model()
        if answer != z3.unsat:
            return False
        # The condition itself may be in the core: by its operator it is told from a name, and never printed.
        needed = {literal.decl().name() for literal in self._solver.unsat_core()}
        self._ledger.core |= {self._texts[name] for name in needed & self._texts.keys()}
        return True

    def _translated(self, condition: z3.BoolRef) -> z3.BoolRef:
        """Bring a condition into the context of its own; paths share most of theirs."""
        key = condition.get_id()
        if key not in self._brought:
            self._brought[key] = (condition, condition.translate(self._context))
        return self._brought[key][1]

    def _exemplified(self, condition: z3.BoolRef) -> bool:
        """Tell whether the numbers found last, which meet everything on this path, meet a condition too."""
        return self._example is not None and z3.is_true(self._example.eval(condition, model_completion=True))

    def spent(self) -> int:
        """Return what all questions have cost, in the solver's resource counts."""
        statistics = self._solver.statistics()
        return int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118


class Run:
    """One execution: it follows the branches of `prefix`, then takes any side that is possible."""

    def __init__(
        self, pruning: Pruning, prefix: Sequence[tuple[z3.BoolRef, bool]], limits: Limits, ledger: Ledger
    ) -> None:
        self._pruning = pruning
        self._prefix = prefix
        self._limits = limits
        self._ledger = ledger
        self._known: dict[int, tuple[z3.BoolRef, bool]] = {}
        self._quotients: dict[tuple[int, int], tuple[z3.ArithRef, z3.ArithRef, z3.ArithRef]] = {}
        self._unknowns = 0
        self.taken: list[tuple[z3.BoolRef, bool]] = []
        self.open: list[int] = []
        self.interrupted: Interrupted | None = None

    def unfinished(self) -> Interrupted | None:
        """Tell that the code did not come to a branch that an earlier execution took: it remembers that one."""
        if len(self.taken) >= len(self._prefix):
            return None
        return Unrepeatable("the code went another way when it was executed again; it may keep a result (a cache)")

    def integer(self, name: str) -> SymbolicInt:
        """Name an unknown integer."""
        return SymbolicInt(self, z3.Int(name))

    def unknown(self, what: str) -> SymbolicInt:
        """Name a number that may be any; each time another one."""
        self._unknowns += 1
        return self.integer(f"{what}!{self._unknowns}")

    def decide(self, condition: z3.BoolRef) -> bool:
        """Take one side of a branch, the same one for the same condition throughout."""
        if condition.get_id() not in self._known:
            # The term is kept beside its number, which the solver would give to another one otherwise.
            self._known[condition.get_id()] = (condition, self._side(z3.simplify(condition)))
        return self._known[condition.get_id()][1]

    def _side(self, simple: z3.BoolRef) -> bool:
        if z3.is_true(simple) or z3.is_false(simple):
            return bool(z3.is_true(simple))
        if simple.get_id() not in self._known:
            self._known[simple.get_id()] = (simple, self._branch(simple))
        return self._known[simple.get_id()][1]

    def refuse(self, use: str) -> NoReturn:
        """Leave: the code needs a value."""
        self._leave(ConcretisationNeeded(f"{use} is needed at {caller()}"))

    def value(self, term: z3.ArithRef, use: str) -> int:
        """Tell the value of a number on this path, which forks for each that is possible."""
        simple = z3.simplify(term)
        if z3.is_int_value(simple):
            return int(simple.as_long())
        if self._limits.values is None:
            self.refuse(use)
        return self._found(lambda value: term <= value, lambda value: term >= value, use)

    def quotient(self, dividend: z3.ArithRef, divisor: z3.ArithRef) -> z3.ArithRef:
        """Divide by a number above zero; where values are followed, a symbolic divisor leaves one on each path.

        Each value is then told from the others by comparisons with a multiple, which are linear: no product and no
        quotient of symbols is left for the solver.
        """
        if self._limits.values is None or z3.is_int_value(divisor):
            return dividend / divisor
        key = dividend.get_id(), divisor.get_id()
        if key not in self._quotients:
            below = lambda value: dividend < (value + 1) * divisor  # noqa: E731 - named for the line below
            above = lambda value: dividend >= value * divisor  # noqa: E731
            found = z3.IntVal(self._found(below, above, "a quotient"))
            self._quotients[key] = (dividend, divisor, found)
        return self._quotients[key][2]

    def _found(self, at_most: Callable[[int], z3.BoolRef], at_least: Callable[[int], z3.BoolRef], use: str) -> int:
        """Try values outwards from zero, to either side up to the limit."""
        values = self._limits.values or 0
        if self.decide(at_least(0)):
            found = next((value for value in range(values + 1) if self.decide(at_most(value))), None)
        else:
            found = next((-value for value in range(1, values + 1) if self.decide(at_least(-value))), None)
        if found is None:
            self.refuse(f"{use} beyond {values}")
        return found

    def note(self, assumption: str) -> None:
        """Record something that was taken for granted."""
        self._ledger.notes.add(assumption)

    def condition(self) -> tuple[z3.BoolRef, ...]:
        """State what was decided."""
        return tuple(term if side else z3.Not(term) for term, side in self.taken)

    def _branch(self, condition: z3.BoolRef) -> bool:
        index = len(self.taken)
        if index >= self._limits.decisions:
            self._leave(Endless(f"more than {self._limits.decisions} branches on one path, the last at {caller()}"))
        side = self._repeat(index, condition) if index < len(self._prefix) else self._choose(condition)
        self.taken.append((condition, side))
        self._pruning.keep(condition if side else z3.Not(condition))
        return side

    def _repeat(self, index: int, condition: z3.BoolRef) -> bool:
        expected, side = self._prefix[index]
        if not expected.eq(condition):
            self._leave(Unrepeatable(f"executed again, the code branches otherwise at {caller()}"))
        return side

    def _choose(self, condition: z3.BoolRef) -> bool:
        """Prefer the true side; remember the branch where the other one is possible, or not known to be impossible."""
        if self._pruning.excludes(condition):
            return False
        if not self._pruning.excludes(z3.Not(condition)):
            self.open.append(len(self.taken))
        return True

    def _leave(self, reason: Interrupted) -> NoReturn:
        self.interrupted = reason
        raise reason


def explore(program: Callable[[Run], object], question: Question, limits: Limits, ledger: Ledger) -> list[Path]:
    """Execute a program on every way through it, at most `limits.paths` times, under what the question tracks.

    Whatever the program raises is kept with the path it was raised on. A last path, ended by `Endless`, says that
    there are more.
    """
    pruning = Pruning(question, limits, ledger)
    paths: list[Path] = []
    waiting: list[list[tuple[z3.BoolRef, bool]]] = [[]]
    while waiting and len(paths) < limits.paths:
        pruning.restart()
        run = Run(pruning, waiting.pop(), limits, ledger)
        paths.append(_execute(program, run))
        waiting += [[*run.taken[:index], (run.taken[index][0], False)] for index in run.open]
    ledger.cost += pruning.spent()
    return [*paths, Path((), error=Endless(f"more than {limits.paths} paths"))] if waiting else paths


def _execute(program: Callable[[Run], object], run: Run) -> Path:
    try:
        value = program(run)
    except (Exception, Interrupted) as error:  # noqa: BLE001 - kept with the path, judged by the caller
        return Path(run.condition(), error=run.interrupted or error)
    # A bare `except` in the code may have swallowed the interruption: the path is lost all the same.
    return Path(run.condition(), value=value, error=run.interrupted or run.unfinished())
