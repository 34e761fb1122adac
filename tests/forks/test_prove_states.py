"""The managers of recurrent states of the releases, and of changed copies of them, are decided on their own code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from poolproof.forks import Implementation
from poolproof.forks.prove import OF_STATES
from poolproof.oracle.verdict import Inconclusive, Proved, Refuted, Unsupported
from poolproof.proofs.judgement import Judgement

from .conftest import RELEASES, released

pytestmark = pytest.mark.network

Release = Callable[[str], Implementation]

DRIVER = Path(__file__).with_name("first_steps.py")
HELD, PREDICTED = OF_STATES
ALIGNED = "mamba, aligned"
WITH_MODE = [version for version in RELEASES if version != "0.11.0"]
COUNTING_IN_FLIGHT = ("0.28.0", "0.30.0", "0.33.0")
FAILING = ("0.19.1", "0.20.2", "0.21.0", "0.22.1")
SPLITTING_ANYWHERE = [version for version in WITH_MODE if version not in COUNTING_IN_FLIGHT]
INTERFACE = "v1/kv_cache_interface.py"
MANAGERS = "v1/core/single_type_kv_cache_manager.py"


def judged(implementation: Implementation, name: str, speculative: int) -> list[Judgement]:
    found: tuple[Judgement, ...] = implementation.call(
        "poolproof.forks.prove:judge", {"names": [name], "number": speculative}
    )
    return list(found)


def one(judgements: Iterable[Judgement], groups: str, batches: str = "1") -> Judgement:
    (found,) = (
        each for each in judgements if each.scope.groups == (groups,) and each.scope.batches_in_flight == batches
    )
    return found


def refuted(judgement: Judgement) -> dict[str, int]:
    """Return the values of a counterexample on which the real scheduler does what the real manager does."""
    assert isinstance(judgement.verdict, Refuted), judgement
    manager, scheduler = judgement.verdict.witness.steps
    assert manager.startswith("real KVCacheManager: steps of ")
    assert scheduler.startswith("real Scheduler, offering ")
    assert manager.partition(": ")[2] == scheduler.partition(": ")[2]
    return dict(judgement.verdict.witness.values)


def proved(*judgements: Judgement) -> bool:
    return all(isinstance(each.verdict, Proved) and each.accepting == each.paths > 1 for each in judgements)


# -- the releases as they are -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", WITH_MODE)
def test_states_without_drafts_keep_to_their_reservation_with_one_batch_in_flight(
    release: Release, version: str
) -> None:
    held, predicted = (judged(release(version), name, 0) for name in OF_STATES)
    for found in (held, predicted):
        assert proved(one(found, "mamba"), one(found, ALIGNED))
    assert proved(*predicted)


@pytest.mark.parametrize("version", COUNTING_IN_FLIGHT)
def test_chunks_in_flight_hold_a_state_more_than_boot_reserves(release: Release, version: str) -> None:
    found = judged(release(version), HELD, 0)
    values = refuted(one(found, ALIGNED, "2"))
    assert values["block_size"] == values["offered_1"] == values["offered_2"] == values["offered_3"] == 1
    assert one(found, ALIGNED, "2").verdict.witness.facts == (
        "held after step 1 = 1",
        "held after step 2 = 2",
        "held after step 3 = 3",
        "reserved = 2",
    )
    assert proved(one(found, "mamba", "2"))


@pytest.mark.parametrize("version", ["0.21.0", "0.25.1"])
def test_the_end_of_a_prompt_beside_a_drafter_is_split_anywhere(release: Release, version: str) -> None:
    """Known as `split_end_of_a_prompt_keeps_states_within_their_reservation`, with the same smallest case."""
    found = judged(release(version), HELD, 1)
    values = refuted(one(found, ALIGNED))
    assert [values[name] for name in ("block_size", "offered_1", "offered_2", "offered_3")] == [3, 3, 1, 3]
    assert proved(one(found, "mamba"), one(found, "mamba", "2"), one(found, ALIGNED, "2"))
    assert proved(*judged(release(version), PREDICTED, 1))


@pytest.mark.parametrize("version", ["0.21.0", "0.25.1"])
def test_fewer_drafts_after_a_rejection_fail_an_assertion_until_it_was_lifted(release: Release, version: str) -> None:
    found = judged(release(version), PREDICTED, 2)
    assert len(found) == 2
    for judgement in found:
        if version not in FAILING:
            assert proved(judgement)
            continue
        assert refuted(judgement)["block_size"] == 5
        (fact,) = judgement.verdict.witness.facts
        assert fact.startswith("failure = AssertionError: ")
        assert judgement.verdict.witness.steps[1].endswith(fact.removeprefix("failure = "))


def test_the_newest_release_is_refuted_with_two_batches_in_flight_only(release: Release) -> None:
    for speculative in (1, 2):
        found = judged(release("0.33.0"), HELD, speculative)
        assert {type(each.verdict) for each in found if each.scope.batches_in_flight == "1"} == {Proved}
        aligned = [each for each in found if each.scope.groups == (ALIGNED,) and each.scope.batches_in_flight == "2"]
        assert aligned
        assert all(refuted(each) for each in aligned)
        assert proved(*judged(release("0.33.0"), PREDICTED, speculative))


def test_a_release_without_the_mode_is_unsupported(release: Release) -> None:
    for name in OF_STATES:
        found = judged(release("0.11.0"), name, 0)
        assert one(found, ALIGNED).verdict == Unsupported("this release has no Mamba cache mode align")


def test_the_earliest_release_forgets_the_states_of_drafts(release: Release) -> None:
    found = one(judged(release("0.11.0"), HELD, 1), "mamba")
    assert refuted(found)["block_size"] == 4
    assert found.verdict.witness.facts[-1] == "reserved = 1"


def test_the_scope_and_what_was_assumed_are_said(release: Release) -> None:
    found = judged(release("0.21.0"), HELD, 0)
    plain, aligned = one(found, "mamba"), one(found, ALIGNED)
    assert plain.scope.concrete == aligned.scope.concrete
    assert dict(aligned.scope.concrete) == {"speculative": 0, "steps": 3, "table_blocks": 4, "prefix_caching": 0}
    assert "block_size" in aligned.scope.symbolic
    assert any("takes part in every batch" in text for text in aligned.assumed)


def test_two_runs_give_the_same_record(release: Release) -> None:
    first, second = (judged(release("0.33.0"), HELD, 0) for _ in range(2))
    assert first == second


# -- the steps are those of the scheduler ----------------------------------------------------------------------------


@pytest.mark.parametrize("version", WITH_MODE)
def test_steps_of_any_sizes_are_taken_as_the_real_scheduler_takes_them(version: str) -> None:
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(released(version).root), "0.22.1", "500"],
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["differences"] == []
    assert answer["complete"] > 200
    assert bool(answer["failed"]) == (version in FAILING)


# -- changed copies -----------------------------------------------------------------------------------------------


def changed(name: str, speculative: int, *patches: tuple[str, str, str], version: str = "0.21.0") -> list[Judgement]:
    with Implementation(released(version), patches=patches) as implementation:
        return judged(implementation, name, speculative)


def test_a_copied_state_that_is_not_reserved_is_refuted() -> None:
    patch = (INTERFACE, "(2 + self.num_speculative_blocks)", "(1 + self.num_speculative_blocks)")
    found = one(changed(HELD, 0, patch), ALIGNED)
    assert refuted(found)["block_size"] == 1
    assert found.verdict.witness.facts[-1] == "reserved = 1"


def test_a_copied_state_behind_an_empty_block_that_goes_back_late_is_refuted() -> None:
    """One block late does no harm: what lies right before the running state goes back with the window."""
    line = "< cdiv(num_computed_tokens, self.block_size) - 1"
    assert proved(one(changed(HELD, 0, (MANAGERS, line, line.replace("- 1", "- 2"))), ALIGNED))
    found = one(changed(HELD, 0, (MANAGERS, line, line.replace("- 1", "- 3"))), ALIGNED)
    values = refuted(found)
    assert [values[name] for name in ("block_size", "offered_1", "offered_2", "offered_3")] == [1, 1, 2, 1]
    assert found.verdict.witness.facts[-2:] == ("held after step 3 = 3", "reserved = 2")


def test_states_that_are_taken_and_not_predicted_are_refuted() -> None:
    line = "num_tokens += self.block_size * self.num_speculative_blocks"
    patch = (MANAGERS, line, line.replace("self.num_speculative_blocks", "(1 + self.num_speculative_blocks)"))
    found = one(changed(PREDICTED, 1, patch), "mamba")
    assert refuted(found)["offered_1"] == 1
    assert found.verdict.witness.facts == ("predicted of each step = 2, 0, 0", "taken by each step = 3, 0, 0")
    assert isinstance(one(changed(HELD, 1, patch), "mamba").verdict, Refuted)


def test_a_loop_over_tokens_is_inconclusive_and_named_with_its_place() -> None:
    line = "last_state_block_idx = self.last_state_block_idx.get(request_id)"
    patch = (MANAGERS, line, f"{line}; _ = [token for token in range(num_computed_tokens)]")
    found = one(changed(HELD, 0, patch), ALIGNED)
    assert isinstance(found.verdict, Inconclusive)
    assert "beyond 5 is needed at single_type_kv_cache_manager.py" in found.verdict.reason
    assert "remove_skipped_blocks" in found.verdict.reason


def test_a_manager_that_crashes_is_refuted_by_what_it_raises() -> None:
    line = "# Record the last state block"
    patch = (MANAGERS, line, f"_ = 1 // (prev_block_len - 1); {line}")
    found = one(changed(PREDICTED, 0, patch), ALIGNED)
    refuted(found)
    assert found.verdict.witness.facts == ("failure = ZeroDivisionError: integer division or modulo by zero",)
