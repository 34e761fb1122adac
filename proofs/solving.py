"""One question to the solver, within a budget, with an answer that is never guessed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import z3

from . import encoding, rewriting
from .budget import Budget
from .encoding import ENCODINGS, Encoding, native


class Answer(Enum):
    """What the solver said."""

    SATISFIABLE = "sat"
    UNSATISFIABLE = "unsat"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Question:
    """Ask whether some natural numbers meet all conditions.

    Args:
        variables: The names of the numbers.
        tracked: Conditions by a text that a core may name.
        conditions: Conditions that a core does not name.
    """

    variables: tuple[str, ...]
    tracked: tuple[tuple[str, z3.BoolRef], ...] = ()
    conditions: tuple[z3.BoolRef, ...] = ()

    def also(self, *conditions: z3.BoolRef) -> Question:
        """Return the question with more conditions."""
        return Question(self.variables, self.tracked, self.conditions + conditions)


@dataclass(frozen=True, slots=True)
class Reply:
    """Record an answer.

    Args:
        answer: Satisfiable, unsatisfiable or unknown.
        cost: What it took, in the solver's resource counts, over all encodings tried.
        values: The numbers found, if satisfiable.
        core: The tracked conditions that exclude each other with the rest, if unsatisfiable.
        reason: Why it is unknown.
    """

    answer: Answer
    cost: int
    values: Mapping[str, int] = field(default_factory=dict)
    core: tuple[str, ...] = ()
    reason: str = ""


class Kept(Protocol):
    """Replies of earlier runs."""

    def reply(self, text: str, compute: Callable[[], Reply]) -> Reply:
        """Return the reply to a question that is written so, computing it where it is not kept."""
        ...


def ask(question: Question, budget: Budget, kept: Kept | None = None) -> Reply:
    """Ask in each encoding in turn, with ever more resources, until one answers; or recall what was answered before."""
    if kept is None:
        return _asked(question, budget)
    return kept.reply(written(question, budget), lambda: _asked(question, budget))


def written(question: Question, budget: Budget) -> str:
    """Write all that an answer follows from: the solver's version, how it is asked, the budget and the question."""
    head = f"z3 {z3.get_full_version()}; {_manner()}; {budget}; {', '.join(question.variables)}"
    return "\n".join((head, *(text for text, _ in question.tracked), _script(native, question)))


@cache
def _manner() -> str:
    """Sum up the code that encodes questions and puts them to the solver."""
    code = (Path(file).read_bytes() for file in (__file__, inspect.getfile(encoding), inspect.getfile(rewriting)))
    return sha256(b"".join(code)).hexdigest()


def _asked(question: Question, budget: Budget) -> Reply:
    """Ask in a context of the question's own: its answer, and what it costs, depend on nothing asked before."""
    context = z3.Context()
    reply = Reply(Answer.UNKNOWN, 0)
    for limit in budget.rounds():
        for encode in ENCODINGS:
            reply = _ask_in(encode, question, limit, context, reply.cost)
            if reply.answer is not Answer.UNKNOWN:
                return reply
    return reply


def _ask_in(encode: Encoding, question: Question, budget: Budget, context: z3.Context, spent: int) -> Reply:
    """Ask once; what was spent before is added to the cost."""
    solver = z3.Solver(ctx=context)
    solver.set("timeout", budget.timeout_ms)
    solver.set("rlimit", budget.rlimit)
    solver.set("random_seed", budget.seed)
    labels = _load(solver, encode, question, context)
    before = _count(solver)
    found = solver.check()
    cost = spent + _count(solver) - before
    if found == z3.sat:
        return Reply(Answer.SATISFIABLE, cost, values=_values(solver.model(), question.variables, context))
    if found == z3.unsat:
        return Reply(Answer.UNSATISFIABLE, cost, core=_core(solver, labels))
    return Reply(Answer.UNKNOWN, cost, reason=solver.reason_unknown())


def _count(solver: z3.Solver) -> int:
    """Read the resource count of the solver's context, which only grows."""
    return int(solver.statistics().get_key_value("rlimit count"))


def _load(solver: z3.Solver, encode: Encoding, question: Question, context: z3.Context) -> dict[str, str]:
    """Fill the solver and return the text behind each label."""
    labels = {f"premise!{number}": text for number, (text, _) in enumerate(question.tracked)}
    # From text, the solver's terms come about in one order, whatever terms this process has made before.
    read = list(z3.parse_smt2_string(_script(encode, question), ctx=context))
    for label, holds in zip(labels, read, strict=False):
        solver.assert_and_track(holds, z3.Bool(label, context))
    solver.add(*read[len(labels) :])
    return labels


def _script(encode: Encoding, question: Question) -> str:
    """Write the conditions in one encoding, those that a core names first."""
    writer = z3.Solver()
    writer.add(*encode(_conditions(question)))
    text: str = writer.sexpr()
    return text


def _conditions(question: Question) -> list[z3.BoolRef]:
    return [*(holds for _, holds in question.tracked), *naturals(question.variables), *question.conditions]


def naturals(variables: Sequence[str]) -> list[z3.BoolRef]:
    """State that every variable is 0 or more."""
    return [z3.Int(name) >= 0 for name in variables]


def _values(model: z3.ModelRef, variables: Sequence[str], context: z3.Context) -> dict[str, int]:
    return {name: model.eval(z3.Int(name, context), model_completion=True).as_long() for name in variables}


def _core(solver: z3.Solver, labels: Mapping[str, str]) -> tuple[str, ...]:
    needed = {str(label) for label in solver.unsat_core()}
    return tuple(text for label, text in labels.items() if label in needed)
