"""The oracle: the reference engine behind the Engine protocol."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace

from ..spec.deployment import Deployment, validate
from ..spec.design import Design
from ..spec.errors import UnsupportedError, UsageError
from ..spec.sizing import boot_accepts, boot_requirement
from ..spec.states import MambaNone
from .batch import Batch
from .cache import KINDS
from .engine import NULL_BLOCK, RequestView, Snapshot, Status, StepRecord, Submission
from .manager import CacheManager
from .pool import PoolError
from .request import Request
from .scheduler import Scheduler


class Oracle:
    """Serve requests as an engine of some design would, exactly; see `boot`."""

    __slots__ = ("_arrivals", "_deployment", "batches", "failed", "scheduler")

    def __init__(self, deployment: Deployment, design: Design, *, priority: bool = False) -> None:
        self._deployment = deployment
        manager = CacheManager(deployment, design, _known_blocks(deployment))
        self.scheduler = Scheduler(deployment, design, manager, priority=priority)
        self.batches: deque[Batch] = deque()
        self.failed = False
        self._arrivals = 0

    @property
    def deployment(self) -> Deployment:
        """Return what the engine was booted with."""
        return self._deployment

    def copy(self) -> Oracle:
        """Copy the engine with everything in it; batches in flight do not change and are shared."""
        twin = Oracle.__new__(Oracle)
        twin._deployment = self._deployment
        twin.scheduler = self.scheduler.copy()
        twin.batches = self.batches.copy()
        twin.failed, twin._arrivals = self.failed, self._arrivals
        return twin

    def submit(self, submission: Submission) -> None:
        """Queue a request.

        Raises:
            UsageError: It has no prompt or no output, its prompt leaves no room for output, or its name is in use.
        """
        check_submission(submission, self._deployment)
        if submission.name in self.scheduler.requests:
            raise UsageError("name", submission.name, "a request of this name is unfinished", "choose another")
        self.scheduler.add(Request(submission, self._arrivals))
        self._arrivals += 1

    def step(self, accepted: Mapping[str, int] | None = None) -> StepRecord:
        """Schedule a batch, and settle the oldest one if no more may be in flight or nothing was scheduled.

        Raises:
            UsageError: The engine failed in an earlier step.
        """
        if self.failed:
            raise UsageError("step", "after a failure", "an engine that raised is not driven further", "boot another")
        try:
            batch = self.scheduler.schedule()
        except PoolError as fault:
            self.failed = True
            return StepRecord(error=str(fault))
        if batch.tokens:
            self.batches.append(batch)
        coordinator = self.scheduler.manager.coordinator
        tables = {name: coordinator.tables(name) for name in batch.tokens}
        finished: tuple[str, ...] = ()
        if self.batches and (not batch.tokens or len(self.batches) >= self._deployment.max_concurrent_batches):
            finished = self.scheduler.settle(self.batches.popleft(), accepted or {})
        return StepRecord(
            scheduled=batch.tokens,
            admitted=tuple(batch.admitted),
            resumed=tuple(batch.resumed),
            preempted=tuple(batch.preempted),
            finished=finished,
            allocations=tuple(batch.allocations),
            tables=tables,
        )

    def abort(self, name: str) -> None:
        """Drop an unfinished request and give its blocks back.

        Raises:
            UsageError: No unfinished request has this name.
        """
        request = self.scheduler.requests.get(name)
        if request is None:
            raise UsageError("name", name, "no unfinished request has this name")
        self.scheduler.remove(request, Status.ABORTED)

    def snapshot(self) -> Snapshot:
        """Show the state."""
        scheduler = self.scheduler
        pool = scheduler.manager.coordinator.pool
        return Snapshot(
            free=tuple(pool.free),
            references=tuple(pool.references),
            waiting=tuple(request.name for request in scheduler.waiting),
            running=tuple(request.name for request in scheduler.running),
            requests={name: self._view(request) for name, request in scheduler.requests.items()},
            batches_in_flight=len(self.batches),
        )

    def key(self) -> object:
        """Reduce the state to what decides the future: blocks are named in the order in which they are met."""
        scheduler = self.scheduler
        coordinator = scheduler.manager.coordinator
        names: dict[int, int] = {}
        tables = [_shape(table, names) for group in coordinator.groups for table in group.tables.values()]
        free = tuple([names.setdefault(block, len(names)) for block in coordinator.pool.free])
        return (
            tuple([request.state() for request in scheduler.requests.values()]),
            tuple([request.name for request in scheduler.waiting]),
            tuple([request.name for request in scheduler.running]),
            tuple(tables),
            tuple([tuple(group.tables) for group in coordinator.groups]),
            coordinator.memory() if coordinator.aligned else (),
            free,
            tuple([coordinator.pool.references[block] for block in names]),
            tuple([batch.key() for batch in self.batches]),
            self.failed,
        )

    def _view(self, request: Request) -> RequestView:
        return RequestView(
            status=request.status,
            computed=request.computed,
            tokens=request.tokens,
            drafts=request.drafts,
            in_flight=0 if request.status is Status.PREEMPTED else request.in_flight,
            tables=self.scheduler.manager.coordinator.tables(request.name),
        )


def boot(deployment: Deployment, design: Design, *, priority: bool = False, forced: bool = False) -> Oracle:
    """Boot an engine of this design on a pool of `deployment.blocks`, or of the least size that boot accepts.

    Args:
        deployment: What the operator sets.
        design: What the engine's authors decided.
        priority: Serve by priority instead of arrival.
        forced: Skip the startup check, as for a block count set by hand where the design does not check that.

    Raises:
        UsageError: The deployment is not legal, or the startup check refuses its pool.
        UnsupportedError: The deployment needs what the oracle does not model.
    """
    _check_modelled(validate(deployment), design)
    blocks = deployment.blocks
    if blocks is None:
        return Oracle(replace(deployment, blocks=boot_requirement(deployment, design)), design, priority=priority)
    if not forced and not boot_accepts(blocks, deployment, design):
        least = boot_requirement(deployment, design)
        raise UsageError("blocks", blocks, f"the startup check demands {least}", f"give the pool {least} blocks")
    return Oracle(deployment, design, priority=priority)


def _check_modelled(deployment: Deployment, design: Design) -> None:
    """Check that the oracle serves such a deployment.

    Raises:
        UnsupportedError: It does not.
    """
    if deployment.prefix_caching:
        raise UnsupportedError("prefix caching in the oracle")
    for cache in deployment.caches():
        if type(cache) not in KINDS:
            raise UnsupportedError(f"a {cache.kind} cache in the oracle")
    _check_states(deployment, design)
    if deployment.lookahead and deployment.max_concurrent_batches > 1 and not design.drafts_in_flight:
        raise UnsupportedError(f"lookahead with several batches in flight under {design.name}")


def _check_states(deployment: Deployment, design: Design) -> None:
    """Check that the oracle serves the recurrent groups of a deployment.

    Raises:
        UnsupportedError: It does not, or no engine does.
    """
    states = [cache for cache in deployment.caches() if isinstance(cache, MambaNone)]
    kinds = sorted({cache.kind for cache in states})
    if len(kinds) > 1:
        raise UnsupportedError(f"recurrent layers of several cache modes in one model ({', '.join(kinds)})")
    if kinds and kinds[0] not in design.planning.kinds:
        raise UnsupportedError(f"a {kinds[0]} cache under {design.name}")
    if states and deployment.context_parallel > 1:
        raise UnsupportedError("recurrent states under context parallelism in the oracle")
    if any(getattr(cache, "checkpoint", 0) for cache in states):
        raise UnsupportedError("a state kept inside a chunk (checkpoint) in the oracle")


def check_submission(submission: Submission, deployment: Deployment) -> None:
    """Check that an engine would accept a request.

    Raises:
        UsageError: It has no prompt or no output, or its prompt leaves no room for output.
    """
    if submission.prompt < 1:
        raise UsageError("prompt", submission.prompt, "a request has at least one token", "give it one")
    if submission.output < 1:
        raise UsageError("output", submission.output, "a request generates at least one token", "ask for one")
    longest = deployment.max_model_len - 1
    if submission.prompt > longest:
        raise UsageError("prompt", submission.prompt, "no output token would fit", f"give at most {longest} tokens")


def _shape(table: list[int], names: dict[int, int]) -> tuple[int, ...]:
    """Show a table with its blocks renamed in the order in which they are met, after the count of its null entries."""
    nulls = table.count(NULL_BLOCK)
    rest = table[nulls:]
    # A null entry behind a block, as no sound engine leaves it, keeps its place under a name without an owner.
    shown = table if NULL_BLOCK in rest else rest
    return (nulls, *[names.setdefault(block, len(names)) for block in shown])


def _known_blocks(deployment: Deployment) -> int:
    if not isinstance(deployment.blocks, int):
        raise TypeError("an engine runs on a known number of blocks")
    return deployment.blocks
