"""What `check --impl` says of real releases: prediction and observation side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Command = Callable[..., Any]

pytestmark = pytest.mark.network


def report(command: Command, scaled: list[str], *arguments: str) -> dict[str, Any]:
    result = command("check", *scaled, *arguments, "--format", "json")
    return {**json.loads(result.out), "exit": result.code}


def observed(found: dict[str, Any]) -> dict[int, str]:
    engine = found["implementation"]
    seen = ((run["prompt"], each) for run in found["runs"] for each in run["observations"] if each["engine"] == engine)
    return {prompt: each["outcome"] for prompt, each in seen if each["agrees"]}


@pytest.mark.parametrize(("version", "first"), [("0.19.1", 305), ("0.21.0", 497)])
def test_a_release_never_admits_what_was_named_beforehand(
    command: Command, scaled: list[str], fetched: Callable[[str], str], version: str, first: int
) -> None:
    found = report(command, scaled, "--blocks", "39", "--impl", fetched(f"vllm=={version}"))
    assert found["exit"] == 1
    assert [part["lengths"] for part in found["unserved"]] == [{"first": first, "last": 511}]
    assert observed(found) == {first - 1: "served", first: "never admitted", 511: "never admitted"}
    assert {boot["smallest"] for boot in found["boots"]} == {39}


def test_a_sound_release_serves_everything(command: Command, scaled: list[str], fetched: Callable[[str], str]) -> None:
    found = report(command, scaled, "--blocks", "40", "--impl", fetched("vllm==0.33.0"))
    assert (found["exit"], found["unserved"]) == (0, [])
    assert observed(found) == {511: "served"}


@pytest.mark.parametrize(("blocks", "accepted"), [("40", False), ("43", False), ("44", True)])
def test_boot_with_two_batches_in_flight(
    command: Command, scaled: list[str], fetched: Callable[[str], str], blocks: str, accepted: bool
) -> None:
    found = report(command, scaled, "--blocks", blocks, "--async-scheduling", "--impl", fetched("vllm==0.33.0"))
    assert found["exit"] == (0 if accepted else 1)
    assert {boot["smallest"] for boot in found["boots"]} == {44}
    assert {boot["accepts"] for boot in found["boots"]} == {accepted}


def test_a_design_that_does_not_describe_the_release_is_inconclusive(
    command: Command, scaled: list[str], fetched: Callable[[str], str]
) -> None:
    arguments = ["check", *scaled, "--blocks", "39", "--impl", fetched("vllm==0.21.0"), "--design", "vllm-0.19"]
    result = command(*arguments)
    assert result.code == 3
    assert result.headline.startswith("INCONCLUSIVE  vllm==0.21.0 at 305 tokens is better than the formulas say")


def test_a_release_that_is_worse_than_the_design_is_refuted(
    command: Command, scaled: list[str], fetched: Callable[[str], str]
) -> None:
    arguments = ["check", *scaled, "--blocks", "40", "--impl", fetched("vllm==0.19.1"), "--design", "sound"]
    result = command(*arguments)
    assert result.code == 1
    assert result.headline.startswith("REFUTED  vllm==0.19.1 at 511 tokens is worse than the formulas say")


def test_what_is_no_implementation_is_one_line(command: Command, scaled: list[str], tmp_path: Any) -> None:
    result = command("check", *scaled, "--impl", str(tmp_path))
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)


def test_an_unknown_version_is_one_line(command: Command, scaled: list[str], fetched: Callable[[str], str]) -> None:
    fetched("vllm==0.19.1")
    result = command("check", *scaled, "--impl", "vllm==9.9.9")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)


def test_what_a_release_refuses_is_told_in_its_own_words(
    command: Command, scaled: list[str], fetched: Callable[[str], str]
) -> None:
    release = fetched("vllm==0.21.0")
    result = command("check", *scaled, "--decode-context-parallel-size", "2", "--impl", release)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith(f"poolproof: {release} refuses this deployment: DCP not support sliding window.")
    older = fetched("vllm==0.19.1")
    result = command("check", *scaled, "--watermark", "1", "--impl", older)
    assert (result.code, result.err) == (3, "poolproof: unsupported: this release has no watermark\n")


@pytest.mark.parametrize(
    ("release", "told"),
    [
        (
            "vllm==0.21.0",
            "vllm-0.20, chosen by what was found; vllm-0.21 is the same here, and the oldest",
        ),
        ("vllm==0.19.1", "vllm-0.19, chosen by what was found"),
        ("vllm==0.33.0", "vllm-0.33, chosen by what was found; it does not tell vllm-0.30 apart from it"),
    ],
)
def test_designs_that_are_not_told_apart_are_named(
    command: Command, scaled: list[str], fetched: Callable[[str], str], release: str, told: str
) -> None:
    found = report(command, scaled, "--blocks", "40", "--impl", fetched(release))
    assert dict(found["findings"])["design"].startswith(told)
