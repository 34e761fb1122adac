"""The smallest case: least sum of all values, then least values in declared order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import z3

from .budget import Budget
from .solving import Answer, Question, Reply, ask

_FIRST_SUM = 8
_LAST_SUM = 4096


@dataclass(frozen=True, slots=True)
class Least:
    """Record a search for the smallest case.

    Args:
        reply: The answer to whether there is a case at all, with its values, as small as was reached.
        cost: What the whole search took, in resource counts.
        proven: No smaller case exists; False where a question on the way stayed unknown.
    """

    reply: Reply
    cost: int
    proven: bool


def least(question: Question, budget: Budget) -> Least:
    """Find the smallest case; the result does not depend on which models the solver happens to return."""
    search = _Search(question, budget)
    reply, excluded = search.first()
    if reply.answer is not Answer.SATISFIABLE:
        return Least(reply, search.cost, proven=False)
    values = search.in_order(search.smaller(reply.values, excluded))
    return Least(Reply(Answer.SATISFIABLE, reply.cost, values), search.cost, search.complete)


class _Search:
    """Ask one question with ever narrower bounds, adding up the cost."""

    def __init__(self, question: Question, budget: Budget) -> None:
        self.question = question
        self.budget = budget
        self.cost = 0
        self.complete = True
        self.sum = z3.Sum(*map(z3.Int, question.variables))

    def first(self) -> tuple[Reply, int]:
        """Find any case, small sums first, and the greatest sum that is known to have none."""
        excluded, bound = -1, _FIRST_SUM
        while bound <= _LAST_SUM:
            reply = self._ask(self.sum <= bound)
            if reply.answer is not Answer.UNSATISFIABLE:
                break
            excluded, bound = bound, bound * 2
        return (reply if reply.answer is Answer.SATISFIABLE else self._ask()), excluded

    def smaller(self, values: Mapping[str, int], excluded: int) -> Mapping[str, int]:
        """Halve the distance between the sum reached and the greatest one excluded until they meet."""
        while sum(values.values()) > excluded + 1:
            middle = (excluded + sum(values.values())) // 2
            found = self._improved(self.sum <= middle)
            if found is None:
                excluded = middle
            else:
                values = found
        return values

    def in_order(self, values: Mapping[str, int]) -> Mapping[str, int]:
        """Keep the sum; lower each value as far as it goes, then fix it."""
        fixed = [self.sum == sum(values.values())]
        for name in self.question.variables:
            while values[name] > 0 and (found := self._improved(*fixed, z3.Int(name) < values[name])):
                values = found
            fixed.append(z3.Int(name) == values[name])
        return values

    def _improved(self, *bounds: z3.BoolRef) -> Mapping[str, int] | None:
        reply = self._ask(*bounds)
        self.complete = self.complete and reply.answer is not Answer.UNKNOWN
        return reply.values if reply.answer is Answer.SATISFIABLE else None

    def _ask(self, *bounds: z3.BoolRef) -> Reply:
        reply = ask(self.question.also(*bounds), self.budget)
        self.cost += reply.cost
        return reply
