"""A whole scenario for an engine, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..oracle.engine import Snapshot, Status, StepRecord, Submission
from .engine import ForkEngine

End: TypeAlias = Literal["done", "never_admitted", "stuck", "livelock", "stopped", "error"]


@dataclass(frozen=True, slots=True)
class Step:
    """Run one step; accept so many drafts per request of the batch that settles in it."""

    accepted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Abort:
    """Drop an unfinished request."""

    name: str


Action: TypeAlias = Submission | Step | Abort


@dataclass(frozen=True, slots=True)
class Scenario:
    """List what happens to an engine.

    Args:
        actions: What happens, in order.
        drain: Go on stepping afterwards until every request has finished or the state repeats.
        accept: Of the drafts that settle while draining, accept at most so many per request.
        priority: Schedule by priority instead of by arrival.
        gate: Keep the engine's full-sequence gate on, as it is by default.
        snapshots: Keep a snapshot after every action.
    """

    actions: tuple[Action, ...]
    drain: bool = True
    accept: int = 0
    priority: bool = False
    gate: bool = True
    snapshots: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """Tell what came of a scenario.

    Args:
        end: `done`: every request finished or was aborted. `never_admitted`: the state repeats with nothing in flight,
            nothing running, and a request that never had a step. `stuck`: it repeats with nothing in flight, after
            progress. `livelock`: it repeats while tokens are computed. `stopped`: the actions ended, and no draining
            was asked for. `error`: the engine raised or its process died.
        steps: What each step did.
        peaks: For each request the real blocks per group at its largest total, right after scheduling.
        unfinished: The requests that are left, with their status.
        error: What the engine raised, or how its process died.
        snapshots: The state after each action, where they were asked for.
        printed: What the engine wrote to its standard output and error.
    """

    end: End
    steps: tuple[StepRecord, ...] = ()
    peaks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    unfinished: Mapping[str, Status] = field(default_factory=dict)
    error: str | None = None
    snapshots: tuple[Snapshot, ...] = ()
    printed: str = ""


class Run:
    """Carry out one scenario on one engine."""

    def __init__(self, engine: ForkEngine, scenario: Scenario) -> None:
        self._engine = engine
        self._scenario = scenario
        self._steps: list[StepRecord] = []
        self._snapshots: list[Snapshot] = []
        self._seen: set[object] = set()

    def outcome(self) -> Outcome:
        """Carry out the actions, drain if asked for, and tell what came of it."""
        for action in self._scenario.actions:
            self._act(action)
            if self._failed():
                return self._tell("error")
        return self._tell(self._drain() if self._scenario.drain else "stopped")

    def _act(self, action: Action) -> None:
        match action:
            case Submission():
                self._engine.submit(action)
            case Abort(name):
                self._engine.abort(name)
            case Step(accepted):
                self._steps.append(self._engine.step(accepted))
        if self._scenario.snapshots and not self._failed():
            self._snapshots.append(self._engine.snapshot())

    def _failed(self) -> bool:
        return bool(self._steps) and self._steps[-1].error is not None

    def _drain(self) -> End:
        """Step until nothing is left or the state repeats; the number of steps decides nothing.

        Only a step that schedules nothing or preempts can repeat a state: any other computes tokens not computed
        before.
        """
        while self._engine.unfinished():
            self._act(Step(self._engine.settling(self._scenario.accept)))
            if self._failed():
                return "error"
            last = self._steps[-1]
            if (not last.scheduled or last.preempted) and self._repeats():
                return self._kind_of_repetition(last)
        return "done"

    def _repeats(self) -> bool:
        state = self._engine.fingerprint()
        repeated = state in self._seen
        self._seen.add(state)
        return repeated

    def _kind_of_repetition(self, last: StepRecord) -> End:
        snapshot = self._engine.snapshot()
        if last.scheduled or snapshot.batches_in_flight:
            return "livelock"
        fresh = any(self._engine.is_fresh(name) for name in snapshot.waiting)
        return "never_admitted" if fresh and not snapshot.running else "stuck"

    def _tell(self, end: End) -> Outcome:
        return Outcome(
            end=end,
            steps=tuple(self._steps),
            peaks=dict(self._engine.peaks),
            unfinished=self._engine.unfinished(),
            error=self._steps[-1].error if self._failed() else None,
            snapshots=tuple(self._snapshots),
        )
