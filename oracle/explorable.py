"""Engines whose states can be copied and compared, and how any other engine becomes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, Protocol, Self, TypeVar

from ..spec.deployment import Deployment
from .engine import Engine, Snapshot, StepRecord, Submission
from .trace import Abort, Action, Step, Submit, perform


class Explorable(Engine, Protocol):
    """An engine that can be copied and compared."""

    def copy(self) -> Self:
        """Copy the engine with everything in it."""
        ...

    def key(self) -> object:
        """Return what decides the future; engines with equal keys go on alike."""
        ...


Made = TypeVar("Made", bound=Engine)


def reexecuted(make: Callable[[], Made], key: Callable[[Made], object]) -> Explorable:
    """Make any engine explorable: a copy is a new engine to which everything is done again."""
    return _Reexecuted(make, key, ())


class _Reexecuted(Generic[Made]):
    """An engine and everything that was done to it."""

    def __init__(self, make: Callable[[], Made], key: Callable[[Made], object], done: tuple[Action, ...]) -> None:
        self._make, self._key, self._done = make, key, done
        self._engine = make()
        for action in done:
            perform(self._engine, action)

    @property
    def deployment(self) -> Deployment:
        return self._engine.deployment

    def copy(self) -> _Reexecuted[Made]:
        return _Reexecuted(self._make, self._key, self._done)

    def key(self) -> object:
        return self._key(self._engine)

    def submit(self, submission: Submission) -> None:
        self._engine.submit(submission)
        self._done += (Submit(submission),)

    def step(self, accepted: Mapping[str, int] | None = None) -> StepRecord:
        record = self._engine.step(accepted)
        self._done += (Step(tuple((accepted or {}).items())),)
        return record

    def abort(self, name: str) -> None:
        self._engine.abort(name)
        self._done += (Abort(name),)

    def snapshot(self) -> Snapshot:
        return self._engine.snapshot()
