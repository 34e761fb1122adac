"""Public faults: each shows where it is said to be, on the oracle and on the real release, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from poolproof.forks import Implementation
from poolproof.forks.releases import DESIGN_OF
from poolproof.inputs.deployment_file import to_deployment
from poolproof.oracle import NULL_BLOCK, Snapshot, StepRecord, Submission, boot
from poolproof.oracle.invariants import STEP_CHECKS, Setting, Turn
from poolproof.oracle.lone import Fate, LoneOutcome, lone_run
from poolproof.oracle.outcome import Outcome, run_out
from poolproof.oracle.trace import Action, Scenario, Step, Submit
from poolproof.spec import (
    Deployment,
    Design,
    boot_accepts,
    boot_requirement,
    held,
    named,
    never_admitted,
    reported_concurrency,
)
from poolproof.spec.admission import gate_requirement
from poolproof.spec.fitting import Start, Worker, start
from poolproof.spec.grouping import Model
from poolproof.spec.layers import Layer, Storage
from poolproof.spec.sizing import group_requirement

Release = Callable[[str], Implementation]

CASES: dict[str, dict[str, Any]] = {
    case["name"]: case for case in json.loads(Path(__file__).with_name("faults.json").read_text())
}


def observations(section: str, *, releases: bool = False) -> list[Any]:
    """List what is to be seen in a section of all cases, by release or by design."""
    return list(_observations(section, releases))


def _observations(section: str, releases: bool) -> Iterator[Any]:
    for name, case in CASES.items():
        for index, seen in enumerate(case.get(section, ())):
            for engine in seen["of"]:
                if engine in DESIGN_OF or not releases:
                    yield pytest.param(name, seen, engine, id=f"{name}-{section}{index}-{engine}")


def deployment_of(name: str, seen: dict[str, Any] | None = None) -> Deployment:
    deployment = to_deployment(CASES[name]["deployment"])
    return replace(deployment, blocks=(seen or {}).get("blocks", deployment.blocks))


def design_of(engine: str) -> Design:
    return named(DESIGN_OF.get(engine, engine))


# -- one request alone ------------------------------------------------------------------------------------------------


def check_run(seen: dict[str, Any], outcome: LoneOutcome) -> None:
    assert outcome.fate == seen["fate"]
    assert outcome.steps == seen.get("steps", outcome.steps)
    assert list(outcome.peak) == seen.get("peak", list(outcome.peak))


@pytest.mark.parametrize(("name", "seen", "engine"), observations("runs"))
def test_a_request_meets_its_fate_on_the_oracle(name: str, seen: dict[str, Any], engine: str) -> None:
    oracle = boot(deployment_of(name, seen), design_of(engine), forced=True)
    check_run(seen, lone_run(oracle, seen["prompt"], seen["output"]))


@pytest.mark.network
@pytest.mark.parametrize(("name", "seen", "engine"), observations("runs", releases=True))
def test_a_request_meets_its_fate_on_the_release(
    release: Release, name: str, seen: dict[str, Any], engine: str
) -> None:
    check_run(seen, release(engine).lone(deployment_of(name, seen), seen["prompt"], seen["output"]))


@pytest.mark.network
@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("version", ["0.19.1", "0.20.2", "0.21.0", "0.33.0"])
def test_upstreams_cases_are_as_published_with_prefix_caching(release: Release, version: str, caching: bool) -> None:
    """The published cases cache prefixes; a request that is alone meets the same gate either way."""
    for name in ("upstream-unit-admits", "upstream-unit-admits-sharp", "upstream-unit-gates"):
        deployment = replace(deployment_of(name), prefix_caching=caching)
        (seen,) = (each for each in CASES[name]["runs"] if version in each["of"])
        assert release(version).lone(deployment, seen["prompt"]).fate == seen["fate"]


# -- boot -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "seen", "engine"), observations("boots"))
def test_boot_decides_by_the_design(name: str, seen: dict[str, Any], engine: str) -> None:
    deployment, design = deployment_of(name, seen), design_of(engine)
    if "smallest" in seen:
        assert boot_requirement(deployment, design) == seen["smallest"]
    else:
        assert boot_accepts(deployment.blocks, deployment, design) == seen["boots"]


@pytest.mark.network
@pytest.mark.parametrize(("name", "seen", "engine"), observations("boots", releases=True))
def test_boot_decides_in_the_release(release: Release, name: str, seen: dict[str, Any], engine: str) -> None:
    deployment = deployment_of(name, seen)
    if "smallest" in seen:
        assert release(engine).smallest_pool(deployment) == seen["smallest"]
    else:
        assert release(engine).boot(deployment).accepted == seen["boots"]


# -- formulas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "seen", "engine"), observations("formulas"))
def test_formulas_give_the_published_numbers(name: str, seen: dict[str, Any], engine: str) -> None:
    deployment, design = deployment_of(name), design_of(engine)
    answers: dict[str, Callable[[], Any]] = {
        "requirement": lambda: boot_requirement(deployment, design),
        "concurrency": lambda: round(reported_concurrency(deployment.blocks, deployment, design), 3),
        "first_refused": lambda: next(iter(never_admitted(deployment, design, deployment.blocks)), None),
        "checks_override": lambda: design.boot_checks_override,
        "gate": lambda: [[tokens, gate_requirement(tokens, deployment, design)] for tokens, _ in seen["gate"]],
    }
    found = {what: answers[what]() for what in seen if what != "of"}
    if found.get("first_refused") is not None:
        found["first_refused"] = found["first_refused"].first
    assert found == {what: value for what, value in seen.items() if what != "of"}


@pytest.mark.parametrize(("name", "seen", "engine"), observations("steps"))
def test_a_step_holds_more_than_its_cap_where_that_is_the_fault(name: str, seen: dict[str, Any], engine: str) -> None:
    deployment, computed = deployment_of(name), seen["computed"]
    (cache,) = deployment.caches()
    slots = (seen["scheduled"], deployment.lookahead, deployment.max_model_len)
    assert held(cache, computed, computed, *slots) == seen["held"]
    assert group_requirement(cache, deployment, design_of(engine)) == seen["cap"]


@pytest.mark.parametrize(("name", "seen", "engine"), observations("logs"))
def test_the_lines_of_a_boot_log_agree_or_not(name: str, seen: dict[str, Any], engine: str) -> None:
    """Logged tokens are the concurrency times the length, to within the rounding of the tokens."""
    deployment = deployment_of(name)
    layers = [Layer(cache, Storage(8, 128, 128, "bfloat16")) for cache in deployment.caches()]
    model = Model({f"layer.{index}": layer for index, layer in enumerate(layers)})
    worker = Worker(tuple(model.layers), 8 << 30)
    booted = start(Start(model, (worker,), deployment), design_of(engine))
    agree = abs(booted.logged_tokens - booted.concurrency * booted.max_model_len) <= 1
    assert agree == seen["agree"]


def test_the_published_log_breaks_the_identity() -> None:
    published = CASES["log-disagrees"]["published"]
    implied = published["tokens"] / CASES["log-disagrees"]["deployment"]["max_model_len"]
    assert round(implied, 2) == published["implied_concurrency"] != published["concurrency"]


# -- scripts ----------------------------------------------------------------------------------------------------------


def scripted(name: str, seen: dict[str, Any]) -> Scenario:
    """Read lines such as `submit a 192 20` and `step 10`."""
    actions: list[Action] = []
    for line in seen["do"]:
        verb, *words = line.split()
        if verb == "submit":
            actions.append(Submit(Submission(words[0], int(words[1]), int(words[2]))))
        else:
            actions += [Step()] * int(words[0])
    return Scenario(deployment_of(name), tuple(actions))


def check_script(name: str, seen: dict[str, Any], engine: str, outcome: Outcome) -> None:
    last = outcome.steps[-1]
    assert (last.error is not None) == seen["raises"]
    if "refused" in seen:
        refusal = last.allocations[0]
        assert (refusal.refused, [refusal.name, refusal.free_before]) == (True, seen["refused"])
    if "recycled" in seen:
        assert sum(table.count(NULL_BLOCK) for tables in last.tables.values() for table in tables) == seen["recycled"]
        assert broken(deployment_of(name), design_of(engine), last, *outcome.snapshots[-2:]) == seen["violates"]


def broken(deployment: Deployment, design: Design, record: StepRecord, before: Snapshot, after: Snapshot) -> str | None:
    turn = Turn(Setting(deployment, design), before, record, after)
    return next((name for name, check in STEP_CHECKS.items() if check(turn) is not None), None)


@pytest.mark.parametrize(("name", "seen", "engine"), observations("scripts"))
def test_a_run_shows_it_on_the_oracle(name: str, seen: dict[str, Any], engine: str) -> None:
    oracle = boot(deployment_of(name), design_of(engine), forced=True)
    check_script(name, seen, engine, run_out(scripted(name, seen), oracle, drain=False, snapshots=True))


@pytest.mark.network
@pytest.mark.parametrize(("name", "seen", "engine"), observations("scripts", releases=True))
def test_a_run_shows_it_on_the_release(release: Release, name: str, seen: dict[str, Any], engine: str) -> None:
    outcome = release(engine).run(scripted(name, seen), drain=False, snapshots=True)
    check_script(name, seen, engine, outcome)


# -- the collection itself --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_everything_that_is_named_is_looked_at(name: str) -> None:
    sections = ("runs", "boots", "formulas", "steps", "scripts", "logs")
    looked_at = {engine for part in sections for seen in CASES[name].get(part, ()) for engine in seen["of"]}
    designs = {DESIGN_OF.get(engine, engine) for engine in looked_at}
    assert {DESIGN_OF.get(engine, engine) for engine in (*CASES[name]["faulty"], *CASES[name]["fixed"])} <= designs
    assert all(Fate(seen["fate"]) for seen in CASES[name].get("runs", ()))
