"""Runs side by side, as scenes: what each engine did at every action, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..oracle.engine import Snapshot
from ..oracle.invariants import Check, Setting, Turn, first_fault
from ..oracle.liveness import Progress
from ..oracle.trace import Difference, Moment, first_difference
from ..oracle.wording import difference_words, value_words
from ..render.run_records import EngineMoment, Scene
from .words import action_words, event_words

PROGRESS = "progress"
"""The one invariant that is about a run and not about a step."""

Runs = Mapping[str, Sequence[Moment]]
"""What each engine did, by its name; the first one is the measure."""


def scenes(runs: Runs, faults: Mapping[tuple[str, int], str], cycle: int = 0) -> tuple[Scene, ...]:
    """Set the runs side by side.

    Args:
        runs: What each engine did.
        faults: What is wrong with an engine's step, by its name and the number of the action.
        cycle: How many of the last actions repeat for ever.
    """
    parting = _parting(runs)
    length = max(len(moments) for moments in runs.values())
    return tuple(
        _scene(index, runs, faults, parting.get(index), repeats=index >= length - cycle) for index in range(length)
    )


def _parting(runs: Runs) -> dict[int, Difference]:
    """Find the first action after which an engine differs from the first one, and how."""
    first, *others = runs.values()
    for other in others:
        if (found := first_difference(tuple(first), tuple(other))) is not None:
            return {found.index: found}
    return {}


def _scene(
    index: int, runs: Runs, faults: Mapping[tuple[str, int], str], found: Difference | None, *, repeats: bool
) -> Scene:
    done = {name: moments[index] for name, moments in runs.items() if index < len(moments)}
    shown = tuple(_shown(name, moment, faults.get((name, index))) for name, moment in done.items())
    action = next(iter(done.values())).action
    if found is None:
        return Scene(index + 1, action_words(action), shown, repeats=repeats)
    sides = (found.left, found.right), (found.right, found.left)
    shown = tuple(
        replace(moment, apart=f"{found.field}: {value_words(found.field, *values)}")
        for moment, values in zip(shown, sides, strict=True)
    )
    difference = f"{found.field}: {difference_words(found.field, found.left, found.right)}"
    return Scene(index + 1, action_words(action), shown, difference, repeats)


def _shown(name: str, moment: Moment, fault: str | None) -> EngineMoment:
    record, after = moment.record, moment.after
    return EngineMoment(
        engine=name,
        scheduled=() if record is None else tuple(record.scheduled.items()),
        events=tuple(event_words(record)),
        free=after.free,
        waiting=after.waiting,
        tables=tuple((request, view.tables) for request, view in after.requests.items()),
        error=None if record is None else record.error,
        fault=fault,
    )


def faults_of(
    start: Snapshot, moments: Sequence[Moment], setting: Setting, checks: Mapping[str, Check], *, progress: bool
) -> Iterator[tuple[int, str]]:
    """Find the steps after which an invariant is violated, each with its name and the fault."""
    before, watched = start, Progress()
    for index, moment in enumerate(moments):
        if moment.record is not None:
            turn = Turn(setting, before, moment.record, moment.after)
            if (found := first_fault(turn, dict(checks))) is not None:
                yield index, f"{found[0]}: {found[1]}"
            elif progress and (fault := watched.observe(turn)) is not None:
                yield index, f"progress: {fault}"
        before = moment.after
