"""Each invariant is broken first by an engine that was broken for it; what then fails too is listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from poolproof.oracle import Oracle, Submission, boot
from poolproof.oracle.comparison import LARGE_POOL, WALKED_EVERY, Pair, PairError
from poolproof.oracle.engine import Allocation, Status
from poolproof.oracle.invariants import STEP_CHECKS, Setting, Turn, promised
from poolproof.oracle.liveness import Progress, boot_covers_admission, boot_is_tight
from poolproof.oracle.manager import CacheManager
from poolproof.oracle.pool import BlockPool
from poolproof.oracle.request import Request
from poolproof.oracle.trace import Step
from poolproof.spec import DESIGNS, SOUND, ChunkedLocal, Deployment, Design, FullAttention, Group, SlidingWindow, named

MIXED = Deployment(
    (Group(FullAttention(2)), Group(SlidingWindow(2, 4)), Group(ChunkedLocal(2, 6))), 24, 5, max_num_seqs=4
)
REQUESTS = (Submission("a", 9, 9), Submission("b", 5, 12), Submission("c", 13, 4), Submission("d", 2, 9))


class LosingPool(BlockPool):
    """Forget to put the last freed block back in line."""

    __slots__ = ()

    def give_back(self, blocks: Iterable[int]) -> None:
        super().give_back(blocks)
        if len(self.free) > 1:
            self.free.pop() if not self.freed_first else self.free.popleft()


class CountingPool(BlockPool):
    """Put blocks back in line without dropping their owner."""

    __slots__ = ()

    def give_back(self, blocks: Iterable[int]) -> None:
        released = [block for block in blocks if block]
        super().give_back(released)
        for block in released:
            self.references[block] += 1


class HoardingManager(CacheManager):
    """Never recycle."""

    __slots__ = ()

    def recycle(self, request: Request) -> None:
        pass


class HastyManager(CacheManager):
    """Recycle as if every scheduled token had been computed one token further on than it was."""

    __slots__ = ()

    def recycle(self, request: Request) -> None:
        if request.computed:
            self.coordinator.recycle(request.name, request.computed + 2)


class GreedyManager(CacheManager):
    """Take blocks for a slot more than was predicted."""

    __slots__ = ()

    def ask(self, request: Request, scheduled: int, *, waiting: bool, spare: int = 0) -> Allocation:
        answer = super().ask(request, scheduled, waiting=waiting, spare=spare)
        if answer.refused:
            return answer
        extra = self.coordinator.allocate(request.name, self.slots(request, scheduled) + 2, 0)
        return replace(answer, taken=tuple(map(sum, zip(answer.taken, extra, strict=True))))


class GrabbingManager(CacheManager):
    """Leave a refused admission with the blocks of the first group."""

    __slots__ = ()

    def ask(self, request: Request, scheduled: int, *, waiting: bool, spare: int = 0) -> Allocation:
        answer = super().ask(request, scheduled, waiting=waiting, spare=spare)
        if answer.refused and waiting and self.free:
            self.coordinator.groups[0].allocate(request.name, 1, 1)
        return answer


class LazyManager(CacheManager):
    """Give the blocks of a preempted request back only after the next question."""

    __slots__ = ("late",)

    def release(self, request: Request) -> None:
        if request.status is not Status.RUNNING:
            super().release(request)
        else:
            self.late: list[Request] = [*getattr(self, "late", []), request]

    def ask(self, request: Request, scheduled: int, *, waiting: bool, spare: int = 0) -> Allocation:
        answer = super().ask(request, scheduled, waiting=waiting, spare=spare)
        for other in getattr(self, "late", []):
            super().release(other)
        self.late = []
        return answer


def with_pool(kind: type[BlockPool]) -> Callable[[Oracle], None]:
    def change(oracle: Oracle) -> None:
        oracle.scheduler.manager.coordinator.pool.__class__ = kind  # type: ignore[assignment]

    return change


def with_manager(kind: type[CacheManager]) -> Callable[[Oracle], None]:
    def change(oracle: Oracle) -> None:
        fresh = kind.__new__(kind)
        for name in CacheManager.__slots__:
            setattr(fresh, name, getattr(oracle.scheduler.manager, name))
        oracle.scheduler.manager = fresh

    return change


def admitting_nobody(oracle: Oracle) -> None:
    oracle.scheduler.deployment = replace(oracle.deployment, max_num_seqs=0)


def first_broken(
    deployment: Deployment,
    change: Callable[[Oracle], None],
    requests: tuple[Submission, ...] = REQUESTS,
    design: Design = SOUND,
) -> set[str]:
    """Run a fixed scenario and name the invariants that the first bad step violates."""
    oracle = boot(deployment, design, forced=True)
    change(oracle)
    setting = Setting(oracle.deployment, design)
    for index in range(80):
        if index < len(requests):
            oracle.submit(requests[index])
        before = oracle.snapshot()
        record = oracle.step()
        turn = Turn(setting, before, record, oracle.snapshot())
        broken = {name for name, check in STEP_CHECKS.items() if check(turn) is not None}
        if broken or not turn.after.requests:
            return broken
    return set()


def test_the_sound_engine_breaks_none() -> None:
    assert first_broken(MIXED, lambda _: None) == set()


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        (with_pool(LosingPool), {"no_block_lost"}),
        (with_pool(CountingPool), {"no_block_twice"}),
        (with_manager(HoardingManager), {"peak_within_cap"}),
        (with_manager(HastyManager), {"window_intact"}),
        (with_manager(GreedyManager), {"prediction_covers_allocation"}),
        (with_manager(GrabbingManager), {"failure_has_no_effect"}),
        (admitting_nobody, {"idle_means_done"}),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, set) else "",
)
def test_each_broken_engine_breaks_its_invariant_first(change: Callable[[Oracle], None], broken: set[str]) -> None:
    assert first_broken(MIXED, change) == broken


def test_a_preemption_that_frees_nothing_is_seen_in_the_same_retry() -> None:
    crowded = Deployment((Group(FullAttention(1)),), 16, 8, blocks=6)
    requests = (Submission("a", 2, 4), Submission("b", 2, 4))
    preempting = named("vllm-0.33")
    assert first_broken(crowded, lambda _: None, requests, preempting) == set()
    assert first_broken(crowded, with_manager(LazyManager), requests, preempting) == {"preemption_frees"}


def test_progress_is_a_state_that_does_not_repeat() -> None:
    for design, repeats in (("vllm-0.11", True), ("sound", False)):
        deployment = Deployment((Group(FullAttention(2)),), 4, 2)
        oracle = boot(deployment, named(design))
        oracle.submit(Submission("a", 3, 1))
        watch, setting, faults = Progress(), Setting(oracle.deployment, named(design)), []
        for _ in range(12):
            before = oracle.snapshot()
            faults.append(watch.observe(Turn(setting, before, oracle.step(), oracle.snapshot())))
        assert any(faults) is repeats
        assert faults[0] is None


def test_boot_covers_admission_but_for_the_designs_that_forget_something() -> None:
    deployment = Deployment((Group(FullAttention(4)), Group(SlidingWindow(4, 8))), 64, 16)
    faulty = {d.name for d in DESIGNS if boot_covers_admission(deployment, d) is not None}
    assert faulty == {
        "vllm-0.19",
        "vllm-0.20",
        "vllm-0.21",
        "vllm-0.22",
        "vllm-0.25",
        "vllm-0.28",
        "allocator-predicts-capped",
    }
    assert boot_covers_admission(deployment, named("vllm-0.28"), prompts=range(1, 60)) is None


def test_boot_is_tight_but_for_the_block_of_misalignment() -> None:
    window = Deployment((Group(SlidingWindow(1, 4)),), 64, 16)
    assert boot_is_tight(window, SOUND, 1) is None
    assert boot_is_tight(window, SOUND, 0) == "boot demands 21 blocks, one request holds 19 at most"
    assert boot_is_tight(Deployment((Group(FullAttention(4)),), 64, 16), SOUND, 0) is None


def test_what_a_design_does_not_promise_is_named() -> None:
    everything = set(STEP_CHECKS) - {"idle_means_done"}
    assert set(promised(SOUND, MIXED)) == everything
    assert everything - set(promised(named("vllm-0.33"), replace(MIXED, lookahead=2))) == {"peak_within_cap"}
    assert everything - set(promised(named("vllm-0.25"), replace(MIXED, max_concurrent_batches=2))) == {"window_intact"}
    assert "prediction_covers_allocation" not in promised(named("vllm-0.11"), MIXED)
    misaligned = replace(MIXED, groups=(Group(ChunkedLocal(3, 4)),))
    assert "peak_within_cap" not in promised(SOUND, misaligned)
    in_blocks_of_two = replace(MIXED, groups=(Group(ChunkedLocal(2, 1)),))
    assert "peak_within_cap" in promised(SOUND, in_blocks_of_two)
    assert "peak_within_cap" not in promised(SOUND, replace(in_blocks_of_two, lookahead=1))


def test_a_large_pool_is_counted_at_every_step_and_walked_now_and_then() -> None:
    """A block that is lost changes the count at once; two wrongs that keep the count are met by the next walk."""
    deployment = Deployment((Group(FullAttention(1)),), 8, 8, blocks=LARGE_POOL + 2)

    def caught(spoil: Callable[[Oracle], None]) -> PairError:
        engines = boot(deployment, SOUND), boot(deployment, SOUND)
        pair = Pair(*engines, SOUND, priority=False)
        pair.do(Step())
        for engine in engines:
            spoil(engine)
        with pytest.raises(PairError) as error:
            step_on(pair)
        return error.value

    def step_on(pair: Pair) -> None:
        for _ in range(2 * WALKED_EVERY):
            pair.do(Step())

    def lose(oracle: Oracle) -> None:
        oracle.scheduler.manager.coordinator.pool.free.pop()

    def repeat(oracle: Oracle) -> None:
        free = oracle.scheduler.manager.coordinator.pool.free
        free[0] = free[1]

    lost, repeated = caught(lose), caught(repeat)
    assert (lost.field, len(lost.scenario.actions)) == ("blocks_add_up", 2)
    assert (repeated.field, len(repeated.scenario.actions)) == ("no_block_lost", 1 + WALKED_EVERY)
