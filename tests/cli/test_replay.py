"""What `replay` shows of a saved run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from poolproof.oracle import Submission
from poolproof.oracle.engine import Allocation, RequestView, Status
from poolproof.oracle.trace import Abort, Scenario, Step, Submit
from poolproof.oracle.wording import difference_words, value_words
from poolproof.spec import Deployment, FullAttention, Group, SlidingWindow

Command = Callable[..., Any]

SCENARIO = Scenario(
    Deployment((Group(FullAttention(2)), Group(SlidingWindow(2, 2))), 8, 4, lookahead=1, blocks=9),
    (Submit(Submission("a", 5, 3)), Step(), Submit(Submission("b", 1, 2)), Step((("a", 1),)), Step(), Abort("b")),
)


@pytest.fixture
def case(tmp_path: Path) -> str:
    path = tmp_path / "case.json"
    path.write_text(SCENARIO.to_json())
    return str(path)


def test_a_bare_scenario_is_shown_step_by_step(command: Command, case: str) -> None:
    result = command("replay", case, "--design", "vllm-0.33")
    assert (result.code, result.headline) == (0, "HOLDS  the oracle of vllm-0.33 violates nothing in 6 actions")
    for shown in ("submit a: 5 tokens + 3 to generate", "step, accepting a 1", "abort b", "admitted b"):
        assert shown in result.out


def test_json_holds_every_state(command: Command, case: str) -> None:
    found = json.loads(command("replay", case, "--format", "json").out)
    assert len(found["scenes"]) == 6
    first = found["scenes"][1]["engines"][0]
    assert (first["engine"], first["scheduled"]) == ("oracle", [["a", 4]])
    assert len(first["free"]) + sum(len(table) for _, tables in first["tables"] for table in tables) == 8


def test_the_pool_is_drawn_over_time(command: Command, case: str, tmp_path: Path) -> None:
    path = tmp_path / "blocks.svg"
    command("replay", case, "--svg", str(path))
    root = ElementTree.fromstring(path.read_text())  # noqa: S314
    cells = [node for node in root.iter() if node.get("class") in ("free", "held")]
    assert len(cells) == 6 * 8


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda _: "no json", "CASE = {path}: this is no saved case: it is no JSON"),
        (lambda _: "[1]", "CASE = {path}: this is no saved case: it holds no record"),
        (lambda _: {"a": 1}, "CASE = {path}: this is no saved case: it has no format, no deployment"),
        (lambda plain: {**plain, "deployment": {}}, "CASE = {path}: this is no saved case: a field is missing"),
        (lambda plain: {**plain, "format": 99}, "format = 99: this version reads format 1"),
        (lambda plain: {**plain, "actions": [{"wait": 1}]}, "action = wait"),
        (lambda plain: {**plain, "actions": [{"submit": {"name": "a", "prompt": "x"}}]}, "prompt = x"),
        (lambda plain: {**plain, "deployment": {**plain["deployment"], "blocks": "9"}}, "blocks = 9: this is not"),
        (lambda plain: {**plain, "deployment": {**plain["deployment"], "max_num_seqs": 0}}, "max_num_seqs = 0"),
        (lambda plain: {**plain, "seen": {"design": "vllm-9"}}, "design = vllm-9"),
        (lambda plain: {**plain, "seen": {"cycle": 9}}, "cycle = 9"),
        (lambda plain: {**plain, "seen": []}, "seen = []"),
        (lambda plain: {**plain, "actions": [{"abort": "z"}]}, "name = z"),
    ],
)
def test_a_case_that_cannot_be_used_is_one_line(
    command: Command, case: str, change: Callable[[Any], Any], told: str
) -> None:
    changed = change(json.loads(Path(case).read_text()))
    Path(case).write_text(changed if isinstance(changed, str) else json.dumps(changed))
    result = command("replay", case)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1), result
    assert result.err.startswith(f"poolproof: {told.format(path=case)}"[:140])


def test_a_file_that_is_not_there_is_one_line(command: Command, tmp_path: Path) -> None:
    result = command("replay", str(tmp_path / "nothing.json"))
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)


def test_an_implementation_that_has_moved_is_asked_for(command: Command, case: str) -> None:
    plain = json.loads(Path(case).read_text())
    Path(case).write_text(json.dumps({**plain, "seen": {"implementation": "/gone/checkout"}}))
    result = command("replay", case)
    assert result.code == 2
    assert result.err.endswith("where it has moved, name it: replay CASE --impl SPEC\n")


ASKED = Allocation("b", waiting=True, refused=False, free_before=2, taken=(1,), predicted=1)


@pytest.mark.parametrize(
    ("field", "oracle", "other", "words", "shown"),
    [
        ("record.tables", {"a": ((1,),)}, {"a": ((2,),)}, "it holds other blocks for 'a'", "a (2)"),
        ("record.tables", {"a": ((1,),)}, {"a": ((1, 2),)}, "it holds 2 blocks for 'a', the oracle 1", "a (1 2)"),
        ("record.scheduled", [("a", 1)], [("a", 2)], "it schedules 2 tokens of 'a', the oracle 1", "a 2"),
        ("record.scheduled", [("a", 1)], [], "it does not schedule 'a', the oracle does", "a nothing"),
        ("record.finished", ("a", "b"), (), "it does not finish 'a' and 'b', the oracle does", "nothing"),
        ("record.admitted", (), ("a",), "it does admit 'a', the oracle does not", "a"),
        ("record.error", None, "boom", "it raises, and the oracle does not", "boom"),
        ("record.allocations", 1, 2, "it asks its pool 2 times, the oracle 1", "2"),
        (
            "record.allocations",
            replace(ASKED, refused=True),
            ASKED,
            "it grants blocks to 'b', the oracle does not",
            "b asks with 2 free: 1 taken, 1 predicted",
        ),
        ("after.free", (1, 2), (2, 1), "its free blocks stand in another order", "2, 1"),
        ("after.waiting", ("a",), (), "it differs in waiting", "nothing"),
        (
            "after.requests",
            {"a": RequestView(Status.RUNNING, 1, 2)},
            {"a": RequestView(Status.RUNNING, 2, 2)},
            "computed of 'a' is 2, in the oracle 1",
            "a computed 2",
        ),
    ],
)
def test_a_difference_is_a_sentence(field: str, oracle: Any, other: Any, words: str, shown: str) -> None:
    assert difference_words(field, oracle, other) == words
    assert value_words(field, other, oracle) == shown


@pytest.mark.network
def test_the_first_difference_is_shown(command: Command, case: str, fetched: Callable[[str], str]) -> None:
    """0.21.0 takes no slot for drafts in a first step; 0.33.0 does."""
    result = command("replay", case, "--impl", fetched("vllm==0.21.0"), "--design", "vllm-0.33")
    assert result.code == 1
    assert result.headline == (
        "REFUTED  vllm==0.21.0 parts from the oracle of vllm-0.33 at action 2: it holds 4 blocks for 'a', the oracle 6"
    )
    assert "first difference after action 2: record.tables: it holds 4 blocks for 'a'" in result.out
    marked = [line for line in result.out.splitlines() if "> record.tables: a (" in line]
    assert ["> oracle" in line for line in marked] == [True, False]
    assert command("replay", case, "--impl", "vllm==0.21.0", "--design", "vllm-0.20").code == 0
