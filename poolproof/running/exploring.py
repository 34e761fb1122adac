"""The exhaustive search of a small deployment, from the engine to the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..inputs.case_file import SavedCase, save
from ..inputs.deployment_flags import as_flags
from ..inputs.numbers import known
from ..oracle.counting import counted
from ..oracle.explore import GOALS, Exploration, Violation, explore, searched_for
from ..oracle.invariants import STEP_CHECKS
from ..oracle.reference import boot
from ..oracle.trace import Moment, Scenario, replay
from ..oracle.verdict import Holds, Inconclusive, Refuted, Verdict, Witness
from ..render.output import Progress
from ..render.run_records import ExploreReport, Reached
from ..spec import SOUND, Deployment, Design, boot_accepts, boot_requirement, named
from .scenes import PROGRESS, scenes
from .search import Search
from .words import submission_words

if TYPE_CHECKING:
    from ..forks import Implementation

PATIENCE = 3600.0
"""The seconds that a search of an implementation may take."""

_ROOM = "poolproof.forks"


@dataclass(frozen=True, slots=True)
class _Found:
    """Hold what a search has found, and each run to a finding, on the engine that was searched.

    Args:
        design: The design that it is held to.
        exploration: What was found.
        runs: The run to each finding.
        refusal: What boot said where it refused the pool, and the smallest one that it accepts.
    """

    design: Design
    exploration: Exploration
    runs: Sequence[tuple[Moment, ...]] = ()
    refusal: tuple[str, int] | None = None


def searched(search: Search, tell: Progress) -> ExploreReport:
    """Search and report; the run to the first fault is saved where a file was named.

    Raises:
        UsageError: A goal, a request or the deployment cannot be used.
    """
    search.check()
    asked = None if search.design is None else named(search.design)
    if search.implementation is None:
        return _report(search, _on_oracle(search, asked or SOUND, tell))
    return _report(search, _on_implementation(search, search.implementation, asked, tell))


def _on_oracle(search: Search, design: Design, tell: Progress) -> _Found:
    def reached(states: int, visited: int) -> None:
        tell(f"searching {design.name}", visited, states)

    deployment = search.deployed(design)
    least = boot_requirement(deployment, design)
    if search.asks_boot(design) and not boot_accepts(known(deployment.blocks), deployment, design):
        return _Found(design, Exploration(), refusal=(f"it demands {counted(least, 'block')}", least))
    found = explore(
        deployment,
        design,
        search.requests,
        priority=search.priority,
        aborts=search.aborts,
        goals=search.goals,
        forced=True,
        limit=search.most(deployment),
        tell=reached,
    )
    return _Found(design, found, [_on_engine(violation.scenario, design) for violation in found.violations])


def _on_engine(scenario: Scenario, design: Design) -> tuple[Moment, ...]:
    return replay(scenario, boot(scenario.deployment, design, priority=scenario.priority, forced=True))


def _on_implementation(search: Search, impl: str, asked: Design | None, tell: Progress) -> _Found:
    """Search an implementation in its own process, and run there again what was found."""
    from ..checking.under_test import candidates
    from ..forks import Implementation

    tell(f"loading {impl}")
    with Implementation(impl, on_progress=tell) as implementation:
        design = asked or candidates(implementation, implementation.findings())[0].design
        if (refusal := _refusal(implementation, search, design)) is not None:
            return _Found(design, Exploration(), refusal=refusal)
        tell(f"searching {impl}")
        deployment = search.deployed(design)
        arguments: dict[str, Any] = {
            "deployment": deployment,
            "design": design,
            "requests": search.requests,
            "goals": search.goals,
            "priority": search.priority,
            "aborts": search.aborts,
            "limit": search.most(deployment),
        }
        found: Exploration = implementation.call(f"{_ROOM}.exploring:explored", arguments, seconds=PATIENCE)
        runs = [
            implementation.call(f"{_ROOM}.differential:moments", {"scenario": violation.scenario})
            for violation in found.violations
        ]
        return _Found(design, found, runs)


def _refusal(implementation: Implementation, search: Search, design: Design) -> tuple[str, int] | None:
    """Ask the implementation's own boot about a pool that was given, unless that is to be skipped."""
    if not search.asks_boot(design):
        return None
    answer = implementation.boot(search.deployment)
    if answer.accepted:
        return None
    return " ".join(answer.message.split()), implementation.smallest_pool(search.deployment)


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
        complete=found.exploration.complete,
        reached=reached,
        unreached=tuple(goal for goal in search.goals if goal not in {each.name for each in reached}),
        refusal=None if found.refusal is None else found.refusal[0],
        scope=tuple(_scope(search, deployment, found)),
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
    if found.refusal is not None:
        return _refused(search.implementation or found.design.name, known(search.deployment.blocks), *found.refusal)
    if first is not None:
        actions = tuple(scene.action for scene in first.scenes)
        how = first.fault if first.name == PROGRESS else f"after {counted(len(actions), 'action')} {first.fault}"
        witness = Witness((("actions", len(actions)),), (first.fault,), actions)
        return Refuted(witness), f"{engine} goes wrong: {how}"
    states, transitions = found.exploration.states, found.exploration.transitions
    size = f"{counted(states, 'state')} and {counted(transitions, 'transition')}"
    if found.exploration.complete:
        return Holds(f"{size}, no fault"), f"{engine} has no fault in all {size}"
    reason = f"{engine} has no fault in the first {counted(states, 'state')}, and has more of them"
    return Inconclusive(reason), f"{reason}: raise --limit, shrink the deployment, or ask poolproof check about it"


def _refused(engine: str, blocks: int, told: str, least: int) -> tuple[Verdict, str]:
    """Judge a pool that boot refuses, as `check` does."""
    pool = f"a pool of {counted(blocks, 'block')}"
    headline = f"the boot of {engine} refuses {pool}; the smallest that it accepts is {least}; --forced skips boot"
    return Refuted(Witness((("blocks", blocks), ("smallest", least)), (told,))), headline


def _scope(search: Search, deployment: Deployment, found: _Found) -> Iterator[str]:
    design = found.design
    aborted = ", and dropped at any time" if search.aborts else ""
    order = "priority" if search.priority else "arrival"
    yield f"each request is submitted once, at any time{aborted}; any number of drafts is accepted; served by {order}"
    checked = ", ".join(searched_for(design, deployment))
    yield f"checked at every step, by {design.name}: {checked}; and that no cycle leads nowhere (progress)"
    left_out = [name for name in STEP_CHECKS if name not in searched_for(design, deployment)]
    if left_out:
        yield f"not checked, since {design.name} does not promise it here: {', '.join(left_out)}"
    if search.goals:
        yield f"searched for, too, and no fault: {', '.join(search.goals)}"
    if not found.exploration.complete:
        yield f"stopped at {counted(found.exploration.states, 'state')}: what lies beyond them was not searched"
