"""The first steps of a request are decided over any manager of states: here over toys that keep them well or badly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from poolproof.oracle.verdict import Inconclusive, Proved, Refuted, Unsupported, Vacuous
from poolproof.proofs.decisions import Decisions, History, Replay, StateRun, StateStep
from poolproof.proofs.judgement import Judgement
from poolproof.proofs.settings import aligned_states, states
from poolproof.proofs.state_properties import (
    Course,
    boot_covers_held,
    courses,
    prediction_covers_allocation,
)
from poolproof.proofs.symbolic import examine
from poolproof.spec import Deployment, UnsupportedError

Steps = Callable[[Deployment, History], StateRun]
CHUNKS = Course(aligned_states(0), 0, 1, 3, 4)


def blocks(tokens: Any, size: Any) -> Any:
    return -(tokens // -size)


def keeping(most: int, *, predicting: int = 1, fails_beyond: int = 99) -> Steps:
    """Keep the states of the last blocks, at most so many; a step that reaches further blocks than some fails."""

    def steps(deployment: Deployment, history: History) -> StateRun:
        (group,) = deployment.groups
        computed, taken = 0, []
        for offered in history.offered:
            before = blocks(computed, group.cache.block_size)
            after = blocks(computed + offered, group.cache.block_size)
            if after > fails_beyond:
                return StateRun(tuple(taken), computed, 0, "AssertionError: too far")
            computed = computed + offered
            taken.append(StateStep(offered, predicting, int(after > before), min(after, most)))
        return StateRun(tuple(taken), computed, 0)

    return steps


def decisions(steps: Steps, reserved: int = 2) -> Decisions:
    def unused(*_: Any) -> Any:
        raise AssertionError("not asked")

    seen = lambda *_: Replay(True, ("seen",))  # noqa: E731
    return Decisions(unused, unused, unused, unused, lambda _: reserved, steps, unused, unused, seen)


def held(steps: Steps, reserved: int = 2, course: Course = CHUNKS) -> Judgement:
    return examine(boot_covers_held(decisions(steps, reserved), course))


def predicted(steps: Steps, course: Course = CHUNKS) -> Judgement:
    return examine(prediction_covers_allocation(decisions(steps), course))


def test_states_within_their_reservation_are_proved_for_every_length() -> None:
    found = held(keeping(2))
    assert isinstance(found.verdict, Proved)
    assert found.scope.symbolic == (
        "block_size",
        "max_num_batched_tokens",
        "max_model_len",
        "prompt",
        "offered_1",
        "offered_2",
        "offered_3",
    )
    assert found.scope.concrete == (("speculative", 0), ("steps", 3), ("table_blocks", 4), ("prefix_caching", 0))
    assert found.accepting == found.paths > 10


def test_a_state_too_many_is_refuted_by_the_smallest_history() -> None:
    found = held(keeping(3))
    assert isinstance(found.verdict, Refuted)
    assert dict(found.verdict.witness.values)["block_size"] == 1
    assert found.verdict.witness.facts[-2:] == ("held after step 3 = 3", "reserved = 2")


def test_a_step_that_takes_more_than_predicted_is_refuted() -> None:
    assert isinstance(predicted(keeping(2)).verdict, Proved)
    found = predicted(keeping(2, predicting=0))
    assert isinstance(found.verdict, Refuted)
    assert isinstance(predicted(keeping(2, predicting=-1)).verdict, Refuted)


def test_a_step_that_fails_is_refuted_by_what_it_raises() -> None:
    found = predicted(keeping(2, fails_beyond=3))
    assert isinstance(found.verdict, Refuted)
    assert found.verdict.witness.facts == ("failure = AssertionError: too far",)
    assert isinstance(held(keeping(2, fails_beyond=3)).verdict, Proved), "what it holds until then is within"


def test_a_request_that_gets_nowhere_proves_nothing() -> None:
    idle = lambda *_: StateRun((), 0, 0)  # noqa: E731
    assert isinstance(held(idle).verdict, Vacuous)
    assert isinstance(predicted(idle).verdict, Vacuous)


def test_drafts_that_are_never_rejected_prove_nothing() -> None:
    course = Course(aligned_states(1), 1, 1, 3, 3, decodes=True)
    assert isinstance(held(keeping(2), course=course).verdict, Vacuous)


def test_a_manager_that_counts_further_than_the_tables_reach_is_inconclusive() -> None:
    def steps(deployment: Deployment, history: History) -> StateRun:
        return StateRun((StateStep(1, 1, 1, len(range(deployment.max_model_len))),), 1, 0)

    found = held(steps)
    assert isinstance(found.verdict, Inconclusive)
    assert "beyond 5" in found.verdict.reason


def test_what_an_implementation_has_not_is_unsupported() -> None:
    def steps(*_: Any) -> StateRun:
        raise UnsupportedError("no such mode")

    assert held(steps).verdict == Unsupported("no such mode")


@pytest.mark.parametrize(("speculative", "counts"), [(0, False), (0, True), (1, False), (1, True), (2, True)])
def test_late_settling_is_looked_at_where_it_can_matter(speculative: int, counts: bool) -> None:
    found = list(courses(speculative, counts))
    late = [course for course in found if course.batches == 2 and course.shape.groups == ("mamba, aligned",)]
    assert bool(late) == (counts or speculative > 0)
    assert all(course.speculative == speculative for course in found)
    assert all(course.steps >= 2 + course.batches for course in found if course.decodes)


def test_only_rejections_that_a_later_step_sees_are_varied() -> None:
    names = lambda *course: [variable.name for variable in Course(*course).accepted]  # noqa: E731
    assert names(states(0), 0, 1, 3, 4) == []
    assert names(states(1), 1, 1, 3, 4) == ["accepted_2"]
    assert names(states(1), 1, 2, 3, 4) == []
    assert names(states(1), 1, 2, 4, 4) == ["accepted_2"]
