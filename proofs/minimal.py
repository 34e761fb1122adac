"""The smallest case: least sum of all values, then least values in declared order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import z3

from .budget import Budget
from .solving import Answer, Kept, Question, Reply, ask

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


def least(question: Question, budget: Budget, guess: int | None = None, kept: Kept | None = None) -> Least:
    """Find the smallest case; neither the models that the solver happens to return nor a guess of its sum matter."""
    search = _Search(question, budget, kept)
    reply, excluded = search.first(_FIRST_SUM if guess is None else guess)
    if reply.answer is not Answer.SATISFIABLE:
        return Least(reply, search.cost, proven=False)
    values = search.in_order(search.smaller(reply.values, excluded))
    return Least(Reply(Answer.SATISFIABLE, reply.cost, values), search.cost, search.complete)


def _before(values: Mapping[str, int]) -> z3.BoolRef:
    """State that a case comes before another in declared order: it is lower in the first place where they differ."""
    earlier: z3.BoolRef = z3.BoolVal(False)
    for name, value in reversed(list(values.items())):
        number = z3.Int(name)
        earlier = z3.Or(number < value, z3.And(number == value, earlier))
    return earlier


class _Search:
    """Ask one question with ever narrower bounds, adding up the cost."""

    def __init__(self, question: Question, budget: Budget, kept: Kept | None) -> None:
        self.kept = kept
        self.question = question
        self.budget = budget
        self.cost = 0
        self.complete = True
        self.sum = z3.Sum(*map(z3.Int, question.variables))

    def first(self, bound: int) -> tuple[Reply, int]:
        """Find any case, small sums first, and the greatest sum that is known to have none."""
        excluded = -1
        while bound <= _LAST_SUM:
            reply = self._ask(self.sum <= bound)
            if reply.answer is not Answer.UNSATISFIABLE:
                break
            excluded, bound = bound, bound * 2
        return (reply if reply.answer is Answer.SATISFIABLE else self._ask()), excluded

    def smaller(self, values: Mapping[str, int], excluded: int) -> Mapping[str, int]:
        """Try one less, then halve the distance between the sum reached and the greatest one excluded."""
        bound = sum(values.values()) - 1
        while bound > excluded:
            found = self._improved(self.sum <= bound)
            values, excluded = (values, bound) if found is None else (found, excluded)
            bound = (excluded + sum(values.values())) // 2
        return values

    def in_order(self, values: Mapping[str, int]) -> Mapping[str, int]:
        """Keep the sum and look for a case that comes before in declared order, until there is none."""
        same_sum = self.sum == sum(values.values())
        while found := self._improved(same_sum, _before(values)):
            values = found
        return values

    def _improved(self, *bounds: z3.BoolRef) -> Mapping[str, int] | None:
        reply = self._ask(*bounds)
        self.complete = self.complete and reply.answer is not Answer.UNKNOWN
        return reply.values if reply.answer is Answer.SATISFIABLE else None

    def _ask(self, *bounds: z3.BoolRef) -> Reply:
        reply = ask(self.question.also(*bounds), self.budget, self.kept)
        self.cost += reply.cost
        return reply
