"""Running the prompts at the borders: on the oracle, and on the implementation under test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ..inputs.numbers import known
from ..render.records import Observation, Run
from ..spec import Deployment, UnsupportedError
from .case import Case
from .predictions import Outcome

if TYPE_CHECKING:
    from ..forks import Implementation
    from ..oracle.lone import LoneOutcome

ORACLE = "oracle"

LARGEST_POOL = 2_000_000
"""The most blocks and the most steps that the oracle is asked to run in one go."""

Engine: TypeAlias = Callable[[int], Observation]
"""Runs one prompt; whether it agrees with the prediction is filled in afterwards."""


def run_boundary(case: Case, engines: Sequence[Engine]) -> tuple[Run, ...]:
    """Run every prompt at a border on every engine, beside what was predicted."""
    if not engines:
        return ()
    return tuple(run_one(case, prompt, engines) for prompt in case.predictions.boundary())


def run_one(case: Case, prompt: int, engines: Sequence[Engine]) -> Run:
    """Run one prompt on every engine, beside what was predicted."""
    predicted = case.predictions.outcome(prompt)
    seen = [engine(prompt) for engine in engines]
    agreed = tuple(replace(each, agrees=each.outcome == predicted.value) for each in seen)
    return Run(prompt, predicted.value, agreed)


def oracle_engine(case: Case) -> Engine:
    """Make the oracle of the case's design ready to run prompts.

    Raises:
        UnsupportedError: The deployment is larger than what is worth running.
    """
    from ..oracle.lone import lone_run
    from ..oracle.reference import boot

    _refuse_what_takes_too_long(case)
    # A request that is alone shares nothing, so that prefix caching changes nothing for it.
    deployment = replace(case.deployment, prefix_caching=False)

    def engine(prompt: int) -> Observation:
        return _observed(ORACLE, lone_run(boot(deployment, case.design, forced=True), prompt))

    return engine


def _refuse_what_takes_too_long(case: Case) -> None:
    groups = sum(known(group.count) for group in case.deployment.groups)
    steps = case.predictions.longest // known(case.deployment.max_num_batched_tokens)
    if case.blocks > LARGEST_POOL or steps * groups > LARGEST_POOL // 20:
        raise UnsupportedError(f"running {case.blocks} blocks for {steps} steps and {groups} groups on the oracle")


def implementation_engine(implementation: Implementation, deployment: Deployment, name: str) -> Engine:
    """Make an implementation's real scheduler ready to run prompts."""

    def engine(prompt: int) -> Observation:
        return _observed(name, implementation.lone(deployment, prompt))

    return engine


def _observed(name: str, ended: LoneOutcome) -> Observation:
    return Observation(name, _outcome(ended), ended.steps, ended.peak, agrees=False)


def _outcome(ended: LoneOutcome) -> str:
    from ..oracle.lone import Fate

    match ended.fate:
        case Fate.DONE:
            return Outcome.SERVED.value
        case Fate.NEVER_ADMITTED:
            return Outcome.NEVER_ADMITTED.value
        case Fate.STRANDED:
            return Outcome.NEVER_FINISHES.value
        case Fate.FAILED:
            return f"{Outcome.CRASHES.value}: {ended.error}"
