"""The protocol that the oracle and every implementation under test satisfy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from ..spec.deployment import Deployment

NULL_BLOCK = 0
"""The block id that stands for a recycled entry of a block table; it is owned by nobody."""


def real_blocks(tables: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """Count the entries of each block table that are blocks, null blocks aside."""
    return tuple([len(table) - table.count(NULL_BLOCK) for table in tables])


class Status(StrEnum):
    """Where a request stands."""

    WAITING = "waiting"
    RUNNING = "running"
    PREEMPTED = "preempted"
    FINISHED = "finished"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class Submission:
    """Ask for a request to be served.

    Args:
        name: A name of its own.
        prompt: The tokens of the prompt.
        output: The tokens to generate before it finishes (it never stops earlier of its own).
        priority: The lower is served first where the engine schedules by priority.
    """

    name: str
    prompt: int
    output: int = 1
    priority: int = 0


@dataclass(frozen=True, slots=True)
class RequestView:
    """Show one unfinished request.

    Args:
        status: Where it stands.
        computed: The tokens that were computed or are being computed.
        tokens: The tokens it consists of: prompt and delivered output.
        drafts: The draft tokens that its next step will verify.
        in_flight: Those of the computed tokens whose step has not settled; none once it was preempted.
        tables: A block table per group; a recycled entry is NULL_BLOCK.
    """

    status: Status
    computed: int
    tokens: int
    drafts: int = 0
    in_flight: int = 0
    tables: tuple[tuple[int, ...], ...] = ()

    @property
    def held(self) -> tuple[int, ...]:
        """Count the real blocks held, per group."""
        return real_blocks(self.tables)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Show the whole state between two steps.

    Args:
        free: The ids of the free blocks, in the order in which they will be taken.
        references: The reference count of every block by id; the null block's is 0, since engines do not maintain it.
        waiting: The waiting and preempted requests, in queue order.
        running: The running requests, in the order in which they are served.
        requests: Every unfinished request by name.
        batches_in_flight: The batches that were scheduled and have not settled.
    """

    free: tuple[int, ...]
    references: tuple[int, ...]
    waiting: tuple[str, ...]
    running: tuple[str, ...]
    requests: Mapping[str, RequestView]
    batches_in_flight: int = 0


@dataclass(frozen=True, slots=True)
class Allocation:
    """Record one question that a step put to the block pool.

    An admission is one question, whether the engine asks its gate apart from the step's own blocks or with them.

    Args:
        name: The request.
        waiting: It was waiting (or preempted), so that the gate was asked too.
        refused: The answer was no.
        free_before: The free blocks when it was asked, before anything was recycled for it.
        taken: The blocks taken per group where the answer was yes.
        predicted: The blocks that the step was predicted to take where the answer was yes, if the engine shows it.
        gate_passed: Where the answer to an admission was no: the gate had said yes, if the engine shows it.
    """

    name: str
    waiting: bool
    refused: bool
    free_before: int
    taken: tuple[int, ...] = ()
    predicted: int | None = None
    gate_passed: bool | None = None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """Tell what one step did.

    Args:
        scheduled: The tokens scheduled per request, drafts included, in scheduling order.
        admitted: The requests that left the queue for the first time.
        resumed: The preempted requests that left the queue again.
        preempted: The running requests that lost their blocks, in any order.
        finished: The requests that finished when a batch settled in this step.
        allocations: Every question put to the block pool, in order.
        tables: The block tables of every scheduled request, right after scheduling and before anything settled.
        error: What the engine raised, or None; an engine that raised is not driven further.
    """

    scheduled: Mapping[str, int] = field(default_factory=dict)
    admitted: tuple[str, ...] = ()
    resumed: tuple[str, ...] = ()
    preempted: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    allocations: tuple[Allocation, ...] = ()
    tables: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    error: str | None = None

    @property
    def held(self) -> dict[str, tuple[int, ...]]:
        """Count the real blocks that each scheduled request holds per group, right after scheduling."""
        return {name: real_blocks(tables) for name, tables in self.tables.items()}

    @property
    def refused(self) -> tuple[str, ...]:
        """Name the requests whose allocation was refused."""
        return tuple(allocation.name for allocation in self.allocations if allocation.refused)


class Engine(Protocol):
    """Serve requests from one block pool, a step at a time.

    One step schedules a batch and, once `max_concurrent_batches` are in flight (at once for one), or when nothing
    could be scheduled, settles the oldest one: every request whose prompt is computed delivers one token and as many
    drafts as were accepted; `lookahead` new drafts are then proposed to it.
    """

    @property
    def deployment(self) -> Deployment:
        """Return what the engine was booted with (its `blocks` are known)."""
        ...

    def submit(self, submission: Submission) -> None:
        """Queue a request.

        Raises:
            UsageError: The request is not one that an engine accepts (no token, too long, a name in use).
        """
        ...

    def step(self, accepted: Mapping[str, int] | None = None) -> StepRecord:
        """Run one step; of the drafts that settle in it, accept so many per request (none where it is not named)."""
        ...

    def abort(self, name: str) -> None:
        """Drop an unfinished request and give its blocks back."""
        ...

    def snapshot(self) -> Snapshot:
        """Show the state; comparing two snapshots tells whether anything moved."""
        ...
