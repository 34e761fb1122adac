"""What diff, replay and explore find out: runs of engines, step by step, as plain records."""

from __future__ import annotations

from dataclasses import dataclass

from ..oracle.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Count:
    """Say how often something happened."""

    what: str
    times: int


@dataclass(frozen=True, slots=True)
class EngineMoment:
    """Show what one engine did at an action, and its state afterwards.

    Args:
        engine: The oracle, or the implementation.
        scheduled: The tokens scheduled per request, in order.
        events: What else happened: admissions, refusals, preemptions, ends.
        free: The free blocks, in the order in which they will be taken.
        waiting: The queue.
        tables: The block tables of every unfinished request, one per group; 0 is a recycled entry.
        error: What the engine raised.
        fault: The invariant that is violated here, and how.
        apart: The field in which it differs from the other engine here, and its value.
    """

    engine: str
    scheduled: tuple[tuple[str, int], ...]
    events: tuple[str, ...]
    free: tuple[int, ...]
    waiting: tuple[str, ...]
    tables: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]
    error: str | None = None
    fault: str | None = None
    apart: str | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """Set what the engines did at one action side by side.

    Args:
        number: The action, counted from 1.
        action: What was done, in words.
        engines: What each engine did.
        difference: The first field that differs, and how in words, where this is where the engines part.
        repeats: It is part of a cycle that repeats for ever.
    """

    number: int
    action: str
    engines: tuple[EngineMoment, ...]
    difference: str | None = None
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Parted:
    """Show where two engines part.

    Args:
        field: What differs, or the invariant that is violated.
        detail: Both values, or the fault in words.
        words: It in one sentence, in which the implementation is "it".
        deployment: The deployment, as flags.
        actions: What was done, in words.
        pool: What boot says of the pool, where it refuses it.
        case: The file that holds the run, where it could be saved.
        replay: The command line that shows it.
    """

    field: str
    detail: str
    words: str
    deployment: str
    actions: tuple[str, ...]
    pool: str | None
    case: str | None
    replay: str | None


@dataclass(frozen=True, slots=True)
class BootsParted:
    """Show a deployment for which the implementation's boot demands another pool than the design's.

    Args:
        deployment: The deployment, as flags.
        least: The smallest pool that the design's boot accepts.
        found: The smallest pool that the implementation's boot accepts.
        check: The command line that judges it.
    """

    deployment: str
    least: int
    found: int
    check: str


@dataclass(frozen=True, slots=True)
class DiffReport:
    """Compare an implementation with the oracle over many runs.

    Args:
        verdict: The judgement.
        headline: It in one sentence.
        implementation: The implementation, as it was asked for.
        design: The design whose oracle it was compared with.
        chosen: Why that one.
        scenarios: The runs that the implementation accepted.
        coverage: In how many runs each thing happened.
        refused: What the implementation refused, in its own words.
        promised: The invariants that were checked after every step.
        parted: Where the two part, if they do.
        boots: Where their boots part, if they do.
        findings: What was found about the implementation, and what was assumed.
        scope: What was drawn.
        replay: The command line that gives it again.
    """

    verdict: Verdict
    headline: str
    implementation: str
    design: str
    chosen: str
    scenarios: int
    coverage: tuple[Count, ...]
    refused: tuple[Count, ...]
    promised: tuple[str, ...]
    parted: Parted | None
    boots: BootsParted | None
    findings: tuple[tuple[str, str], ...]
    scope: tuple[str, ...]
    replay: str


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """Show a saved case on the oracle, and on an implementation where one is named.

    Args:
        verdict: The judgement.
        headline: It in one sentence.
        case: The file.
        deployment: The deployment, as flags.
        design: The design of the oracle.
        implementation: The implementation, or None.
        scenes: Every action and what it led to.
        scope: What was checked.
        replay: The command line that gives it again.
    """

    verdict: Verdict
    headline: str
    case: str
    deployment: str
    design: str
    implementation: str | None
    scenes: tuple[Scene, ...]
    scope: tuple[str, ...]
    replay: str


@dataclass(frozen=True, slots=True)
class Reached:
    """Name something that the search has found, and its shortest run.

    Args:
        name: The invariant, `progress`, or the goal.
        goal: It was searched for, and is no fault of an engine.
        fault: What is wrong, or what was reached, in words.
        scenes: The run that ends in it.
        case: The file that holds the run, where it was saved.
    """

    name: str
    goal: bool
    fault: str
    scenes: tuple[Scene, ...]
    case: str | None = None


@dataclass(frozen=True, slots=True)
class ExploreReport:
    """Tell what an exhaustive search of a small deployment has found.

    Args:
        verdict: The judgement.
        headline: It in one sentence.
        deployment: The deployment, as flags.
        engine: What was searched: the oracle of a design, or an implementation.
        requests: What may be submitted, in words.
        states: The states that were reached.
        transitions: The actions that were tried in all of them.
        complete: Every state was reached; otherwise the search stopped at its limit.
        reached: What was found, nearest first.
        unreached: The goals that were not.
        refusal: What boot said where it refused the pool, so that nothing was searched.
        scope: What was tried and checked.
        replay: The command line that gives it again.
    """

    verdict: Verdict
    headline: str
    deployment: str
    engine: str
    requests: tuple[str, ...]
    states: int
    transitions: int
    complete: bool
    reached: tuple[Reached, ...]
    unreached: tuple[str, ...]
    refusal: str | None
    scope: tuple[str, ...]
    replay: str
