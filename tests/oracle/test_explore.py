"""The whole state space of small engines: exact counts, and the shortest way to each known fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from poolproof.oracle import Oracle, Submission, boot
from poolproof.oracle.explore import GOALS, explore, reexecuted, search
from poolproof.oracle.invariants import promised
from poolproof.oracle.lone import progress_key
from poolproof.oracle.trace import Abort, Scenario, Step, Submit, replay
from poolproof.spec import (
    DESIGNS,
    SOUND,
    Deployment,
    Design,
    FullAttention,
    Group,
    SlidingWindow,
    named,
)
from poolproof.spec.attention import Attention

PAIR = (Submission("a", 2, 2), Submission("b", 1, 2))


def small(*caches: Attention, length: int, budget: int, blocks: int | None = None, lookahead: int = 0) -> Deployment:
    groups = tuple(Group(cache) for cache in caches)
    return Deployment(groups, length, budget, blocks=blocks, lookahead=lookahead)


def last_record(scenario: Scenario, design: Design) -> object:
    return replay(scenario, boot(scenario.deployment, design, forced=True))[-1].record


def test_the_run_out_at_two_usable_blocks() -> None:
    """The gate looks at the blocks that are free now, so that two requests which grow are let in together."""
    deployment = small(FullAttention(1), length=3, budget=2, blocks=3)
    requests = (Submission("a", 1, 2), Submission("b", 1, 2))
    found = explore(deployment, named("vllm-0.33"), requests, goals=["runs_out"], forced=True)
    assert (found.states, found.transitions) == (20, 24)
    violation = found.found("runs_out")
    assert violation is not None
    assert [type(action) for action in violation.scenario.actions] == [Submit, Submit, Step, Step]
    assert [violation.name for violation in found.violations] == ["runs_out"], "nobody is stuck: the last one waits"
    prefill_only = (Submission("a", 2, 1), Submission("b", 2, 1))
    assert explore(deployment, named("vllm-0.33"), prefill_only, goals=["runs_out"], forced=True).holds
    assert explore(deployment, SOUND, requests, goals=["runs_out"], forced=True).holds


@pytest.mark.parametrize(
    ("design", "deployment", "request_a", "name", "actions", "cycle", "states"),
    [
        ("vllm-0.19", small(SlidingWindow(1, 1), length=4, budget=1, blocks=3), (3, 1), "idle_means_done", 2, 0, 7),
        ("vllm-0.28", small(FullAttention(2), length=4, budget=4), (3, 1), "idle_means_done", 2, 0, 7),
        ("vllm-0.11", small(FullAttention(2), length=4, budget=2), (3, 1), "progress", 4, 2, 13),
        ("vllm-0.20", small(FullAttention(1), length=4, budget=1, lookahead=1), (3, 1), "progress", 5, 3, 16),
        ("vllm-0.28", small(FullAttention(1), length=4, budget=1, lookahead=1), (3, 1), "progress", 5, 3, 16),
    ],
    ids=["0.19 hang", "null block hang", "re-prefill without a gate", "re-prefill 0.20", "re-prefill 0.28"],
)
def test_known_faults_are_found_by_their_shortest_run(
    design: str, deployment: Deployment, request_a: tuple[int, int], name: str, actions: int, cycle: int, states: int
) -> None:
    requests = (Submission("a", *request_a), Submission("b", 1, 1))
    found = explore(deployment, named(design), requests, forced=True)
    assert found.states == states
    assert [violation.name for violation in found.violations] == [name]
    violation = found.violations[0]
    assert (len(violation.scenario.actions), violation.cycle) == (actions, cycle)
    assert explore(replace(deployment, blocks=None), SOUND, requests).holds


def test_the_window_charged_without_its_step_passes_the_gate_and_is_refused_for_ever() -> None:
    """The design of PR 39866, on the pool that its own boot accepts; 0.20 refuses the request, `sound` the pool."""
    deployment = small(SlidingWindow(2, 2), length=10, budget=3)
    request = (Submission("a", 9, 1),)
    design = named("coordinator-caps-window")
    found = explore(deployment, design, request)
    assert (found.states, found.transitions) == (5, 5)
    (violation,) = found.violations
    assert (violation.name, len(violation.scenario.actions), violation.cycle) == ("progress", 5, 3)
    moments = replay(violation.scenario, boot(deployment, design))
    assert moments[1].record is not None
    assert moments[1].record.admitted == ("a",)
    refusals = [moment.record.preempted for moment in moments[1:] if moment.record and moment.record.refused]
    assert refusals == [("a",)]
    assert [v.name for v in explore(deployment, named("vllm-0.20"), request).violations] == ["idle_means_done"]
    assert explore(deployment, SOUND, request).holds


def test_the_window_charged_without_its_step_is_refused_in_the_breath_of_its_admission() -> None:
    deployment = small(SlidingWindow(1, 1), FullAttention(2), length=4, budget=4)
    requests = (Submission("a", 1, 1), Submission("b", 3, 1))
    found = explore(deployment, named("coordinator-caps-window"), requests, goals=["gate_then_refused"])
    violation = found.found("gate_then_refused")
    assert violation is not None
    assert len(violation.scenario.actions) == 3
    for design in (named("vllm-0.20"), SOUND):
        assert explore(deployment, design, requests, goals=["gate_then_refused"]).found("gate_then_refused") is None


def test_the_capped_prediction_lets_the_allocation_raise() -> None:
    """The design of PR 40027: the prediction is a block short, and at last the pool is empty."""
    deployment = small(SlidingWindow(2, 2), FullAttention(2), length=6, budget=1)
    request = (Submission("a", 1, 5),)
    found = explore(deployment, named("allocator-predicts-capped"), request, goals=["raises"])
    assert [violation.name for violation in found.violations] == ["prediction_covers_allocation", "raises"]
    raised = found.violations[-1]
    assert (len(raised.scenario.actions), raised.fault) == (6, "1 blocks asked for, 0 free")
    assert getattr(last_record(raised.scenario, named("allocator-predicts-capped")), "error", None) == raised.fault
    assert explore(deployment, SOUND, request, goals=["raises"]).holds


@pytest.mark.parametrize("lookahead", [0, 1, 2])
@pytest.mark.parametrize(
    ("size", "window", "length", "budget"), [(1, 1, 3, 1), (1, 2, 3, 2), (2, 2, 5, 1), (2, 3, 4, 2)]
)
def test_sound_has_no_fault_at_up_to_four_usable_blocks(
    size: int, window: int, length: int, budget: int, lookahead: int
) -> None:
    requests = (Submission("a", length - 1, 2), Submission("b", 1, length))
    for caches in (
        (FullAttention(size),),
        (SlidingWindow(size, window),),
        (FullAttention(2), SlidingWindow(2, window)),
    ):
        deployment = small(*caches, length=length, budget=max(budget, lookahead + 1), lookahead=lookahead)
        pool = boot(deployment, SOUND).deployment.blocks
        assert isinstance(pool, int)
        for blocks in {pool, max(pool, 5)}:
            sized = replace(deployment, blocks=blocks)
            found = explore(sized, SOUND, requests, aborts=True, goals=GOALS)
            assert found.holds, found.violations


def test_the_state_space_is_exact_and_can_be_walked() -> None:
    deployment = small(SlidingWindow(2, 2), length=100, budget=3, blocks=5, lookahead=2)
    requests = (Submission("a", 20, 60), Submission("b", 20, 65))
    found = explore(deployment, SOUND, requests, aborts=True)
    assert (found.states, found.transitions, found.holds) == (1123, 5142, True)
    graph = found.graph()
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (1123, 5142)
    assert {type(action) for _, _, action in graph.edges(data="action")} == {Submit, Step, Abort}


def test_priorities_and_aborts_are_explored_too() -> None:
    deployment = small(FullAttention(1), length=4, budget=3, blocks=4)
    requests = (Submission("a", 2, 2, 1), Submission("b", 2, 2, 0))
    by_arrival = explore(deployment, SOUND, requests, forced=True)
    by_priority = explore(deployment, SOUND, requests, forced=True, priority=True)
    with_aborts = explore(deployment, SOUND, requests, forced=True, priority=True, aborts=True)
    assert (by_arrival.states, by_priority.states, with_aborts.states) == (16, 17, 17)


def test_an_engine_that_cannot_be_copied_is_executed_again() -> None:
    deployment = small(FullAttention(1), length=4, budget=2)
    checks = promised(SOUND, deployment)
    again = search(
        reexecuted(lambda: boot(deployment, SOUND), lambda engine: progress_key(engine.snapshot())), SOUND, PAIR, checks
    )
    copied = search(boot(deployment, SOUND), SOUND, PAIR, checks)
    assert (again.states, again.transitions) == (copied.states, copied.transitions)


def test_too_many_states_are_no_answer() -> None:
    found = explore(small(FullAttention(1), length=4, budget=2), SOUND, PAIR, limit=5)
    assert (found.states, found.complete, found.holds, found.violations) == (5, False, False, [])


def test_blocks_are_compared_by_their_part_and_not_by_their_number() -> None:
    def after(steps: int) -> Oracle:
        engine = boot(small(FullAttention(1), length=4, budget=4, blocks=9), SOUND)
        for index in range(steps):
            engine.submit(Submission(f"r{index}", 3, 1))
            engine.step()
        engine.submit(Submission("a", 3, 1))
        return engine

    assert after(0).snapshot().free != after(1).snapshot().free
    assert after(0).key() == after(1).key()
    for design in DESIGNS:
        assert explore(small(FullAttention(1), length=3, budget=3, blocks=6), design, PAIR[1:], forced=True).states == 4
    assert set(GOALS) == {"runs_out", "gate_then_refused", "raises"}
