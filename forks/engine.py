"""A fork's real scheduler as an Engine: its own admission, allocation and settling, with made-up model output."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..oracle.engine import NULL_BLOCK, RequestView, Snapshot, Status, StepRecord, Submission
from ..spec.deployment import Deployment
from ..spec.errors import PoolproofError, UnsupportedError, UsageError
from .config import StandInAsked, known
from .inspection import call
from .loader import Core, StubUsed
from .requests import make_request
from .scheduler import make_scheduler
from .watch import Watch

_TOKEN = 1
_DRAFT = 2
_QUEUES = ("kv_holding_waiting", "skipped_waiting", "waiting")


@dataclass
class Batch:
    """One scheduled batch whose output has not come back.

    Args:
        output: What the scheduler decided, in its own form.
        samples: The requests that deliver a token when it settles: their step reaches the end of their tokens.
        live: The tokens per request that are still counted as in flight; a preempted request's are not.
    """

    output: Any
    samples: frozenset[str]
    live: dict[str, int] = field(default_factory=dict)


class ForkEngine:
    """Drive a fork's Scheduler (AsyncScheduler where two batches are in flight) through the Engine protocol.

    `peaks` tells for each request the real blocks per group at its largest total, taken right after scheduling:
    a request that finishes in the same step has given them back before any snapshot.
    """

    def __init__(self, core: Core, deployment: Deployment, *, priority: bool = False, gate: bool = True) -> None:
        self._core = core
        self._deployment = deployment
        self._scheduler, self._hasher = make_scheduler(core, deployment, priority=priority, gate=gate)
        self._watch = Watch(self._scheduler)
        self._depth = known(deployment.max_concurrent_batches, "max_concurrent_batches")
        self._in_flight: deque[Batch] = deque()
        self._arrivals = 0
        self._started: set[str] = set()
        self.peaks: dict[str, tuple[int, ...]] = {}

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
            UsageError: No token, too long, or a name in use.
        """
        self._check(submission)
        self._arrivals += 1
        self._scheduler.add_request(make_request(self._core, submission, self._arrivals, self._hasher))

    def step(self, accepted: Mapping[str, int] | None = None) -> StepRecord:
        """Schedule a batch, and settle the oldest one when the pipeline is full or nothing was scheduled.

        What the fork raises is told in the record; it is a result, and the engine is not driven further. What it
        asks of a stand-in is raised: nothing can be concluded from it.
        """
        self._watch.reset()
        before = self._running()
        try:
            scheduled = self._schedule()
            preempted = self._note_preemptions(before)
            finished = self._settle(accepted or {}) if self._must_settle(scheduled) else ()
        except (PoolproofError, StubUsed, StandInAsked):
            raise
        except Exception as error:  # noqa: BLE001 - whatever foreign code raises is the answer
            return StepRecord(allocations=tuple(self._watch.allocations), error=f"{type(error).__name__}: {error}")
        new = [n for n in scheduled if n not in self._started]
        self._started.update(new)
        resumed = tuple(n for n in scheduled if n not in new and n not in before)
        return StepRecord(scheduled, tuple(new), resumed, preempted, finished, tuple(self._watch.allocations))

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
            free=tuple(b.block_id for b in pool.free_block_queue.get_all_free_blocks()),
            references=tuple(b.ref_cnt for b in pool.blocks),
            waiting=tuple(self._waiting()),
            running=self._running(),
            requests={name: self._view(request) for name, request in self._scheduler.requests.items()},
            batches_in_flight=len(self._in_flight),
        )

    def unfinished(self) -> dict[str, Status]:
        """Name the requests that are left, with their status."""
        return {name: self._status(request) for name, request in self._scheduler.requests.items()}

    def is_fresh(self, name: str) -> bool:
        """Tell whether a request has never had a step."""
        return name not in self._started

    def settling(self, accept: int) -> dict[str, int]:
        """Accept at most `accept` drafts of every request in the batch that settles next."""
        if not accept:
            return {}
        drafts: dict[str, int] = {n: len(r.spec_token_ids) for n, r in self._scheduler.requests.items()}
        if self._in_flight:
            drafts |= {n: len(d) for n, d in self._in_flight[0].output.scheduled_spec_decode_tokens.items()}
        return {name: min(accept, count) for name, count in drafts.items() if count}

    def fingerprint(self) -> tuple[object, ...]:
        """Return a hashable state: two equal ones mean that the engine goes on in the same way.

        Beyond the snapshot it holds what some releases keep of earlier steps: the countdown until a request may
        decode again.
        """
        snapshot = self.snapshot()
        now = getattr(self._scheduler, "current_step", 0)
        countdowns = tuple(
            max(0, getattr(request, "next_decode_eligible_step", 0) - now) for request in self._scheduler.requests.values()
        )
        views = tuple((name, view) for name, view in snapshot.requests.items())
        return (snapshot.free, snapshot.waiting, snapshot.running, snapshot.batches_in_flight, views, countdowns)

    # -- one step ----------------------------------------------------------------------------------------------

    def _schedule(self) -> dict[str, int]:
        output = self._scheduler.schedule()
        scheduled = dict(output.num_scheduled_tokens)
        if scheduled:
            reached = frozenset(n for n in scheduled if self._reaches_end(n))
            self._in_flight.append(Batch(output, reached, dict(scheduled)))
            self._note_peaks(scheduled)
        else:
            self._update(Batch(output, frozenset()), {})
        return scheduled

    def _note_peaks(self, scheduled: Mapping[str, int]) -> None:
        for name in scheduled:
            tables = (manager.req_to_blocks.get(name, ()) for manager in self._watch.managers)
            held = tuple(sum(not b.is_null for b in table) for table in tables)
            if sum(held) > sum(self.peaks.get(name, ())):
                self.peaks[name] = held

    def _reaches_end(self, name: str) -> bool:
        """Tell whether the step that was just scheduled computes the last known token, so that it samples."""
        request = self._scheduler.requests[name]
        return bool(request.num_computed_tokens >= request.num_tokens)

    def _must_settle(self, scheduled: Mapping[str, int]) -> bool:
        return bool(self._in_flight) and (not scheduled or len(self._in_flight) >= self._depth)

    def _settle(self, accepted: Mapping[str, int]) -> tuple[str, ...]:
        batch = self._in_flight.popleft()
        self._update(batch, accepted)
        self._propose(batch)
        return tuple(n for n in batch.output.num_scheduled_tokens if n not in self._scheduler.requests)

    def _update(self, batch: Batch, accepted: Mapping[str, int]) -> None:
        """Hand the fork the output of a model that samples one token and accepts so many drafts."""
        names = list(batch.output.num_scheduled_tokens)
        drafted = batch.output.scheduled_spec_decode_tokens
        sampled = [self._sampled(n, batch, len(drafted.get(n, ())), accepted.get(n, 0)) for n in names]
        offered = {
            "req_ids": names,
            "req_id_to_index": {n: i for i, n in enumerate(names)},
            "sampled_token_ids": sampled,
            "logprobs": None,
            "prompt_logprobs_dict": {},
            "pooler_output": [],
        }
        output = call(self._core.module("v1.outputs").ModelRunnerOutput, offered)
        self._scheduler.update_from_output(batch.output, output)

    @staticmethod
    def _sampled(name: str, batch: Batch, drafts: int, accepted: int) -> list[int]:
        if name not in batch.samples:
            return []
        return [_TOKEN] * (1 + min(accepted, drafts))

    def _propose(self, batch: Batch) -> None:
        """Propose drafts through the fork's own entry; its asynchronous scheduler places them by itself."""
        if not self._deployment.lookahead or self._depth == 2:
            return
        names = [n for n in batch.output.num_scheduled_tokens if n in batch.samples and n in self._scheduler.requests]
        drafts = [[_DRAFT] * known(self._deployment.lookahead, "lookahead") for _ in names]
        proposal = call(self._core.module("v1.outputs").DraftTokenIds, {"req_ids": names, "draft_token_ids": drafts})
        self._scheduler.update_draft_token_ids(proposal)

    def _note_preemptions(self, before: tuple[str, ...]) -> tuple[str, ...]:
        """Find who lost its blocks in this step; what it had in flight no longer counts as computed."""
        lost = tuple(n for n in before if self._status(self._scheduler.requests[n]) is Status.PREEMPTED)
        for batch in self._in_flight:
            for name in lost:
                batch.live.pop(name, None)
        return lost

    # -- views -------------------------------------------------------------------------------------------------

    def _running(self) -> tuple[str, ...]:
        return tuple(r.request_id for r in self._scheduler.running)

    def _waiting(self) -> Iterator[str]:
        for queue in _QUEUES:
            yield from (r.request_id for r in getattr(self._scheduler, queue, ()))

    def _view(self, request: Any) -> RequestView:
        name = request.request_id
        return RequestView(
            status=self._status(request),
            computed=request.num_computed_tokens,
            tokens=request.num_tokens,
            drafts=len(request.spec_token_ids),
            in_flight=sum(batch.live.get(name, 0) for batch in self._in_flight),
            tables=tuple(self._table(manager, name) for manager in self._watch.managers),
        )

    @staticmethod
    def _table(manager: Any, name: str) -> tuple[int, ...]:
        blocks = manager.req_to_blocks.get(name, ())
        return tuple(NULL_BLOCK if b.is_null else b.block_id for b in blocks)

    @staticmethod
    def _status(request: Any) -> Status:
        name = request.status.name
        if name.startswith("FINISHED"):
            return Status.ABORTED if name == "FINISHED_ABORTED" else Status.FINISHED
        return Status(name.partition("_")[0].lower())

    def _check(self, submission: Submission) -> None:
        longest = known(self._deployment.max_model_len, "max_model_len")
        if submission.prompt < 1 or submission.output < 1:
            raise UsageError("prompt", submission.prompt, "a request has at least one token of prompt and of output")
        if submission.prompt + submission.output > longest:
            length = submission.prompt + submission.output
            raise UsageError("prompt + output", length, f"longer than max_model_len = {longest}")
        if submission.name in self._scheduler.requests or submission.name in self._started:
            raise UsageError("name", submission.name, "another request has this name")
        if submission.priority and self._scheduler.policy.name != "PRIORITY":
            raise UnsupportedError("a priority needs an engine that schedules by priority")
