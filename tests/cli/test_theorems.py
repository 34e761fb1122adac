"""`prove`, `list` and `explain`: made from the registry, stable, honest about failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from poolproof.proofs.registry import THEOREMS

Command = Callable[..., Any]

SOME = ["window_stays_within_cap", "window_with_any_lookahead_stays_within_cap"]


def test_proving_shows_claims_covers_and_mutants(command: Command) -> None:
    result = command("prove", *SOME, "--jobs", "1")
    assert result.code == 0
    assert result.headline.startswith("PROVED  1 theorem for all values; 1 false variant refuted; ")
    assert "lookahead = 2" in result.out
    assert "replayed on integers" in result.out
    assert result.out.rstrip().endswith(f"replay  poolproof prove {' '.join(SOME)}")
    assert "2 theorems in" in result.err


def test_proofs_as_json_are_the_same_bytes_twice_and_with_more_jobs(command: Command) -> None:
    once = command("prove", *SOME, "--jobs", "1", "--format", "json").out
    assert once == command("prove", *SOME, "--jobs", "2", "--format", "json").out
    theorems = json.loads(once)["theorems"]
    assert [theorem["name"] for theorem in theorems] == SOME
    assert [theorem["claim"]["kind"] for theorem in theorems] == ["proved", "refuted"]


def test_a_family_is_selected_by_name(command: Command) -> None:
    found = json.loads(command("list", "rounding", "--format", "json").out)["theorems"]
    assert {entry["family"] for entry in found} == {"rounding"}
    assert command("prove", "--family", "rounding", "--jobs", "1").code == 0


def test_a_solver_that_gives_up_is_inconclusive(command: Command) -> None:
    result = command("prove", "window_stays_within_cap", "--jobs", "1", "--rlimit", "100")
    assert result.code == 3
    assert result.headline == "INCONCLUSIVE  1 of 1 not settled: window_stays_within_cap is inconclusive"
    assert "raise its limit with --rlimit" in result.out


def test_a_solver_that_runs_out_of_time_names_the_option_that_gives_it_more(command: Command) -> None:
    result = command("prove", "window_stays_within_cap", "--jobs", "1", "--timeout", "0.001")
    assert result.code == 3
    assert result.headline.startswith("INCONCLUSIVE  1 of 1 not settled: ")
    assert "raise its limit with --timeout" in result.out


def test_a_false_variant_alone_is_as_recorded(command: Command) -> None:
    result = command("prove", SOME[1], "--jobs", "1")
    assert result.code == 0
    assert result.headline.startswith("AS RECORDED  1 false variant refuted; ")
    assert "1 theorem in" in result.err


def test_files_are_refused_before_anything_is_proved(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = command("prove", SOME[0], "--smtlib", str(tmp_path / "file"))
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)


def test_piped_output_never_wraps(command: Command) -> None:
    lines = command("list").out.splitlines()
    for theorem in THEOREMS:
        assert any(theorem.name in line and line.endswith(theorem.sentence) for line in lines)


def test_every_theorem_is_listed_and_explained(command: Command) -> None:
    listed = json.loads(command("list", "--format", "json").out)["theorems"]
    assert [entry["name"] for entry in listed] == [theorem.name for theorem in THEOREMS]
    for theorem in THEOREMS:
        result = command("explain", theorem.name)
        assert result.code == 0
        assert theorem.sentence in result.out


def test_an_explanation_shows_the_formulas_and_the_smallest_counterexample(command: Command) -> None:
    out = command("explain", SOME[1]).out
    assert "return table - recycled(cache, processed)" in out
    assert "return cdiv(minimum(self.retained() + in_flight_tokens, max_model_len), self.block_size) + 1" in out
    assert "smallest counterexample\n  block_size = 1, window = 1" in out
    found = json.loads(command("explain", SOME[0], "--format", "json").out)
    assert found["counterexample"] == []
    assert "held (blocks)" in found["definitions"]


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_list_is_the_same_bytes_twice(command: Command, form: str) -> None:
    assert command("list", "--format", form).out == command("list", "--format", form).out


def test_answers_are_kept_between_runs_but_never_under_ci(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("POOLPROOF_CACHE_DIR", str(tmp_path))
    prove = ("prove", SOME[0], "--jobs", "1")
    anew, kept = command(*prove), command(*prove)
    assert anew.out == kept.out
    assert "recalled" not in anew.err
    assert "answers recalled (--no-cache asks again)" in kept.err
    assert "recalled" not in command(*prove, "--no-cache").err
    monkeypatch.setenv("CI", "true")
    assert "recalled" not in command(*prove).err


def test_a_cache_that_cannot_be_kept_is_told_and_changes_nothing(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("POOLPROOF_CACHE_DIR", str(tmp_path / "file"))
    result = command("prove", SOME[0], "--jobs", "1")
    assert result.code == 0
    assert result.err.startswith("no answers are kept between runs: ")
