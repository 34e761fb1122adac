"""Runs as data: a scenario that can be saved and replayed on any engine, and the first difference between two runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeAlias

from ..spec.attention import Attention
from ..spec.deployment import Deployment, Group
from ..spec.errors import UsageError
from .cache import KINDS
from .engine import Allocation, Engine, Snapshot, StepRecord, Submission

FORMAT = 1
"""The version of a saved scenario; one that is not known is refused."""

_KINDS: dict[str, type[Attention]] = {kind.kind: kind for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Submit:
    """Queue a request."""

    submission: Submission


@dataclass(frozen=True, slots=True)
class Step:
    """Run one step; of the drafts that settle in it, accept so many per request."""

    accepted: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Abort:
    """Drop an unfinished request."""

    name: str


Action: TypeAlias = Submit | Step | Abort
"""What the world does to an engine."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Hold everything that a run depends on, the engine aside.

    Args:
        deployment: What the engine is booted with; its numbers are known.
        actions: What is done to it, in order.
        priority: It serves by priority.
    """

    deployment: Deployment
    actions: tuple[Action, ...]
    priority: bool = False

    def to_json(self) -> str:
        """Write the scenario; equal scenarios give equal bytes."""
        document = {
            "format": FORMAT,
            "deployment": _deployment_out(self.deployment),
            "priority": self.priority,
            "actions": [_action_out(action) for action in self.actions],
        }
        return json.dumps(document, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Scenario:
        """Read a saved scenario.

        Raises:
            UsageError: The text is no scenario, or of a format that is not known.
        """
        try:
            document = json.loads(text)
            found = document["format"]
            if found != FORMAT:
                raise UsageError("format", found, f"this version reads format {FORMAT}", "save the case again")
            actions = tuple(_action_in(entry) for entry in document["actions"])
            return cls(_deployment_in(document["deployment"]), actions, bool(document["priority"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError("case", text[:60], f"this is no saved scenario ({error!r})") from error


@dataclass(frozen=True, slots=True)
class Moment:
    """Show one action and what it led to.

    Args:
        action: What was done.
        record: What the step did; None for an action that is no step.
        after: The state after it.
    """

    action: Action
    record: StepRecord | None
    after: Snapshot


@dataclass(frozen=True, slots=True)
class Difference:
    """Name the first place where two runs part.

    Args:
        index: The action, counted from 0.
        action: What was done.
        field: What differs, as `record.scheduled` or `after.free`.
        left: Its value in the first run.
        right: Its value in the second run.
    """

    index: int
    action: Action
    field: str
    left: object
    right: object

    def __str__(self) -> str:
        return (
            f"action {self.index} ({self.action}): {self.field} is {self.left} on one side, {self.right} on the other"
        )


def perform(engine: Engine, action: Action) -> StepRecord | None:
    """Do one action to an engine and return the record of a step."""
    match action:
        case Submit(submission):
            engine.submit(submission)
        case Abort(name):
            engine.abort(name)
        case Step(accepted):
            return engine.step(dict(accepted))
    return None


def replay(scenario: Scenario, engine: Engine) -> tuple[Moment, ...]:
    """Run a scenario on a freshly booted engine; the run ends early where the engine raises."""
    moments = []
    for action in scenario.actions:
        record = perform(engine, action)
        moments.append(Moment(action, record, engine.snapshot()))
        if record is not None and record.error is not None:
            break
    return tuple(moments)


def first_difference(left: tuple[Moment, ...], right: tuple[Moment, ...]) -> Difference | None:
    """Find the first action after which two runs of one scenario differ, and the first field that does."""
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if (found := moment_difference(one, other)) is not None:
            return Difference(index, one.action, *found)
    return None


def moment_difference(left: Moment, right: Moment) -> tuple[str, object, object] | None:
    """Find the first field in which two moments differ.

    Errors are compared by presence, and a state after one is not compared: each engine words its own failure.
    """
    if left.record is not None and right.record is not None:
        if (left.record.error is None) != (right.record.error is None):
            return ("record.error", left.record.error, right.record.error)
        if left.record.error is not None:
            return None
        if (found := record_difference(left.record, right.record)) is not None:
            return found
    return snapshot_difference(left.after, right.after)


def record_difference(left: StepRecord, right: StepRecord) -> tuple[str, object, object] | None:
    """Find the first field in which two steps differ; a prediction counts where both engines show it."""
    for field in ("scheduled", "admitted", "resumed", "preempted", "finished", "tables"):
        one, other = getattr(left, field), getattr(right, field)
        if field == "scheduled":
            one, other = list(one.items()), list(other.items())
        if field == "preempted":
            one, other = sorted(one), sorted(other)
        if one != other:
            return (f"record.{field}", one, other)
    for one, other in zip(left.allocations, right.allocations, strict=False):
        if one != other and _as_shown(one, other) != _as_shown(other, one):
            return ("record.allocations", one, other)
    if len(left.allocations) != len(right.allocations):
        return ("record.allocations", len(left.allocations), len(right.allocations))
    return None


def _as_shown(allocation: Allocation, beside: Allocation) -> Allocation:
    """Hide what the other engine does not show."""
    return replace(
        allocation,
        predicted=None if beside.predicted is None else allocation.predicted,
        gate_passed=None if beside.gate_passed is None else allocation.gate_passed,
    )


def snapshot_difference(left: Snapshot, right: Snapshot) -> tuple[str, object, object] | None:
    """Find the first field in which two states differ."""
    for field in fields(Snapshot):
        one, other = getattr(left, field.name), getattr(right, field.name)
        if one != other:
            return (f"after.{field.name}", one, other)
    return None


def _action_out(action: Action) -> dict[str, Any]:
    match action:
        case Submit(submission):
            return {"submit": asdict(submission)}
        case Abort(name):
            return {"abort": name}
        case Step(accepted):
            return {"step": dict(accepted)}


def _action_in(entry: Mapping[str, Any]) -> Action:
    ((verb, value),) = entry.items()
    if verb == "submit":
        numbers = {field: _whole(field, number) for field, number in value.items() if field != "name"}
        return Submit(Submission(str(value["name"]), **numbers))
    if verb == "abort":
        return Abort(str(value))
    if verb == "step":
        return Step(tuple((str(name), _whole(name, count)) for name, count in value.items()))
    raise UsageError("action", verb, "no action has this name", "use submit, step or abort")


def _deployment_out(deployment: Deployment) -> dict[str, Any]:
    plain = {field.name: getattr(deployment, field.name) for field in fields(Deployment)}
    plain["groups"] = [
        {"kind": group.cache.kind, **asdict(group.cache), "count": group.count} for group in deployment.groups
    ]
    return plain


def _deployment_in(plain: Mapping[str, Any]) -> Deployment:
    groups = tuple(_group_in(dict(entry)) for entry in plain["groups"])
    numbers: dict[str, Any] = {field: _whole(field, value) for field, value in plain.items() if field != "groups"}
    return Deployment(groups, **numbers)


def _group_in(entry: dict[str, Any]) -> Group:
    count = entry.pop("count")
    kind = entry.pop("kind")
    if kind not in _KINDS:
        raise UsageError("kind", kind, "no cache kind has this name", f"use one of {', '.join(_KINDS)}")
    sizes = {field: _whole(field, value) for field, value in entry.items()}
    return Group(_KINDS[kind](**sizes), _whole("count", count))


def _whole(field: str, value: Any) -> int:
    """Read a number or a switch of a scenario, all of which are known.

    Raises:
        UsageError: It is something else.
    """
    if not isinstance(value, int):
        raise UsageError(field, value, "this is not a whole number", "save the case again")
    return value
