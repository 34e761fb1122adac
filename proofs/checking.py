"""Check one theorem: its claim, that it is not empty, and that it is not weak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import z3

from ..oracle.verdict import Holds, Inconclusive, Proved, Refuted, Vacuous, Verdict, Witness
from ..spec.arithmetic import Term
from ..spec.errors import UsageError
from .answers import Answers
from .budget import Budget
from .minimal import least
from .needed import hypotheses
from .outcome import Finding, Outcome, vacuous
from .questions import against, as_condition
from .solving import Answer, Question, Reply, ask
from .theorem import Expectation, Point, Statement, Theorem

_CORE_RLIMIT = 300_000

_SMALL = 6
"""Cases are sought among values up to this first: they are found faster and read better."""


class UnfaithfulError(Exception):
    """Say that the solver's case is none on plain integers: the fault is in this program (exit code 5)."""


def check(theorem: Theorem, budget: Budget | None = None, answers: Answers | None = None) -> Outcome:
    """Check a theorem with its covers and mutants, recalling answers of earlier runs where they are kept.

    Raises:
        UsageError: The theorem has no cover or no mutant, so that nothing shows that it says something.
        UnfaithfulError: The solver's case does not replay on plain integers.
    """
    _refuse_untested(theorem)
    return _Check(theorem, budget or Budget(), answers).outcome()


def decide(theorem: Theorem, budget: Budget | None = None) -> Verdict:
    """Prove a claim or find its smallest counterexample, whatever is recorded of it; a cover out of reach is vacuous.

    Raises:
        UnfaithfulError: The solver's case does not replay on plain integers.
    """
    checking = _Check(theorem, budget or Budget())
    covers = [checking.cover(cover) for cover in theorem.covers]
    return next((verdict for verdict in covers if not isinstance(verdict, Holds)), None) or checking.claim()


def formula(theorem: Theorem) -> str:
    """Write what a theorem comes to for the solver: two that say the same are decided once."""
    checking = _Check(theorem, Budget())
    terms = [*checking.plain.conditions, as_condition(theorem.claim.holds(checking.at))]
    return "\n".join(term.sexpr() for term in terms)


def _refuse_untested(theorem: Theorem) -> None:
    if not theorem.covers:
        raise UsageError("covers", theorem.name, "nothing shows that the theorem is about anything", "add a cover")
    if not theorem.mutants and theorem.expected is Expectation.HOLDS:
        raise UsageError("mutants", theorem.name, "nothing shows that the theorem can fail", "add a mutant")


class _Check:
    """Check one theorem, adding up the cost."""

    def __init__(self, theorem: Theorem, budget: Budget, answers: Answers | None = None) -> None:
        self.theorem = theorem
        self.budget = budget
        self.cost = 0
        self.answers = answers
        names = theorem.names
        self.at = theorem.symbols()
        premises = tuple((each.text, as_condition(each.holds)) for each in theorem.assumptions(self.at))
        self.tracking = Question(names, tracked=premises)
        self.plain = Question(names, conditions=tuple(holds for _, holds in premises))
        self.small = self.plain.also(*(z3.Int(name) <= _SMALL for name in names))

    def outcome(self) -> Outcome:
        """Run every check."""
        covers = tuple(Finding(cover.text, self.cover(cover)) for cover in self.theorem.covers)
        claim = self.empty() if any(isinstance(cover.verdict, Vacuous) for cover in covers) else None
        claim = claim or self.claim()
        mutants = tuple(Finding(mutant.text, self.mutant(mutant)) for mutant in self.theorem.mutants)
        asked, recalled = (0, 0) if self.answers is None else (self.answers.asked, self.answers.recalled)
        return Outcome(self.theorem.name, self.theorem.expected, claim, covers, mutants, self.cost, asked, recalled)

    def cover(self, cover: Statement) -> Verdict:
        """Look for a case that reaches a cover."""
        reply = self.ask_small_first(as_condition(cover.holds(self.at)))
        if reply.answer is Answer.UNSATISFIABLE:
            return vacuous(cover.text)
        if reply.answer is Answer.UNKNOWN:
            return _open(f"cover {cover.text}", reply)
        self.insist(self.theorem.admits(reply.values) and cover.holds(Point(reply.values)) is True, reply.values)
        return Holds(_assignment(reply.values))

    def empty(self) -> Verdict | None:
        """Name the premises that exclude each other, if they do."""
        reply = self.ask(self.tracking)
        return Vacuous("; ".join(reply.core)) if reply.answer is Answer.UNSATISFIABLE else None

    def claim(self) -> Verdict:
        """Prove the claim, or find the smallest case against it; try first what is expected."""
        if self.theorem.expected is Expectation.REFUTED:
            return self.refutation() or self.proof()
        proof = self.proof()
        return proof if isinstance(proof, Proved) else self.refutation() or proof

    def proof(self) -> Verdict:
        """Prove the claim from the hypotheses that it is known to need; where that was not examined, from all."""
        needed = hypotheses(self.theorem)
        if needed is None:
            return self.tracked_proof()
        return _proved(needed, self.ask(against(self.theorem, needed)))

    def tracked_proof(self) -> Verdict:
        """Prove the claim, first in a way that tells which premises suffice; all are named where that is hard."""
        cheaply = replace(self.budget, rlimit=min(self.budget.rlimit, _CORE_RLIMIT))
        reply = self.ask(self.failing(self.tracking, self.theorem.claim), cheaply)
        core = reply.core
        if reply.answer is Answer.UNKNOWN:
            reply = self.ask(self.failing(self.plain, self.theorem.claim))
            core = tuple(text for text, _ in self.tracking.tracked)
        return _proved(core, reply)

    def refutation(self) -> Verdict | None:
        """Find the smallest case against the claim."""
        question = self.failing(self.plain, self.theorem.claim)
        found = least(question, self.budget, self.theorem.least_sum, self.answers)
        self.cost += found.cost
        if found.reply.answer is not Answer.SATISFIABLE:
            return None
        self.insist(self.theorem.fails(found.reply.values), found.reply.values)
        return Refuted(witness(self.theorem.claim, found.reply.values, found.proven))

    def mutant(self, mutant: Statement) -> Verdict:
        """Look for a case against a mutant."""
        reply = self.ask_small_first(z3.Not(as_condition(mutant.holds(self.at))))
        if reply.answer is Answer.UNSATISFIABLE:
            return Proved((), reply.cost)
        if reply.answer is Answer.UNKNOWN:
            return _open(f"mutant {mutant.text}", reply)
        self.insist(self.theorem.fails(reply.values, mutant), reply.values)
        return Refuted(witness(mutant, reply.values))

    def failing(self, question: Question, claim: Statement) -> Question:
        """Ask for a case in which a claim fails."""
        return question.also(z3.Not(as_condition(claim.holds(self.at))))

    def ask_small_first(self, condition: z3.BoolRef) -> Reply:
        """Ask among small values, then among all."""
        reply = self.ask(self.small.also(condition))
        return reply if reply.answer is Answer.SATISFIABLE else self.ask(self.plain.also(condition))

    def ask(self, question: Question, budget: Budget | None = None) -> Reply:
        """Ask, and count the cost."""
        reply = ask(question, budget or self.budget, self.answers)
        self.cost += reply.cost
        return reply

    def insist(self, replays: bool, values: Mapping[str, int]) -> None:
        """Refuse a case that plain integers do not confirm."""
        if not replays:
            raise UnfaithfulError(f"{self.theorem.name}: {_assignment(values)} does not replay on plain integers")


def witness(claim: Statement, values: Mapping[str, int], smallest: bool = True) -> Witness:
    """Show a case with the quantities that the claim compares."""
    at = Point(values)
    facts = [f"{shown.name} = {counted(shown.of(at), shown.unit)}" for shown in claim.shown]
    return Witness(tuple(values.items()), (*facts, *([] if smallest else ["not shown to be the smallest case"])))


def counted(value: Term, unit: str) -> str:
    """Write a number with its unit, in the singular for one."""
    return f"{value} {unit.removesuffix('s') if value == 1 else unit}"


def _proved(core: tuple[str, ...], reply: Reply) -> Verdict:
    if reply.answer is Answer.SATISFIABLE:
        return Inconclusive(f"the hypotheses on record do not suffice: {_assignment(reply.values)}")
    return Proved(core, reply.cost) if reply.answer is Answer.UNSATISFIABLE else _open("claim", reply)


def _open(what: str, reply: Reply) -> Inconclusive:
    limit = "--timeout" if reply.reason in {"timeout", "canceled"} else "--rlimit"
    return Inconclusive(f"{what}: the solver gave up ({reply.reason}); raise its limit with {limit}")


def _assignment(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())
