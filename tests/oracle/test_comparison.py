"""Two engines side by side: equal ones never part; each slip is caught by a short run that can be replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from poolproof.oracle import Oracle, boot
from poolproof.oracle.comparison import Comparison, Pair, PairError, compare
from poolproof.oracle.machine import machine_for, run_machine
from poolproof.oracle.pool import BlockPool
from poolproof.oracle.shrinking import shrink
from poolproof.oracle.trace import Scenario, first_difference, replay
from poolproof.spec import DESIGNS, SOUND, Cap, ChunkedLocal, Deployment, Design, UnsupportedError, UsageError, named


class LosingPool(BlockPool):
    """Forget to put the last freed block back in line."""

    __slots__ = ()

    def give_back(self, blocks: Iterable[int]) -> None:
        super().give_back(list(blocks)[1:])


class CountingPool(BlockPool):
    """Put blocks back in line without dropping their owner."""

    __slots__ = ()

    def give_back(self, blocks: Iterable[int]) -> None:
        released = [block for block in blocks if block]
        super().give_back(released)
        for block in released:
            self.references[block] += 1


Make = Callable[[Deployment, bool], Oracle]


def engine_of(design: Design) -> Make:
    return lambda deployment, priority: boot(deployment, design, priority=priority, forced=True)


def of_whole_chunks(make: Make) -> Make:
    """Refuse chunks that are not made of whole blocks, of which a request may hold more than any gate charges."""

    def chosen(deployment: Deployment, priority: bool) -> Oracle:
        chunks = [cache for cache in deployment.caches() if isinstance(cache, ChunkedLocal)]
        if any(int(cache.chunk) % int(cache.block_size) for cache in chunks):
            raise UnsupportedError("chunks across blocks")
        return make(deployment, priority)

    return chosen


def with_pool(kind: type[BlockPool]) -> Make:
    def make(deployment: Deployment, priority: bool) -> Oracle:
        oracle = boot(deployment, SOUND, priority=priority, forced=True)
        oracle.scheduler.manager.coordinator.pool.__class__ = kind  # type: ignore[assignment]
        return oracle

    return make


def with_recycling(shift: int) -> Make:
    def make(deployment: Deployment, priority: bool) -> Oracle:
        oracle = boot(deployment, SOUND, priority=priority, forced=True)
        for group in oracle.scheduler.manager.coordinator.groups:
            right = group.rules.recycled
            group.rules.recycled = lambda processed, right=right: max(0, right(processed) + shift)
        return oracle

    return make


def with_gate(shift: int) -> Make:
    def make(deployment: Deployment, priority: bool) -> Oracle:
        oracle = boot(deployment, SOUND, priority=priority, forced=True)
        rules = oracle.scheduler.manager.coordinator.groups[0].rules
        right = rules.gate_charge
        rules.gate_charge = lambda tokens: right(tokens) + shift
        return oracle

    return make


def parts(make: Make, scenario: Scenario) -> Scenario | None:
    """Return a scenario, cut where the engines part in it."""
    deployment, priority = scenario.deployment, scenario.priority
    try:
        oracle = boot(deployment, SOUND, priority=priority, forced=True)
        pair = Pair(oracle, make(deployment, priority), SOUND, priority=priority)
        for action in scenario.actions:
            pair.do(action)
    except PairError as error:
        return error.scenario
    except UsageError:
        return None
    return None


def smallest(make: Make) -> Scenario:
    result = compare(make, SOUND, scenarios=250, seed=11)
    return shrink(result.failures[0].scenario, lambda scenario: parts(make, scenario))


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_an_engine_does_not_part_from_itself(design: Design) -> None:
    if design.step_cap is not Cap.NONE:
        pytest.skip("its own promises are what it breaks")
    result = compare(of_whole_chunks(engine_of(design)), design, scenarios=60, seed=7)
    assert result.failures == []
    assert result.scenarios == 60
    after_preemption = {"preemption", "resume"}
    expected = {"recycling", "gate refusal", "draft rejection", "abort", "finish"}
    expected |= set() if design.reserves_growth else after_preemption
    assert expected <= set(result.coverage)
    assert not (design.reserves_growth and after_preemption & set(result.coverage)), "growth is paid for at the gate"


def test_equal_seeds_give_equal_runs() -> None:
    def result() -> Comparison:
        return compare(engine_of(named("vllm-0.22")), SOUND, scenarios=20, seed=3)

    first, second = result(), result()
    assert first.coverage == second.coverage
    assert [failure.scenario for failure in first.failures] == [failure.scenario for failure in second.failures]


def test_what_an_implementation_refuses_is_counted_and_not_judged() -> None:
    def refusing(deployment: Deployment, priority: bool) -> Oracle:
        if priority:
            raise UnsupportedError("priorities")
        return boot(deployment, SOUND, forced=True)

    result = compare(refusing, SOUND, scenarios=20, seed=1)
    assert (result.scenarios, result.failures, set(result.refused)) == (20, [], {"unsupported: priorities"})
    machine = machine_for(refusing, SOUND)
    assert run_machine(machine, examples=20) is None
    assert machine.refused["unsupported: priorities"] > 0


def test_the_machine_finds_a_slip_again_by_its_seed() -> None:
    def found() -> Scenario | None:
        return run_machine(machine_for(engine_of(replace(SOUND, gate=False)), SOUND, wild=True), examples=200, seed=4)

    first = found()
    assert first is not None
    assert first == found()


def test_the_machine_finds_no_difference_between_equal_engines() -> None:
    machine = machine_for(engine_of(SOUND), SOUND, wild=True)
    assert run_machine(machine, examples=60) is None
    assert {"finish", "gate refusal", "abort"} <= set(machine.coverage)


@pytest.mark.parametrize(
    "make",
    [
        engine_of(replace(SOUND, gate_cap=Cap.NONE)),
        engine_of(replace(SOUND, gate=False)),
        engine_of(replace(SOUND, gate_cap=Cap.WINDOW)),
        with_recycling(1),
        with_recycling(-1),
        with_gate(1),
        with_gate(-1),
        with_pool(LosingPool),
        with_pool(CountingPool),
    ],
    ids=[
        "cap dropped in the gate",
        "gate dropped",
        "window charged alone",
        "one block too many recycled",
        "one block too few recycled",
        "gate off by one upwards",
        "gate off by one downwards",
        "freed block not returned",
        "reference not dropped",
    ],
)
def test_each_slip_is_caught_by_a_short_run(make: Make) -> None:
    scenario = smallest(make)
    assert len(scenario.actions) <= 12
    reread = Scenario.from_json(scenario.to_json())
    ours = replay(reread, boot(reread.deployment, SOUND, priority=reread.priority, forced=True))
    difference = first_difference(ours, replay(reread, make(reread.deployment, reread.priority)))
    assert difference is not None
    assert difference.index == len(scenario.actions) - 1


def test_a_parting_names_the_field_and_both_values() -> None:
    result = compare(engine_of(replace(SOUND, gate=False)), SOUND, scenarios=40, seed=5)
    failure = result.failures[0]
    assert isinstance(failure, PairError)
    assert failure.field.startswith(("record.", "after."))
    assert "the oracle has" in str(failure)
