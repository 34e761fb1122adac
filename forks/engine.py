"""A fork's real scheduler as an Engine: its own admission, allocation and settling, with made-up model output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from ..oracle.engine import RequestView, Snapshot, Status, StepRecord, Submission
from ..oracle.lone import progress_key
from ..oracle.reference import check_submission
from ..spec.deployment import Deployment
from ..spec.errors import PoolproofError, UnsupportedError, UsageError, printable
from .config import StandInAskedError
from .loader import Core, StubUsedError
from .pipeline import Pipeline
from .requests import make_request
from .scheduler import make_scheduler
from .watch import Watch

OFTEN = 64
"""How often a state may be met, but for the names of its blocks, before it counts as the same."""

_QUEUES = ("kv_holding_waiting", "skipped_waiting", "waiting")


class ForkEngine:
    """Drive a fork's Scheduler (AsyncScheduler where two batches are in flight) through the Engine protocol."""

    def __init__(self, core: Core, deployment: Deployment, *, priority: bool = False, gate: bool = True) -> None:
        self._core = core
        self._deployment = deployment
        self._scheduler, self._hasher = make_scheduler(core, deployment, priority=priority, gate=gate)
        self._watch = Watch(self._scheduler)
        self._pipeline = Pipeline(core, self._scheduler, deployment)
        self._arrivals = 0
        self._names: set[str] = set()
        self._started: set[str] = set()

    @property
    def deployment(self) -> Deployment:
        """Return what the engine was booted with."""
        return self._deployment

    @property
    def scheduler(self) -> Any:
        """Return the fork's own scheduler, for checks that look deeper than the protocol."""
        return self._scheduler

    def submit(self, submission: Submission) -> None:
        """Queue a request; its prompt tokens are equal to any other prompt's at equal positions.

        Raises:
            UsageError: No token, too long, or a name that was used before.
        """
        self._check(submission)
        self._arrivals += 1
        self._names.add(submission.name)
        self._scheduler.add_request(make_request(self._core, submission, self._arrivals, self._hasher))

    def step(self, accepted: Mapping[str, int] | None = None) -> StepRecord:
        """Schedule a batch, and settle the oldest one when the pipeline is full or nothing was scheduled.

        What the fork raises is told in the record; it is a result, and the engine is not driven further. What it
        asks of a stand-in is raised: nothing can be concluded from it.
        """
        self._watch.reset()
        try:
            return self._step(accepted or {})
        except (PoolproofError, StubUsedError, StandInAskedError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever foreign code raises is the answer
            told = printable(f"{type(error).__name__}: {error}")
            return StepRecord(allocations=tuple(self._watch.allocations), error=told)

    def abort(self, name: str) -> None:
        """Drop an unfinished request.

        Raises:
            UsageError: There is no such request.
        """
        if name not in self._scheduler.requests:
            raise UsageError("abort", name, "no unfinished request has this name")
        aborted = self._core.module("v1.request").RequestStatus.FINISHED_ABORTED
        self._scheduler.finish_requests(name, aborted)

    def snapshot(self) -> Snapshot:
        """Show free blocks in their order, references, queues and every unfinished request."""
        pool = self._scheduler.kv_cache_manager.block_pool
        return Snapshot(
            free=tuple([b.block_id for b in pool.free_block_queue.get_all_free_blocks()]),
            references=tuple([0 if b.is_null else b.ref_cnt for b in pool.blocks]),
            waiting=tuple(self._waiting()),
            running=self._running(),
            requests={name: self._view(request) for name, request in self._scheduler.requests.items()},
            batches_in_flight=len(self._pipeline),
        )

    # -- beyond the protocol -------------------------------------------------------------------------------------

    def fingerprint(self) -> tuple[object, ...]:
        """Return a hashable state: two equal ones mean that the engine goes on in the same way."""
        snapshot = self.snapshot()
        views = tuple(snapshot.requests.items())
        queues = (snapshot.free, snapshot.waiting, snapshot.running, snapshot.batches_in_flight)
        return (*queues, views, self.memory())

    def recurrence(self) -> Callable[[], object]:
        """Return what tells, again and again, the state of a run; two equal ones mean that it repeats itself.

        At first only the very same state counts. One that was met so often under other names of blocks is taken for
        itself: with prefix caching off an engine has no reason to tell blocks apart, and to wait until it hands out
        the same ones again can take as many steps as there are orders of them.
        """
        met: Counter[object] = Counter()

        def state() -> object:
            alike = progress_key(self.snapshot()), self.memory()
            met[alike] += 1
            return alike if met[alike] > OFTEN else self.fingerprint()

        return state

    def memory(self) -> tuple[object, ...]:
        """Return what some releases keep of earlier steps, beyond the snapshot, and go by later.

        That is the countdown until a request may decode again, and the recurrent states that were copied and have not
        gone back.
        """
        now = getattr(self._scheduler, "current_step", 0)
        countdowns = tuple(
            max(0, getattr(request, "next_decode_eligible_step", 0) - now)
            for request in self._scheduler.requests.values()
        )
        return countdowns, self._watch.copied()

    # -- one step ------------------------------------------------------------------------------------------------

    def _step(self, accepted: Mapping[str, int]) -> StepRecord:
        before = self._running()
        scheduled = self._pipeline.schedule()
        preempted = tuple(n for n in before if self._scheduler.requests[n].status.name == "PREEMPTED")
        self._pipeline.forget(preempted)
        tables = {name: self._watch.tables(name) for name in scheduled}
        finished = self._pipeline.settle(accepted) if self._pipeline.is_due(scheduled) else ()
        admitted = tuple(n for n in scheduled if n not in self._started)
        self._started.update(admitted)
        return StepRecord(
            scheduled=scheduled,
            admitted=admitted,
            resumed=tuple(n for n in scheduled if n not in admitted and n not in before),
            preempted=preempted,
            finished=finished,
            allocations=tuple(self._watch.allocations),
            tables=tables,
        )

    # -- views ---------------------------------------------------------------------------------------------------

    def _running(self) -> tuple[str, ...]:
        return tuple(r.request_id for r in self._scheduler.running)

    def _waiting(self) -> Iterator[str]:
        for queue in _QUEUES:
            yield from (r.request_id for r in getattr(self._scheduler, queue, ()))

    def _view(self, request: Any) -> RequestView:
        name = request.request_id
        return RequestView(
            status=status_of(request),
            computed=request.num_computed_tokens,
            tokens=request.num_tokens,
            drafts=len(request.spec_token_ids),
            in_flight=self._pipeline.in_flight(name),
            tables=self._watch.tables(name),
        )

    def _check(self, submission: Submission) -> None:
        check_submission(submission, self._deployment)
        if submission.name in self._names:
            raise UsageError("name", submission.name, "another request has this name")
        if submission.priority and self._scheduler.policy.name != "PRIORITY":
            raise UnsupportedError("a priority needs an engine that schedules by priority")


def status_of(request: Any) -> Status:
    """Translate a fork's status; every kind of waiting is waiting, every regular end is finished."""
    return _status_named(request.status.name)


@cache
def _status_named(name: str) -> Status:
    if name.startswith("FINISHED"):
        return Status.ABORTED if name == "FINISHED_ABORTED" else Status.FINISHED
    return Status(name.partition("_")[0].lower())
