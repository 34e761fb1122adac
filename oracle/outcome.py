"""A scenario run to its end on any engine: what each step did, and what became of the requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .engine import Engine, Snapshot, Status, StepRecord
from .lone import Fate, may_repeat, progress_key
from .trace import Abort, Action, Scenario, Step, Submit, perform


@dataclass(frozen=True, slots=True)
class Outcome:
    """Tell what came of a scenario.

    Args:
        fate: `DONE`: every request finished or was aborted. `NEVER_ADMITTED`: the state repeats with nothing running,
            and a request that never had a step. `STRANDED`: it repeats otherwise. `FAILED`: the engine raised, or its
            process died. None: the actions ended, and nobody asked to go on.
        steps: What each step did.
        unfinished: The requests that are left, with their status.
        error: What the engine raised, or how its process died.
        snapshots: The state after each action, where they were asked for.
    """

    fate: Fate | None
    steps: tuple[StepRecord, ...] = ()
    unfinished: Mapping[str, Status] = field(default_factory=dict)
    error: str | None = None
    snapshots: tuple[Snapshot, ...] = ()

    @property
    def peaks(self) -> dict[str, tuple[int, ...]]:
        """Count for each request the real blocks per group at its largest total, right after scheduling."""
        peaks: dict[str, tuple[int, ...]] = {}
        for step in self.steps:
            for name, held in step.held.items():
                peaks[name] = max(peaks.get(name, ()), held, key=sum)
        return peaks


def run_out(
    scenario: Scenario,
    engine: Engine,
    *,
    drain: bool = True,
    accept: int = 0,
    snapshots: bool = False,
    key: Callable[[], object] | None = None,
) -> Outcome:
    """Run a scenario on a freshly booted engine, and go on until every request has finished or the state repeats.

    Args:
        scenario: What is done to it.
        engine: The engine.
        drain: Go on after the last action.
        accept: Of the drafts that settle while going on, accept at most so many per request.
        snapshots: Keep the state after every action.
        key: What decides the engine's future, where that is more than it shows.
    """
    course = _Course(engine, snapshots, key or (lambda: progress_key(engine.snapshot())))
    for action in scenario.actions:
        course.do(action)
        if course.error is not None:
            return course.outcome(Fate.FAILED)
    return course.outcome(course.drained(accept) if drain else None)


class _Course:
    """What an engine has done so far."""

    def __init__(self, engine: Engine, snapshots: bool, key: Callable[[], object]) -> None:
        self._engine, self._keeps_snapshots, self._key = engine, snapshots, key
        self._steps: list[StepRecord] = []
        self._snapshots: list[Snapshot] = []
        self._left: dict[str, None] = {}

    @property
    def error(self) -> str | None:
        """Return what the last step raised."""
        return self._steps[-1].error if self._steps else None

    def do(self, action: Action) -> None:
        """Do one thing."""
        record = perform(self._engine, action)
        if record is not None:
            self._steps.append(record)
        self._count(action, record)
        if self._keeps_snapshots and self.error is None:
            self._snapshots.append(self._engine.snapshot())

    def _count(self, action: Action, record: StepRecord | None) -> None:
        """Keep the names of the unfinished requests, without asking a large engine for its whole state."""
        match action:
            case Submit(submission):
                self._left[submission.name] = None
            case Abort(name):
                self._left.pop(name, None)
        for name in () if record is None else record.finished:
            self._left.pop(name, None)

    def drained(self, accept: int) -> Fate:
        """Step until nothing is left or the state repeats; the number of steps decides nothing."""
        seen: set[object] = set()
        while self._left:
            self.do(Step(tuple((name, accept) for name in self._left) if accept else ()))
            if self.error is not None:
                return Fate.FAILED
            if may_repeat(self._steps[-1]):
                if (state := self._key()) in seen:
                    return self._fate_of_a_repetition()
                seen.add(state)
        return Fate.DONE

    def _fate_of_a_repetition(self) -> Fate:
        snapshot = self._engine.snapshot()
        if not snapshot.requests:
            return Fate.DONE
        started = {name for step in self._steps for name in step.scheduled}
        fresh = any(name not in started for name in snapshot.waiting)
        return Fate.NEVER_ADMITTED if fresh and not snapshot.running else Fate.STRANDED

    def outcome(self, fate: Fate | None) -> Outcome:
        """Tell what came of it."""
        error = self.error
        left = {} if error is not None else self._engine.snapshot().requests
        unfinished = {name: view.status for name, view in left.items()}
        return Outcome(fate, tuple(self._steps), unfinished, error, tuple(self._snapshots))
