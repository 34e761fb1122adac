"""What `check` says of published deployments, formulas and oracle only."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

Command = Callable[..., Any]

FIELD = ["--group", "full:32", "--group", "sliding_window:16:window=1024,count=5", "--max-model-len", "262144"]
H100 = [*FIELD, "--max-num-batched-tokens", "2048", "--blocks", "14022"]
RTX_5090 = [*FIELD, "--max-num-batched-tokens", "16384", "--blocks", "29346"]


def report(command: Command, *arguments: str) -> dict[str, Any]:
    result = command("check", *arguments, "--format", "json")
    assert result.err == ""
    return {**json.loads(result.out), "exit": result.code}


@pytest.mark.parametrize(
    ("blocks", "design", "first", "code"),
    [
        ("39", "vllm-0.19", 305, 1),
        ("62", "vllm-0.19", 481, 1),
        ("39", "vllm-0.20", 497, 1),
        ("39", "vllm-0.28", 497, 1),
        ("40", "vllm-0.30", None, 0),
        ("40", "sound", None, 0),
        ("39", "vllm-0.11", None, 0),
    ],
)
def test_the_scaled_gate_refuses_exactly_from(
    command: Command, scaled: list[str], blocks: str, design: str, first: int | None, code: int
) -> None:
    found = report(command, *scaled, "--blocks", blocks, "--design", design)
    ranges = [(part["lengths"]["first"], part["lengths"]["last"]) for part in found["unserved"]]
    assert ranges == ([] if first is None else [(first, 511)])
    assert found["exit"] == code
    assert found["verdict"]["kind"] == ("refuted" if code else "holds")
    assert all(seen["agrees"] for run in found["runs"] for seen in run["observations"])
    borders = {run["prompt"] for run in found["runs"]}
    assert borders == ({511} if first is None else {first - 1, first, 511})


@pytest.mark.parametrize(
    ("deployment", "requirement", "concurrency", "limit"), [(H100, 9157, 1.531, 40784), (RTX_5090, 13637, 2.152, 85360)]
)
def test_field_reports_give_their_published_numbers(
    command: Command, deployment: list[str], requirement: int, concurrency: float, limit: int
) -> None:
    found = report(command, *deployment, "--design", "vllm-0.19")
    assert (found["boot"]["blocks"], found["concurrency"]) == (requirement, concurrency)
    assert found["unserved"][0]["lengths"]["first"] == limit + 1
    fixed = report(command, *deployment, "--design", "vllm-0.20")
    assert (fixed["boot"]["blocks"], fixed["concurrency"], fixed["exit"]) == (requirement, concurrency, 0)
    sound = report(command, *deployment)
    assert (sound["boot"]["blocks"], sound["boot"]["null_block"], sound["exit"]) == (requirement + 1, 1, 0)


def test_boot_refuses_a_pool_below_its_requirement(command: Command, scaled: list[str]) -> None:
    result = command("check", *scaled, "--blocks", "43", "--async-scheduling")
    assert result.code == 1
    assert result.headline == "REFUTED  boot refuses a pool of 43 blocks; the smallest that it accepts is 44"
    assert command("check", *scaled, "--blocks", "44", "--async-scheduling").code == 0


def test_the_least_pool_is_used_where_none_is_given(command: Command, scaled: list[str]) -> None:
    found = report(command, *scaled)
    assert (found["blocks"], found["pool"]) == (40, "not given: the smallest that sound boots with")


def test_formulas_are_shown_with_their_numbers(command: Command, scaled: list[str]) -> None:
    out = command("check", *scaled, "--blocks", "39", "--design", "vllm-0.20").out
    assert "ceil(min(32-1 + 64, 512)/16) + 1 = ceil(95/16) + 1 = 7" in out
    assert "min(ceil(497/16), ceil(min(32-1 + 64, 512)/16) + 1) = min(32, 7) = 7" in out
    assert "the gate demands 32 + 7 = 39 blocks for 497 tokens, and an empty pool has 38" in out


def test_a_request_that_grows_past_the_border_is_spoken_of(command: Command, scaled: list[str]) -> None:
    growth = report(command, *scaled, "--blocks", "39", "--design", "vllm-0.19")["growth"]
    assert growth.startswith("a request that grows to 305 tokens or more and is then preempted is never admitted again")
    assert growth.endswith("alone it keeps what it has (at most 35 of 38 blocks)")


def test_a_misaligned_chunk_is_refuted_with_the_exact_condition(command: Command) -> None:
    result = command(
        "check", "--group", "chunked_local:3:chunk=1", "--max-model-len", "4", "--max-num-batched-tokens", "2"
    )
    assert result.code == 1
    assert "holds 2 blocks of [chunked_local, block 3, chunk 1] where boot and gate count 1" in result.headline
    assert "only where the block size divides the chunk, or is 2 (here 3 and 1)" in result.out
    assert "held = ceil(min(2 + 2 + 0, 4)/3) - floor(floor(2/1)*1/3) = 2" in result.out


@pytest.mark.parametrize("chunk", ["6", "3"])
def test_an_aligned_chunk_holds(command: Command, chunk: str) -> None:
    group = f"chunked_local:3:chunk={chunk}"
    assert command("check", "--group", group, "--max-model-len", "40", "--max-num-batched-tokens", "5").code == 0


def test_lookahead_that_nobody_pays_for_is_refuted(command: Command) -> None:
    sizes = ["--max-model-len", "131072", "--max-num-batched-tokens", "2048"]
    deployment = ["--group", "sliding_window:16:window=1024", *sizes]
    found = report(command, *deployment, "--num-speculative-tokens", "3", "--design", "vllm-0.33")
    values = dict(found["verdict"]["witness"]["values"])
    assert (values["computed"], values["scheduled"], values["held"], values["cap"]) == (1038, 2048, 194, 193)
    assert report(command, *deployment, "--num-speculative-tokens", "1", "--design", "vllm-0.33")["exit"] == 0
    assert report(command, *deployment, "--num-speculative-tokens", "3")["exit"] == 0


def test_a_picture_that_fails_late_takes_no_verdict_away(
    command: Command, scaled: list[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("poolproof.render.saving.reserve", lambda *_: None)
    result = command("check", *scaled, "--blocks", "39", "--svg", str(tmp_path))
    assert result.code == 1
    assert result.headline.startswith("REFUTED  ")
    assert "the verdict stands" in result.err


def test_without_a_gate_a_request_may_preempt_itself_for_ever(command: Command) -> None:
    deployment = ["--group", "full:16", "--max-model-len", "512", "--max-num-batched-tokens", "64", "--blocks", "20"]
    result = command("check", *deployment, "--design", "vllm-0.11")
    assert result.code == 1
    assert "305 to 511 tokens: admitted, preempts itself for ever" in result.out


def test_two_runs_give_the_same_bytes(command: Command, scaled: list[str]) -> None:
    for form in ("text", "json"):
        arguments = ["check", *scaled, "--blocks", "39", "--format", form]
        assert command(*arguments).out == command(*arguments).out


def test_the_replay_line_gives_the_same_report(command: Command, scaled: list[str]) -> None:
    arguments = [*scaled, "--blocks", "39", "--async-scheduling", "--design", "vllm-0.20"]
    found = report(command, *arguments)
    again = report(command, *found["replay"].split()[2:])
    assert again == found


def test_the_curves_are_drawn(command: Command, scaled: list[str], tmp_path: Any) -> None:
    path = tmp_path / "curves.svg"
    command("check", *scaled, "--blocks", "39", "--design", "vllm-0.19", "--svg", str(path))
    drawn = path.read_text()
    assert drawn.startswith("<svg ")
    assert "not served from 305 tokens" in drawn
    refused = command("check", *scaled, "--svg", str(path / "x.svg"))
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("blocks", ["1", "2", "9"])
@pytest.mark.parametrize("design", ["sound", "vllm-0.33", "vllm-0.19", "vllm-0.11"])
def test_where_no_prompt_is_legal_nothing_is_said(command: Command, blocks: str, design: str) -> None:
    words = ["--group", "full:1", "--max-model-len", "1", "--max-num-batched-tokens", "1", "--blocks", blocks]
    result = command("check", *words, "--design", design)
    assert result.code == 4
    assert result.headline == "VACUOUS  no prompt is legal, so that nothing is said about this pool"
    assert "prompts      none is legal" in result.out
    assert "served" not in result.out
    assert "1 to 0" not in result.out
    assert "admitted" not in result.out
    assert report(command, *words)["verdict"]["kind"] == "vacuous"


def test_the_scope_says_how_prefix_caching_was_treated(command: Command, scaled: list[str]) -> None:
    told = "prefix caching enabled, and not modelled: the formulas and the oracle judge it as off"
    assert told in report(command, *scaled, "--enable-prefix-caching")["scope"]
    assert "prefix caching off" in report(command, *scaled)["scope"]
    assert "scope        prefix caching off\n" in command("check", *scaled).out


def test_who_judges_by_default_is_said_and_named_in_the_replay(command: Command, scaled: list[str]) -> None:
    result = command("check", *scaled)
    assert "judged by the proved design `sound`, which is no vLLM release" in result.out.splitlines()[2]
    assert result.out.rstrip().endswith("--design sound")
    found = report(command, *scaled, "--blocks", "40")
    assert report(command, *found["replay"].split()[2:]) == found
    assert "sound" not in command("check", *scaled, "--design", "vllm-0.33").out


def test_one_of_a_thing_is_in_the_singular(command: Command) -> None:
    words = ["--group", "full:1", "--max-model-len", "2", "--max-num-batched-tokens", "1", "--blocks", "3"]
    out = command("check", *words).out
    assert "(1 step, peak 1)" in out
    assert not re.search(r"\b1 (blocks|steps|tokens)\b", out)
