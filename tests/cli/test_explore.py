"""What `explore` finds: every known fault with its shortest run, and none in the sound design."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from poolproof.running.search import Search
from poolproof.spec import Deployment, FullAttention, Group

Command = Callable[..., Any]


def deployment(groups: str, length: int, budget: int, blocks: int, *more: str) -> list[str]:
    named = [word for group in groups.split() for word in ("--group", group)]
    sizes = ("--max-model-len", length, "--max-num-batched-tokens", budget, "--blocks", blocks)
    return [*named, *map(str, sizes), *more]


RUN_OUT = deployment("full:1", 3, 3, 3, "--request", "1:2", "--request", "1:2", "--goal", "runs_out", "--forced")
GATE = deployment("full:2 sliding_window:1:window=1", 4, 1, 5, "--request", "3:1")
NULL_BLOCK = deployment("full:2", 4, 4, 2, "--request", "3:1")
REFILL = deployment("full:1", 5, 2, 4, "--request", "4:1")
CAPPED_GATE = deployment("sliding_window:2:window=2", 10, 3, 3, "--request", "9:1")
CAPPED_STEP = deployment("sliding_window:2:window=2 full:2", 6, 1, 5, "--request", "1:5", "--goal", "raises")


def report(command: Command, *arguments: str) -> dict[str, Any]:
    result = command("explore", *arguments, "--format", "json")
    return {**json.loads(result.out), "exit": result.code}


@pytest.mark.parametrize(
    ("arguments", "design", "name", "actions", "states", "transitions"),
    [
        (GATE, "vllm-0.19", "idle_means_done", 2, 2, 2),
        (NULL_BLOCK, "vllm-0.28", "idle_means_done", 2, 2, 2),
        (REFILL, "vllm-0.11", "progress", 4, 4, 4),
        (CAPPED_GATE, "coordinator-caps-window", "progress", 5, 5, 5),
        (CAPPED_STEP, "allocator-predicts-capped", "prediction_covers_allocation", 6, 6, 6),
    ],
)
def test_a_known_fault_has_its_shortest_run(
    command: Command, arguments: list[str], design: str, name: str, actions: int, states: int, transitions: int
) -> None:
    found = report(command, *arguments, "--design", design)
    first = next(each for each in found["reached"] if not each["goal"])
    assert (found["exit"], first["name"], len(first["scenes"])) == (1, name, actions)
    assert (found["states"], found["transitions"]) == (states, transitions)


def test_two_blocks_run_out_under_two_requests(command: Command) -> None:
    """Two that were admitted want a second block each; the sound gate admits them one after the other."""
    found = report(command, *RUN_OUT, "--design", "vllm-0.33")
    (reached,) = found["reached"]
    assert (found["exit"], reached["name"], reached["goal"]) == (0, "runs_out", True)
    assert len(reached["scenes"]) == 4
    assert (found["states"], found["transitions"]) == (20, 24)
    assert report(command, *RUN_OUT, "--design", "sound")["reached"] == []


@pytest.mark.parametrize("arguments", [GATE, NULL_BLOCK, CAPPED_GATE])
def test_the_sound_design_refuses_the_pool_at_boot_or_has_no_fault(command: Command, arguments: list[str]) -> None:
    result = command("explore", *arguments, "--design", "sound")
    refused = "the boot of sound refuses a pool of" in result.headline
    assert result.code == (1 if refused else 0)
    assert command("explore", *arguments, "--design", "sound", "--forced").code in {0, 1}


def test_requests_are_chosen_where_none_is_named(command: Command) -> None:
    found = report(command, "--group", "full:1", "--max-model-len", "4", "--max-num-batched-tokens", "2")
    assert found["requests"] == ["a: 3 tokens + 1 to generate", "b: 1 token + 3 to generate"]
    assert (found["exit"], found["reached"]) == (0, [])


def test_a_fault_is_saved_and_replayed(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    command("explore", *CAPPED_GATE, "--design", "coordinator-caps-window", "--save", str(path))
    again = command("replay", str(path))
    assert again.code == 1
    told = "goes wrong at action 6: a state repeats for ever, and 'a' is unfinished"
    assert again.headline == f"REFUTED  the oracle of coordinator-caps-window {told}"


def test_the_first_line_is_a_sentence(command: Command) -> None:
    result = command("explore", *GATE, "--design", "vllm-0.19")
    assert result.headline == (
        "REFUTED  the oracle of vllm-0.19 goes wrong: after 2 actions nothing moves, and 'a' is unfinished"
    )
    assert "idle_means_done violated: nothing moves, and 'a' is unfinished" in result.out


def test_the_run_is_drawn(command: Command, tmp_path: Path) -> None:
    dot, svg = tmp_path / "run.dot", tmp_path / "run.svg"
    command("explore", *CAPPED_GATE, "--design", "coordinator-caps-window", "--dot", str(dot), "--svg", str(svg))
    assert 's4 -> s2 [label="step", color=red];' in dot.read_text()
    texts = [node.text for node in ElementTree.fromstring(svg.read_text()).iter() if node.text]  # noqa: S314
    assert "step, for ever" in texts


def test_nothing_to_draw_is_said(command: Command, tmp_path: Path) -> None:
    sizes = ["--group", "full:1", "--max-model-len", "3", "--max-num-batched-tokens", "2"]
    result = command("explore", *sizes, "--svg", str(tmp_path / "none.svg"))
    assert (result.code, result.err) == (0, "--svg: nothing was found, so that nothing is drawn\n")
    result = command("explore", *sizes, "--save", str(tmp_path / "none.json"))
    assert (result.code, result.err) == (0, "--save: no fault was found, so that nothing is saved\n")
    result = command("explore", *sizes, "--save", str(tmp_path / "new" / "none.json"))
    assert result.code == 2
    assert "its directory does not exist" in result.err
    assert not (tmp_path / "new").exists()
    assert command("explore", *sizes, "--dot", str(tmp_path)).code == 2


def test_too_many_states_are_no_answer(command: Command) -> None:
    result = command("explore", *RUN_OUT, "--limit", "5")
    assert (result.code, result.err) == (3, "")
    assert result.headline.startswith("INCONCLUSIVE  the oracle of sound has no fault in the first 5 states")
    assert "raise --limit" in result.headline
    assert "not reached  runs_out" in result.out


def test_a_large_deployment_is_given_up_early(command: Command) -> None:
    sizes = ["--max-model-len", "131072", "--max-num-batched-tokens", "65536", "--limit", "20"]
    groups = ["--group", "full:16", "--group", "sliding_window:16:window=1024,count=5"]
    assert command("explore", *groups, *sizes).code == 3
    few = Search(Deployment((Group(FullAttention(16)),), 8, 8, blocks=9), None, None, (), (), False, False, None, None)
    assert (few.most(few.deployment), few.most(replace(few.deployment, blocks=20_000))) == (200_000, 1_000)
    assert replace(few, implementation="x").most(few.deployment) == 20_000


def test_a_refused_pool_is_refuted_as_check_does(command: Command) -> None:
    result = command("explore", *NULL_BLOCK, "--design", "sound")
    assert (result.code, result.err) == (1, "")
    assert result.headline == (
        "REFUTED  the boot of sound refuses a pool of 2 blocks; the smallest that it accepts is 3; --forced skips boot"
    )
    assert "searched     nothing" in result.out


def test_goals_are_told_whether_reached_or_not(command: Command) -> None:
    result = command("explore", *RUN_OUT, "--design", "sound")
    assert "not reached  runs_out" in result.out
    assert "searched for, too, and no fault: runs_out" in result.out


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--request", "x"], "poolproof: --request = x: this is no request"),
        (["--request", "9:1"], "poolproof: prompt = 9: no output token would fit"),
        (["--goal", "x"], "poolproof: --goal = x: nothing of this name is searched for"),
    ],
)
def test_what_cannot_be_used_is_one_line(command: Command, more: list[str], told: str) -> None:
    result = command("explore", *deployment("full:1", 3, 3, 5), *more)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith(told)


@pytest.mark.network
def test_a_release_is_searched_and_its_run_replayed(
    command: Command, fetched: Callable[[str], str], tmp_path: Path
) -> None:
    path = tmp_path / "case.json"
    found = report(command, *GATE, "--impl", fetched("vllm==0.19.1"), "--save", str(path))
    oracle = report(command, *GATE, "--design", "vllm-0.19")
    assert (found["exit"], found["states"], found["transitions"]) == (1, oracle["states"], oracle["transitions"])
    assert command("replay", str(path)).code == 1
    fixed = report(command, *GATE, "--impl", fetched("vllm==0.21.0"))
    assert (fixed["exit"], fixed["reached"]) == (0, [])


@pytest.mark.network
def test_a_pool_that_a_release_refuses_is_refuted(command: Command, fetched: Callable[[str], str]) -> None:
    result = command("explore", *NULL_BLOCK, "--impl", fetched("vllm==0.33.0"))
    assert result.code == 1
    assert "refuses a pool of 2 blocks; the smallest that it accepts is 3; --forced" in result.headline


@pytest.mark.network
def test_two_requests_on_a_release_reach_the_states_of_the_oracle(
    command: Command, fetched: Callable[[str], str]
) -> None:
    found = report(command, *RUN_OUT, "--impl", fetched("vllm==0.33.0"))
    oracle = report(command, *RUN_OUT, "--design", "vllm-0.33")
    assert [found[field] for field in ("states", "transitions", "exit")] == [
        oracle[field] for field in ("states", "transitions", "exit")
    ]
