"""One request alone on an engine: served, never admitted, or stranded, decided by a repeated state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from .engine import NULL_BLOCK, Engine, Snapshot, StepRecord, Submission


class Fate(StrEnum):
    """What becomes of a lone request."""

    DONE = "done"
    """It finished."""
    NEVER_ADMITTED = "never admitted"
    """It waits, without ever having been scheduled, in a state that repeats with nothing in flight."""
    STRANDED = "stranded"
    """It had steps, and never finishes: the state repeats, whether tokens are computed again or nothing moves."""
    FAILED = "failed"
    """The engine raised."""


@dataclass(frozen=True, slots=True)
class LoneOutcome:
    """Tell what became of a lone request.

    Args:
        fate: What became of it.
        steps: The steps until then; a repeated state is not counted.
        peak: The real blocks held per group, right after the step that left the greatest total.
        error: What the engine raised, or None.
    """

    fate: Fate
    steps: int
    peak: tuple[int, ...] = ()
    error: str | None = None


def lone_run(engine: Engine, prompt: int, output: int = 1, key: Callable[[], object] | None = None) -> LoneOutcome:
    """Run one request on a freshly booted engine until its fate is known; drafts are never accepted.

    Args:
        engine: The engine.
        prompt: The tokens of the prompt.
        output: The tokens to generate.
        key: What decides the engine's future, where that is more than it shows.

    Raises:
        UsageError: The engine does not take such a request.
    """
    name = "lone"
    engine.submit(Submission(name, prompt, output))
    peak: tuple[int, ...] = ()
    state = key or (lambda: progress_key(engine.snapshot()))
    seen = {state()}
    steps = 0
    while True:
        record = engine.step()
        steps += 1
        peak = max(peak, record.held.get(name, ()), key=sum)
        if record.error is not None:
            return LoneOutcome(Fate.FAILED, steps, peak, record.error)
        if name in record.finished:
            return LoneOutcome(Fate.DONE, steps, peak)
        if may_repeat(record):
            if (reached := state()) in seen:
                return LoneOutcome(Fate.STRANDED if peak else Fate.NEVER_ADMITTED, steps - 1, peak)
            seen.add(reached)


def may_repeat(record: StepRecord) -> bool:
    """Say whether the state after a step may be one that was met: any other step computes what never was before."""
    return not record.scheduled or bool(record.preempted)


def progress_key(snapshot: Snapshot) -> object:
    """Reduce a state to what decides the future of an engine that treats all its blocks alike.

    Two states with this key in common differ only in which blocks they name, so that an engine without randomness
    repeats itself for ever between them.
    """
    requests = tuple(
        (name, view.status, view.computed, view.tokens, view.drafts, view.in_flight, _shapes(view.tables))
        for name, view in snapshot.requests.items()
    )
    return (len(snapshot.free), snapshot.waiting, snapshot.running, snapshot.batches_in_flight, requests)


def _shapes(tables: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Show where a table has null entries, and its length."""
    return tuple((len(table), *(index for index, block in enumerate(table) if block == NULL_BLOCK)) for table in tables)
