"""The exhaustive search of a small deployment, from the engine to the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..oracle.explore import GOALS, Exploration, Violation, explore, searched_for
from ..oracle.reference import boot
from ..oracle.trace import Moment, Scenario, replay
from ..oracle.verdict import Holds, Refuted, Verdict, Witness
from ..oracle.wording import counted
from ..render.output import Progress
from ..render.run_records import ExploreReport, Reached
from ..spec import SOUND, Deployment, Design, UsageError, named
from ._case_file import SavedCase, save
from ._deployment_flags import as_flags
from ._scenes import scenes
from ._search import Search
from ._words import submission_words

if TYPE_CHECKING:
    from ..forks import Implementation

PATIENCE = 3600.0
"""The seconds that a search of an implementation may take."""

_ROOM = "poolproof.forks"


@dataclass(frozen=True, slots=True)
class _Found:
    """Hold what a search has found, and each run to a finding, on the engine that was searched."""

    design: Design
    exploration: Exploration
    runs: Sequence[tuple[Moment, ...]]


def searched(search: Search, tell: Progress) -> ExploreReport:
    """Search and report; the run to the first fault is saved where a file was named.

    Raises:
        UsageError: A goal, a request or the deployment cannot be used.
        InconclusiveError: There are more states than the limit.
    """
    search.check()
    asked = None if search.design is None else named(search.design)
    if search.implementation is None:
        return _report(search, _on_oracle(search, asked or SOUND, tell))
    return _report(search, _on_implementation(search, search.implementation, asked, tell))


def _on_oracle(search: Search, design: Design, tell: Progress) -> _Found:
    def reached(states: int, visited: int) -> None:
        tell(f"searching {design.name}", visited, states)

    found = explore(
        search.deployed(design),
        design,
        search.requests,
        priority=search.priority,
        aborts=search.aborts,
        goals=search.goals,
        forced=search.forced or not design.boot_checks_override,
        limit=search.limit,
        tell=reached,
    )
    return _Found(design, found, [_on_engine(violation.scenario, design) for violation in found.violations])


def _on_engine(scenario: Scenario, design: Design) -> tuple[Moment, ...]:
    return replay(scenario, boot(scenario.deployment, design, priority=scenario.priority, forced=True))


def _on_implementation(search: Search, impl: str, asked: Design | None, tell: Progress) -> _Found:
    """Search an implementation in its own process, and run there again what was found."""
    from ..forks import Implementation
    from ._under_test import candidates

    tell(f"loading {impl}")
    with Implementation(impl, on_progress=tell) as implementation:
        design = asked or candidates(implementation, implementation.findings())[0].design
        _boot(implementation, search, design)
        tell(f"searching {impl}")
        arguments: dict[str, Any] = {
            "deployment": search.deployed(design),
            "design": design,
            "requests": search.requests,
            "goals": search.goals,
            "priority": search.priority,
            "aborts": search.aborts,
            "limit": search.limit,
        }
        found: Exploration = implementation.call(f"{_ROOM}.exploring:explored", arguments, seconds=PATIENCE)
        runs = [
            implementation.call(f"{_ROOM}.differential:moments", {"scenario": violation.scenario})
            for violation in found.violations
        ]
        return _Found(design, found, runs)


def _boot(implementation: Implementation, search: Search, design: Design) -> None:
    """Ask the implementation's own boot about a pool that was given, unless that is to be skipped.

    Raises:
        UsageError: It refuses the pool.
    """
    if search.forced or search.deployment.blocks is None or not design.boot_checks_override:
        return
    answer = implementation.boot(search.deployment)
    if not answer.accepted:
        told = " ".join(answer.message.split())[:100]
        raise UsageError("blocks", search.deployment.blocks, f"its boot refuses them: {told}", "give more, or --forced")


def _report(search: Search, found: _Found) -> ExploreReport:
    deployment = search.deployed(found.design)
    reached = tuple(_reached(search, *pair) for pair in zip(found.exploration.violations, found.runs, strict=True))
    first = next((each for each in reached if not each.goal), None)
    if first is not None and search.case is not None:
        saved = replace(first, case=str(search.case) if _save(search, found, first) else None)
        reached = tuple(saved if each is first else each for each in reached)
    verdict, headline = _judged(search, found, first)
    return ExploreReport(
        verdict=verdict,
        headline=headline,
        deployment=as_flags(deployment),
        engine=_name(search, found.design),
        requests=tuple(map(submission_words, search.requests)),
        states=found.exploration.states,
        transitions=found.exploration.transitions,
        reached=reached,
        scope=tuple(_scope(search, deployment, found.design)),
        replay=search.replay,
    )


def _reached(search: Search, violation: Violation, run: tuple[Moment, ...]) -> Reached:
    is_goal = violation.name in GOALS
    faults = {} if is_goal or violation.cycle else {(search.engine, len(run) - 1): violation.fault}
    return Reached(violation.name, is_goal, violation.fault, scenes({search.engine: run}, faults, violation.cycle))


def _save(search: Search, found: _Found, first: Reached) -> bool:
    """Save the run to the first fault, and say whether that was possible."""
    for violation in found.exploration.violations:
        if violation.name == first.name and search.case is not None:
            seen = SavedCase(
                scenario=violation.scenario,
                design=found.design.name,
                implementation=search.implementation,
                fault=violation.name,
                detail=violation.fault,
                cycle=violation.cycle,
            )
            return save(seen, search.case, "--save")
    return False


def _name(search: Search, design: Design) -> str:
    return f"the oracle of {design.name}" if search.implementation is None else search.implementation


def _judged(search: Search, found: _Found, first: Reached | None) -> tuple[Verdict, str]:
    engine = _name(search, found.design)
    states, transitions = found.exploration.states, found.exploration.transitions
    size = f"{counted(states, 'state')} and {counted(transitions, 'transition')}"
    if first is None:
        return Holds(f"{size}, no fault"), f"{engine} has no fault in all {size}"
    actions = tuple(scene.action for scene in first.scenes)
    how = first.fault if first.name == "progress" else f"after {counted(len(actions), 'action')} {first.fault}"
    headline = f"{engine} goes wrong: {how}"
    return Refuted(Witness((("actions", len(actions)),), (first.fault,), actions)), headline


def _scope(search: Search, deployment: Deployment, design: Design) -> Iterator[str]:
    aborted = ", and dropped at any time" if search.aborts else ""
    order = "priority" if search.priority else "arrival"
    yield f"each request is submitted once, at any time{aborted}; any number of drafts is accepted; served by {order}"
    checked = ", ".join(searched_for(design, deployment))
    yield f"checked at every step, by {design.name}: {checked}; and that no cycle leads nowhere (progress)"
