"""Hypothesis state machines: the oracle and an implementation do the same things and must show the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import ClassVar

from hypothesis import Phase, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from hypothesis.strategies import DataObject

from ..spec.deployment import Deployment
from ..spec.design import Design
from ..spec.errors import UnsupportedError
from .comparison import MOST_REQUESTS, Pair, PairError
from .engine import Engine
from .reference import boot
from .strategies import deployments, submissions
from .trace import Abort, Scenario, Step, Submit

Make = Callable[[Deployment, bool], Engine]
"""Boot the implementation on `deployment.blocks`, by priority or not, whatever its startup check says."""


class EngineMachine(RuleBasedStateMachine):
    """Drive an implementation and the oracle; see `machine_for`."""

    make: ClassVar[Make]
    design: ClassVar[Design]
    wild: ClassVar[bool]
    batches: ClassVar[int]
    failure: ClassVar[PairError | None] = None
    runs: ClassVar[int] = 0
    refused: ClassVar[Counter[str]]
    coverage: ClassVar[Counter[str]]

    def __init__(self) -> None:
        super().__init__()
        self.pair: Pair | None = None
        self.submitted = 0

    @initialize(data=st.data(), priority=st.booleans())
    def start(self, data: DataObject, priority: bool) -> None:
        """Boot both engines; what the implementation refuses is counted, not judged."""
        cls = type(self)
        deployment = data.draw(deployments(cls.design, wild=cls.wild, batches=cls.batches))
        try:
            implementation = cls.make(deployment, priority)
        except UnsupportedError as refusal:
            cls.refused[str(refusal)] += 1
            return
        oracle = boot(deployment, cls.design, priority=priority, forced=True)
        self.pair = Pair(oracle, implementation, cls.design, priority=priority)
        cls.runs += 1

    @precondition(lambda self: self.pair is not None and not self.pair.ended and self.submitted < MOST_REQUESTS)
    @rule(data=st.data())
    def submit(self, data: DataObject) -> None:
        """Queue a request."""
        pair = self._pair()
        name = f"r{self.submitted}"
        self.submitted += 1
        self._do(Submit(data.draw(submissions(pair.oracle.deployment, name, priority=pair.priority))))

    @precondition(lambda self: self.pair is not None and not self.pair.ended)
    @rule(data=st.data())
    def step(self, data: DataObject) -> None:
        """Run one step, any number of each request's drafts accepted."""
        pair = self._pair()
        lookahead = int(pair.oracle.deployment.lookahead)
        names = pair.unfinished if lookahead else ()
        accepted = tuple((name, data.draw(st.integers(0, lookahead))) for name in names)
        self._do(Step(accepted))

    @precondition(lambda self: self.pair is not None and not self.pair.ended and bool(self.pair.unfinished))
    @rule(data=st.data())
    def abort(self, data: DataObject) -> None:
        """Drop a request."""
        self._do(Abort(data.draw(st.sampled_from(self._pair().unfinished))))

    @precondition(lambda self: self.pair is None or self.pair.ended)
    @rule()
    def rest(self) -> None:
        """Do nothing where no engine was booted or both have raised."""

    def teardown(self) -> None:
        """Count what this run has shown."""
        if self.pair is not None:
            type(self).coverage.update(self.pair.shown)

    def _pair(self) -> Pair:
        if self.pair is None:
            raise RuntimeError("no engine was booted")
        return self.pair

    def _do(self, action: Submit | Step | Abort) -> None:
        try:
            self._pair().do(action)
        except PairError as error:
            type(self).failure = error
            raise


def machine_for(make: Make, design: Design, *, wild: bool = False, batches: int = 1) -> type[EngineMachine]:
    """Make a state machine that compares an implementation with the oracle of a design."""
    members = {"make": staticmethod(make), "design": design, "wild": wild, "batches": batches}
    return type("Machine", (EngineMachine,), {**members, "refused": Counter(), "coverage": Counter()})


def run_machine(machine: type[EngineMachine], examples: int, steps: int = 40, seed: int = 0) -> Scenario | None:
    """Run a state machine on so many examples and return the first run on which the engines part, if any.

    Equal seeds give equal runs; nothing is kept between two calls. `shrinking.shrink` makes a run small: it knows what
    a scenario is, and takes a hundredth of the time that a shrinker of choices takes.
    """
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        print_blob=False,
    )
    try:
        run_state_machine_as_test(seeded(seed)(machine), settings=chosen)
    except PairError as error:
        return error.scenario
    return None
