"""The replay of a saved case, on the oracle and on an implementation."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..checking.engines import ORACLE
from ..inputs.case_file import SavedCase, load
from ..inputs.deployment_flags import as_flags
from ..oracle.counting import counted
from ..oracle.invariants import STEP_CHECKS, Check, Setting, promised
from ..oracle.reference import boot
from ..oracle.trace import Moment, Scenario
from ..oracle.trace import replay as on_engine
from ..oracle.verdict import Holds, Refuted, Verdict, Witness
from ..render.output import Progress
from ..render.run_records import ReplayReport, Scene
from ..spec import Design, UsageError, named
from .scenes import PROGRESS, faults_of, scenes

if TYPE_CHECKING:
    from ..forks import Implementation


def replayed(path: Path, impl: str | None, design: str | None, tell: Progress) -> ReplayReport:
    """Run a saved case and report on it; what it was seen on is used where nothing else is asked for."""
    case = load(path)
    case = replace(case, implementation=impl or case.implementation, design=design or case.design)
    judge = _Judge(case)
    runs: dict[str, tuple[Moment, ...]] = {ORACLE: judge.on_oracle()}
    if case.implementation is not None:
        runs[case.implementation] = _on_implementation(case.implementation, judge.scenario, tell)
    tested = list(runs)[-1]
    faults = {(tested, index): fault for index, fault in judge.faults(runs[tested])}
    shown = scenes(runs, faults, case.cycle)
    verdict, headline = _judged(case, shown, faults)
    asked = "".join(f" {name} {shlex.quote(text)}" for name, text in (("--impl", impl), ("--design", design)) if text)
    return ReplayReport(
        verdict=verdict,
        headline=headline,
        case=str(path),
        deployment=as_flags(case.scenario.deployment) + (" (by priority)" if case.scenario.priority else ""),
        design=case.design,
        implementation=case.implementation,
        scenes=shown,
        scope=(f"checked after every step of {tested}: {', '.join(judge.names)}",),
        replay=f"poolproof replay {shlex.quote(str(path))}{asked}",
    )


@dataclass(slots=True)
class _Judge:
    """Run a case on the oracle, and know what must hold in it."""

    case: SavedCase

    @property
    def design(self) -> Design:
        """Return the design of the oracle."""
        return named(self.case.design)

    @property
    def scenario(self) -> Scenario:
        """Return the run; a cycle is gone through twice, so that its state is seen to repeat."""
        scenario = self.case.scenario
        again = scenario.actions[len(scenario.actions) - self.case.cycle :] if self.case.cycle else ()
        return replace(scenario, actions=scenario.actions + again)

    @property
    def checks(self) -> dict[str, Check]:
        """List what the design promises, and what the case says is violated."""
        kept = promised(self.design, self.case.scenario.deployment)
        return {name: check for name, check in STEP_CHECKS.items() if name in kept or name == self.case.fault}

    @property
    def names(self) -> list[str]:
        """Name what is checked."""
        return [*self.checks, *([PROGRESS] if self.case.fault == PROGRESS else [])]

    def on_oracle(self) -> tuple[Moment, ...]:
        """Run it on the oracle."""
        scenario = self.scenario
        return on_engine(scenario, boot(scenario.deployment, self.design, priority=scenario.priority, forced=True))

    def faults(self, moments: tuple[Moment, ...]) -> Iterator[tuple[int, str]]:
        """Find the steps after which something is violated."""
        deployment = self.case.scenario.deployment
        start = boot(deployment, self.design, forced=True).snapshot()
        setting = Setting(deployment, self.design)
        return faults_of(start, moments, setting, self.checks, progress=self.case.fault == PROGRESS)


def _on_implementation(impl: str, scenario: Scenario, tell: Progress) -> tuple[Moment, ...]:
    tell(f"loading {impl}")
    with _opened(impl, tell) as implementation:
        tell(f"running {impl}")
        arguments: dict[str, Any] = {"scenario": scenario}
        moments: tuple[Moment, ...] = implementation.call("poolproof.forks.differential:moments", arguments)
        return moments


def _opened(impl: str, tell: Progress) -> Implementation:
    """Find the implementation that a case was seen on, or that was asked for instead.

    Raises:
        UsageError: It is not there (any more).
    """
    from ..forks import Implementation

    try:
        return Implementation(impl, on_progress=tell)
    except UsageError as error:
        hint = "where it has moved, name it: replay CASE --impl SPEC"
        raise UsageError("implementation", impl, error.reason, hint) from error


def _judged(case: SavedCase, shown: tuple[Scene, ...], faults: dict[tuple[str, int], str]) -> tuple[Verdict, str]:
    actions = tuple(scene.action for scene in shown)
    for scene in shown:
        if scene.difference is not None:
            words = scene.difference.partition(": ")[2]
            headline = f"{case.implementation} parts from the oracle of {case.design} at action {scene.number}: {words}"
            return _refuted(scene.number, scene.difference, actions), headline
    for (engine, index), fault in faults.items():
        name = f"the oracle of {case.design}" if engine == ORACLE else engine
        headline = f"{name} goes wrong at action {index + 1}: {fault.partition(': ')[2]}"
        return _refuted(index + 1, fault, actions), headline
    length = counted(len(shown), "action")
    if case.implementation is None:
        evidence = f"the oracle of {case.design} violates nothing in {length}"
    else:
        evidence = f"{case.implementation} and the oracle of {case.design} do the same in {length}"
    return Holds(evidence), evidence


def _refuted(action: int, fact: str, actions: tuple[str, ...]) -> Refuted:
    return Refuted(Witness((("action", action),), (fact,), actions[:action]))
