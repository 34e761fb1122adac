"""The checking of one deployment, from the formulas to the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ..inputs.deployment_flags import as_flags
from ..inputs.numbers import known
from ..oracle.counting import counted
from ..oracle.verdict import Refuted
from ..render.output import Progress
from ..render.records import BootLine, CheckReport
from ..spec import SOUND, Deployment, UnsupportedError, named, reported_concurrency
from .case import Case, case_of
from .engines import Engine, implementation_engine, oracle_engine, run_boundary
from .formulas import admission_lines, boot_lines, describe
from .judgement import Evidence, judge, ranges
from .predictions import has_aligned_states
from .repairs import repairs
from .samples import run_samples

if TYPE_CHECKING:
    from ..forks import Implementation

Trial: TypeAlias = Callable[[Case], tuple[list[Engine], BootLine | None]]
"""Makes engines ready for a case, and asks the implementation's boot about it where there is one."""


def checked(deployment: Deployment, design: str | None, impl: str | None, tell: Progress) -> tuple[CheckReport, Case]:
    """Check a deployment against a design, and beside it on an implementation where one is named."""
    if impl is None:
        case = case_of(deployment, SOUND if design is None else named(design))
        return _report(case, _formulas_alone, (), f" --design {case.design.name}"), case
    return _with_implementation(deployment, design, impl, tell)


def _formulas_alone(_: Case) -> tuple[list[Engine], BootLine | None]:
    return [], None


def _with_implementation(
    deployment: Deployment, design: str | None, impl: str, tell: Progress
) -> tuple[CheckReport, Case]:
    from ..forks import Implementation

    tell(f"loading {impl}")
    with Implementation(impl, on_progress=tell) as implementation:
        return checked_on(implementation, impl, deployment, design, tell)


def checked_on(
    implementation: Implementation, impl: str, deployment: Deployment, design: str | None, tell: Progress
) -> tuple[CheckReport, Case]:
    """Check a deployment on an implementation that is running, and was spelled so."""
    from .under_test import Choice, boot_line, choose, refusals, told

    findings = implementation.findings()
    chosen = choose(implementation, findings) if design is None else Choice(named(design), "as asked for")

    def trial(case: Case) -> tuple[list[Engine], BootLine | None]:
        tell(f"running {impl}")
        boot = boot_line(implementation, impl, case)
        return [implementation_engine(implementation, case.deployment, impl)] if boot.accepts else [], boot

    found = (("design", f"{chosen.design.name}, chosen {chosen.why}"), *told(findings))
    case = case_of(deployment, chosen.design)
    with refusals(impl):
        return _report(case, trial, found, f"{_asked(design)} --impl {impl}"), case


def _report(case: Case, trial: Trial, findings: tuple[tuple[str, str], ...], options: str) -> CheckReport:
    evidence, left_out = _evidence(case, trial)
    judgement = judge(evidence)
    refuted = isinstance(judgement.verdict, Refuted)
    return CheckReport(
        verdict=judgement.verdict,
        headline=judgement.headline,
        why=judgement.why,
        design=case.design.name,
        implementation=evidence.implementation,
        judged_by=_judged_by(case, evidence),
        blocks=case.blocks,
        usable=case.usable,
        pool=case.pool,
        boot=boot_lines(case.deployment, case.design),
        admission=evidence.admission,
        concurrency=round(reported_concurrency(case.blocks, case.deployment, case.design), 3),
        boots=tuple(evidence.boots),
        unserved=ranges(case),
        runs=tuple(evidence.runs),
        growth=case.growth(),
        findings=findings,
        repairs=tuple(repairs(case, lambda changed: judge(_at_borders(changed, trial)[0]), options)) if refuted else (),
        scope=(*_scope(case), *left_out),
        replay=f"poolproof check {as_flags(case.deployment)}{options}",
    )


def _evidence(case: Case, trial: Trial) -> tuple[Evidence, tuple[str, ...]]:
    """Gather what a verdict rests on, between the borders too, and say what was left out."""
    evidence, left_out, engines = _at_borders(case, trial)
    surprising, sampled = run_samples(case, engines)
    told = (*_run_too(evidence, sampled), *left_out)
    return replace(evidence, runs=(*evidence.runs, *surprising)), told


def _at_borders(case: Case, trial: Trial) -> tuple[Evidence, tuple[str, ...], list[Engine]]:
    """Gather what is seen at the borders alone, and say what was left out."""
    oracle, left_out = _oracle(case)
    engines, boot = trial(case)
    runs = run_boundary(case, [*oracle, *engines])
    admission = admission_lines(_deciding_prompt(case), case.deployment, case.design)
    boots = (_design_boot(case), *([] if boot is None else [boot]))
    return Evidence(case, admission, boots, runs), left_out, engines


def _run_too(evidence: Evidence, sampled: int) -> Iterator[str]:
    """Say how far the implementation itself was looked at: what holds of the other prompts is predicted."""
    if evidence.implementation is None or not sampled:
        return
    borders = len(evidence.case.predictions.boundary())
    if sampled + borders == evidence.case.predictions.longest:
        yield f"{evidence.implementation} was run on every one of these prompts"
        return
    others = counted(sampled, "prompt")
    yield (f"{evidence.implementation} was run on {others} beside those shown; of all the rest the formulas speak")


def _asked(design: str | None) -> str:
    return "" if design is None else f" --design {design}"


def _judged_by(case: Case, evidence: Evidence) -> str | None:
    """Say what it means to be judged by the design that nobody ships, where no implementation is beside it."""
    if case.design != SOUND or evidence.implementation is not None:
        return None
    return (
        "judged by the proved design `sound`, which is no vLLM release; name one with --impl vllm==0.33.0, "
        "or its family with --design vllm-0.33"
    )


def _oracle(case: Case) -> tuple[list[Engine], tuple[str, ...]]:
    """Make the oracle ready, or say why it is left out."""
    try:
        return [oracle_engine(case)], ()
    except UnsupportedError as error:
        return [], (f"the oracle was not run; {error}",)


def _design_boot(case: Case) -> BootLine:
    return BootLine(f"design {case.design.name}", case.boot_accepts, case.boot_minimum)


def _deciding_prompt(case: Case) -> int:
    """Choose the prompt whose admission is spelled out: the first that is refused, or the longest."""
    refused = case.predictions.never_admitted
    return max(1, case.predictions.longest) if refused is None else refused


def _prompts(longest: int) -> str:
    if longest < 1:
        return "no prompt, since none is legal"
    return "prompts of 1 token" if longest == 1 else f"every prompt of 1 to {longest} tokens"


def _prefix_caching(deployment: Deployment) -> str:
    if deployment.prefix_caching:
        return "prefix caching enabled, and not modelled: the formulas and the oracle judge it as off"
    return "prefix caching off"


def _scope(case: Case) -> tuple[str, ...]:
    deployment, batches = case.deployment, case.deployment.max_concurrent_batches
    groups = "; ".join(f"{group.count} x {describe(group.cache)}" for group in deployment.groups)
    return (
        f"one request at a time, one output token, {_prompts(case.predictions.longest)}",
        _prefix_caching(deployment),
        f"{counted(known(batches), 'batch')} in flight, lookahead {deployment.lookahead}; {groups}",
        f"predicted by {case.design.name}. {case.design.summary}",
        *_states_scope(deployment),
    )


def _states_scope(deployment: Deployment) -> Iterator[str]:
    """Say what a run of each prompt does not show of aligned states."""
    if has_aligned_states(deployment):
        yield "every prompt was run alone on the oracle, since what it holds of aligned states depends on its chunks"
        yield (
            "not judged: whether a request holds more aligned states than boot counts for it, which takes from others; "
            "`poolproof prove --impl` decides it for a release (boot_covers_held)"
        )
