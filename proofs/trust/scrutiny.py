"""One theorem under every doubt: five seeds, a second solver, every small case, and its hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial

from ...oracle.verdict import Holds, Inconclusive, Refuted, Unsupported, Verdict, Witness
from ...spec.errors import UnsupportedError
from .. import needed
from ..budget import Budget
from ..solving import Answer, Question, Reply, ask
from ..theorem import Expectation, Theorem
from . import boxes, hypotheses
from .obligations import Obligation, obligations
from .second import ask_second

SEEDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Scrutiny:
    """Record what became of each doubt about a theorem.

    Args:
        theorem: Its name.
        seeds: Whether the first solver answers as expected from every seed.
        second: Whether the second solver does.
        box: Whether every small case does.
        hypotheses: Whether each hypothesis that the proof uses is needed.
    """

    theorem: str
    seeds: Verdict
    second: Verdict
    box: Verdict
    hypotheses: Verdict

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """List the four."""
        return self.seeds, self.second, self.box, self.hypotheses

    @property
    def decided_by(self) -> tuple[str, ...]:
        """Name the solvers that decided the theorem."""
        solvers = {"z3": self.seeds, "cvc5": self.second}
        return tuple(name for name, verdict in solvers.items() if isinstance(verdict, Holds))


def scrutinise(theorem: Theorem, budget: Budget | None = None) -> Scrutiny:
    """Check one theorem in every way."""
    used = needed.hypotheses(theorem)
    return Scrutiny(
        theorem.name,
        _by_seeds(theorem, used, budget or Budget()),
        _by_second(theorem, used),
        boxes.judge(theorem),
        _of_hypotheses(theorem),
    )


def _of_hypotheses(theorem: Theorem) -> Verdict:
    if theorem.expected is Expectation.REFUTED:
        return Holds("a false variant proves nothing from its hypotheses")
    return hypotheses.judge(theorem)


def _by_seeds(theorem: Theorem, used: Collection[str] | None, budget: Budget) -> Verdict:
    for seed in SEEDS:
        solve = partial(ask, budget=replace(budget, seed=seed))
        fault = _fault(theorem, used, solve, f"z3 from seed {seed}")
        if fault is not None:
            return fault
    return Holds(f"{len(SEEDS)} seeds agree")


def _by_second(theorem: Theorem, used: Collection[str] | None) -> Verdict:
    try:
        return _fault(theorem, used, ask_second, "cvc5") or Holds("cvc5 agrees")
    except UnsupportedError as error:
        return Unsupported(error.what)


def _fault(
    theorem: Theorem, used: Collection[str] | None, solve: Callable[[Question], Reply], who: str
) -> Verdict | None:
    """Find the first obligation that a solver does not answer as expected."""
    return next(_faults(theorem, used, solve, who), None)


def _faults(
    theorem: Theorem, used: Collection[str] | None, solve: Callable[[Question], Reply], who: str
) -> Iterator[Verdict]:
    for obligation in obligations(theorem, used):
        reply = solve(obligation.question)
        if reply.answer is Answer.UNKNOWN:
            yield Inconclusive(f"{who} does not decide it ({obligation.text}): {reply.reason}")
        elif reply.answer is not obligation.expected:
            yield _disagreement(obligation, reply, who)
        elif reply.answer is Answer.SATISFIABLE and not theorem.fails(reply.values):
            yield _disagreement(obligation, reply, f"plain integers, on a case of {who},")


def _disagreement(obligation: Obligation, reply: Reply, who: str) -> Refuted:
    told = f"{who} disagrees: {obligation.text} was expected, the answer is {reply.answer.value}"
    return Refuted(Witness(tuple(reply.values.items()), (told,)))
