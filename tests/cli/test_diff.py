"""What `diff` says of forks: nothing of a faithful copy, and of one changed line a short run that shows it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .forked import SLIPS, renamed, slipped

Command = Callable[..., Any]
Fork = Callable[[str], Path]

OLD, NEW = "vllm==0.21.0", "vllm==0.33.0"
SHOWN = ("preemption", "resume", "recycling", "gate refusal", "draft rejection", "abort", "finish")

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def fork(tmp_path_factory: pytest.TempPathFactory, fetched: Callable[[str], str]) -> Fork:
    """Copy a release once, its root package renamed."""
    made: dict[str, Path] = {}

    def make(spec: str) -> Path:
        if spec not in made:
            made[spec] = renamed(fetched(spec), tmp_path_factory.mktemp("fork"))
        return made[spec]

    return make


def report(command: Command, *arguments: str) -> dict[str, Any]:
    result = command("diff", *arguments, "--format", "json")
    return {**json.loads(result.out), "exit": result.code}


@pytest.mark.parametrize(("spec", "design"), [(OLD, "vllm-0.22"), (NEW, "vllm-0.33")])
def test_a_faithful_fork_shows_no_difference(command: Command, fork: Fork, spec: str, design: str) -> None:
    found = report(command, str(fork(spec)))
    assert (found["exit"], found["verdict"]["kind"], found["parted"]) == (0, "holds", None)
    assert (found["design"], found["scenarios"]) == (design, 500)
    covered = {count["what"]: count["times"] for count in found["coverage"]}
    assert all(covered[kind] >= 30 for kind in SHOWN), covered


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("spec", [OLD, NEW])
def test_one_changed_line_is_caught_and_replayed(
    command: Command, fork: Fork, tmp_path: Path, spec: str, slip: str
) -> None:
    with slipped(fork(spec), SLIPS[slip]):
        found = report(command, str(fork(spec)), "--save", str(tmp_path))
        assert (found["exit"], found["verdict"]["kind"]) == (1, "refuted")
        assert len(found["parted"]["actions"]) <= 12
        again = command(*found["parted"]["replay"].split()[1:])
        assert again.code == 1
        assert again.headline.startswith("REFUTED")
        assert found["parted"]["field"] in again.out
    repaired = command("replay", found["parted"]["case"])
    assert (repaired.code, repaired.headline[:5]) == (0, "HOLDS")
