"""`audit` lists what verdicts rest on; the list that is committed is current, and any change is noticed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from poolproof.forks.audit import audit
from poolproof.forks.interpretation import ASSUMED
from poolproof.forks.loader import SHIMS
from poolproof.proofs.needed import stored
from poolproof.proofs.registry import THEOREMS

KEPT = Path(__file__).parents[2] / "docs" / "audit.json"
Command = Callable[..., Any]


def test_the_committed_list_is_current(command: Command) -> None:
    """`POOLPROOF_REFRESH=1 python -m pytest tests/cli/test_audit.py` writes it anew."""
    if os.environ.get("POOLPROOF_REFRESH"):
        KEPT.write_text(command("audit", "--format", "json").out)
    result = command("audit", "--compare", str(KEPT))
    assert result.code == 0, result.out
    assert KEPT.read_text() == command("audit", "--format", "json").out


@pytest.mark.parametrize(("change", "sign"), [("removed", "+"), ("added", "-"), ("reworded", "+")])
def test_any_change_fails(command: Command, tmp_path: Path, change: str, sign: str) -> None:
    document = json.loads(command("audit", "--format", "json").out)
    entries = document["entries"]
    if change == "removed":
        del entries[3]
    elif change == "added":
        entries.append({"area": "loader", "about": "everything", "text": "replaced: why not"})
    else:
        entries[-1]["text"] += "!"
    (tmp_path / "old.json").write_text(json.dumps(document))
    result = command("audit", "--compare", str(tmp_path / "old.json"))
    assert result.code == 1
    assert result.out.startswith(sign)


def test_the_list_is_complete() -> None:
    entries = audit()
    by_area = {area: [entry for entry in entries if entry.area == area] for area in {entry.area for entry in entries}}
    assert {entry.about for entry in by_area["theorems"]} == {theorem.name for theorem in THEOREMS}
    used = [text for name, needed in stored().items() for text in needed]
    assert sum(entry.text.startswith("assumes ") for entry in by_area["theorems"]) == len(used)
    assert {shim.where for shim in SHIMS} < {entry.about for entry in by_area["loader"]}
    assert {f"assumes {text}" for text in ASSUMED} < {entry.text for entry in by_area["implementations"]}
    assert len(set(entries)) == len(entries)


@pytest.mark.network
def test_an_implementation_adds_what_was_assumed_of_it(command: Command, fetched: Callable[[str], str]) -> None:
    found = json.loads(command("audit", "--impl", fetched("vllm==0.33.0"), "--format", "json").out)["entries"]
    ours = {entry["about"]: entry["text"] for entry in found if entry["area"] == "vllm==0.33.0"}
    assert ours["model"].startswith("assumes decoder-only")
    assert ours["v1.core.block_pool"] == "read eager"


@pytest.mark.parametrize("content", ["", "[]", '{"entries": 3}', '{"entries": [{"area": 1}]}'])
def test_what_is_no_list_is_one_line(command: Command, tmp_path: Path, content: str) -> None:
    (tmp_path / "old.json").write_text(content)
    result = command("audit", "--compare", str(tmp_path / "old.json"))
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert command("audit", "--compare", str(tmp_path / "nowhere.json")).code == 2
