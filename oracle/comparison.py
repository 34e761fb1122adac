"""Two engines side by side: the same actions, the same answers, and every promised invariant after each."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from ..spec.deployment import Deployment
from ..spec.design import Design
from ..spec.errors import UnsupportedError
from ..spec.states import MambaNone
from .drawing import random_deployment
from .engine import NULL_BLOCK, Engine, Snapshot, StepRecord, Submission
from .invariants import STATE_CHECKS, Check, Setting, Turn, blocks_add_up, first_fault, promised
from .reference import Oracle, boot
from .trace import Abort, Action, Moment, Scenario, Step, Submit, moment_difference, perform
from .wording import difference_words

LARGE_POOL, WALKED_EVERY = 100, 64
"""The blocks above which a pool is walked through at every so many steps only, and counted at the others."""


class PairError(AssertionError):
    """Say where two engines part, or which invariant the implementation breaks.

    Args:
        scenario: The run that ends there.
        field: What differs, as `record.scheduled`, or the name of an invariant.
        detail: Both values, or the fault in words.
        words: It in one sentence, in which the implementation is "it".
    """

    def __init__(self, scenario: Scenario, field: str, detail: str, words: str) -> None:
        self.scenario, self.field, self.detail, self.words = scenario, field, detail, words
        super().__init__(f"after {len(scenario.actions)} actions, {field}: {detail}")


class Pair:
    """Do the same things to the oracle and to an implementation.

    Attributes:
        shown: What happened in the run, each kind once.
        ended: An engine has raised (both have); nothing more is done to them.
    """

    def __init__(self, oracle: Oracle, implementation: Engine, design: Design, *, priority: bool) -> None:
        self.oracle = oracle
        self.implementation = implementation
        self.priority = priority
        self.setting = Setting(oracle.deployment, design)
        self.recurrent = any(isinstance(cache, MambaNone) for cache in self.setting.caches)
        self.checks: dict[str, Check] = promised(design, oracle.deployment)
        self.shown: set[str] = set()
        self.ended = False
        self._checked = 0
        self._actions: list[Action] = []
        self._state: Snapshot = implementation.snapshot()

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Name the unfinished requests."""
        return tuple(self._state.requests)

    @property
    def scenario(self) -> Scenario:
        """Return everything that was done."""
        return Scenario(self.oracle.deployment, tuple(self._actions), self.priority)

    def do(self, action: Action) -> None:
        """Do one thing to both.

        Raises:
            PairError: They answer differently, or the implementation breaks an invariant.
        """
        self._actions.append(action)
        ours = self._moment(self.oracle, action)
        theirs = self._moment(self.implementation, action)
        if (found := moment_difference(ours, theirs)) is not None:
            detail = f"the oracle has {found[1]}, the implementation {found[2]}"
            raise PairError(self.scenario, found[0], detail, difference_words(*found))
        if theirs.record is not None:
            self._check(theirs.record, theirs.after)
        self.shown |= _kinds(action, theirs.record, self._state, theirs.after)
        if self.recurrent and theirs.record is not None and theirs.record.scheduled:
            self.shown.add("recurrent states")
        self._state = theirs.after

    @staticmethod
    def _moment(engine: Engine, action: Action) -> Moment:
        return Moment(action, perform(engine, action), engine.snapshot())

    def _check(self, record: StepRecord, after: Snapshot) -> None:
        self.ended = record.error is not None
        if self.ended:
            return
        self._checked += 1
        found = first_fault(Turn(self.setting, self._state, record, after), self._due())
        if found is not None:
            raise PairError(self.scenario, *found, words=found[1])

    def _due(self) -> dict[str, Check]:
        """Choose the checks of this step: a large pool is counted at each, and walked through now and then only."""
        if len(self._state.references) <= LARGE_POOL or self._checked % WALKED_EVERY == 1:
            return self.checks
        kept = {name: check for name, check in self.checks.items() if name not in STATE_CHECKS}
        return {blocks_add_up.__name__: blocks_add_up, **kept}


def _kinds(action: Action, record: StepRecord | None, before: Snapshot, after: Snapshot) -> set[str]:
    """Name what a step has shown."""
    if record is None:
        return {"abort"} if isinstance(action, Abort) else set()
    rejected = any(
        name in before.requests and view.computed < before.requests[name].computed + record.scheduled.get(name, 0)
        for name, view in after.requests.items()
        if name not in record.preempted
    )
    recycled = any(NULL_BLOCK in table for tables in record.tables.values() for table in tables)
    happened = {
        "preemption": bool(record.preempted),
        "resume": bool(record.resumed),
        "gate refusal": any(allocation.waiting and allocation.refused for allocation in record.allocations),
        "finish": bool(record.finished),
        "recycling": recycled,
        "draft rejection": rejected,
        "failure": record.error is not None,
    }
    return {kind for kind, did in happened.items() if did}


MOST_REQUESTS = 6

DRAWS_PER_RUN = 20
"""The deployments that are drawn at most for one that the implementation accepts."""


@dataclass(slots=True)
class Comparison:
    """Tell what a comparison over many random runs has shown.

    Attributes:
        scenarios: The runs that the implementation accepted.
        refused: What it refused, in its own words, and how often.
        coverage: In how many runs each thing happened.
        failures: Where the engines part.
    """

    scenarios: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    coverage: Counter[str] = field(default_factory=Counter)
    failures: list[PairError] = field(default_factory=list)


def compare(
    make: Callable[[Deployment, bool], Engine],
    design: Design,
    *,
    scenarios: int,
    seed: int,
    wild: bool = True,
    batches: int = 1,
) -> Comparison:
    """Compare an implementation with the oracle of a design over so many random runs that it accepts.

    An implementation that refuses nearly everything ends this too: there are at most twenty draws per run.

    Args:
        make: Boot the implementation on `deployment.blocks`, by priority or not, whatever its startup check says.
        design: The design that the implementation is held to.
        scenarios: The runs that must be accepted.
        seed: Equal seeds give equal runs.
        wild: Let the pool be down to half of what boot demands; otherwise it is at most one block smaller.
        batches: The batches in flight.
    """
    result = Comparison()
    source = random.Random(seed)  # noqa: S311 - runs are drawn, not secrets
    for _ in range(DRAWS_PER_RUN * scenarios):
        if result.scenarios == scenarios:
            break
        draw = random.Random(source.getrandbits(64))  # noqa: S311
        pressing = draw.random() < PRESSING
        deployment = random_deployment(draw, design, wild=wild, batches=batches, pressing=pressing)
        priority = draw.random() < (0.7 if pressing else 0.4)
        try:
            implementation = make(deployment, priority)
        except UnsupportedError as refusal:
            result.refused[str(refusal)] += 1
            continue
        result.scenarios += 1
        pair = Pair(boot(deployment, design, priority=priority, forced=True), implementation, design, priority=priority)
        try:
            _run(pair, draw, pressing=pressing)
        except PairError as failure:
            result.failures.append(failure)
        result.coverage.update(pair.shown)
    return result


PRESSING = 0.15
"""How many of the runs have all requests soon after each other: each short, so that it decodes beside the others, and
more urgent than those before it, so that it may cost them their blocks."""


def _run(pair: Pair, draw: random.Random, *, pressing: bool, longest: int = 60) -> None:
    """Do random things to a pair: one to six requests, steps, now and then an abort."""
    wanted, submitted = MOST_REQUESTS if pressing else draw.randint(1, MOST_REQUESTS), 0
    for _ in range(longest):
        if pair.ended or (submitted == wanted and not pair.unfinished):
            return
        chance = draw.random()
        if submitted < wanted and (chance < (0.6 if pressing else 0.35) or not pair.unfinished):
            pair.do(Submit(_pressing(pair, draw, submitted) if pressing else _submission(pair, draw, submitted)))
            submitted += 1
        elif chance > 0.96:
            pair.do(Abort(draw.choice(pair.unfinished)))
        else:
            pair.do(Step(_acceptance(pair, draw)))


def _submission(pair: Pair, draw: random.Random, number: int) -> Submission:
    length = int(pair.oracle.deployment.max_model_len)
    any_length = draw.randint(1, length - 1)
    prompt = draw.choice((any_length, any_length, length - 1, length - 1, draw.randint(1, min(3, length - 1))))
    priority = draw.randint(0, 2) if pair.priority else 0
    return Submission(f"r{number}", prompt, draw.randint(1, length - prompt), priority)


def _pressing(pair: Pair, draw: random.Random, number: int) -> Submission:
    """Draw a short prompt with a long answer, mostly more urgent than what was submitted before it."""
    length = int(pair.oracle.deployment.max_model_len)
    prompt = draw.randint(1, min(3, length - 1))
    priority = max(0, draw.choice((2, 2, 1)) - number // 2) if pair.priority else 0
    return Submission(f"r{number}", prompt, draw.randint((length - prompt + 1) // 2, length - prompt), priority)


def _acceptance(pair: Pair, draw: random.Random) -> tuple[tuple[str, int], ...]:
    lookahead = int(pair.oracle.deployment.lookahead)
    if not lookahead:
        return ()
    return tuple((name, draw.choice((0, lookahead, draw.randint(0, lookahead)))) for name in pair.unfinished)
