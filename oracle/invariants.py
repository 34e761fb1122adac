"""What holds of every state and every step, as named predicates over what any Engine shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from ..spec.admission import rank_block_size
from ..spec.attention import Attention, recycled
from ..spec.deployment import Deployment
from ..spec.design import Cap, Design, Freeing
from ..spec.sizing import group_requirement
from ..spec.states import MambaAlign, MambaAll, MambaNone
from .engine import NULL_BLOCK, Snapshot, Status, StepRecord
from .wording import unfinished

Fault: TypeAlias = str | None
"""What is wrong, in words, or None."""


class Setting:
    """Hold what invariants read of an engine that does not change.

    Args:
        deployment: What the engine was booted with.
        design: What its authors decided; bounds are read from it.
    """

    def __init__(self, deployment: Deployment, design: Design) -> None:
        self.deployment = deployment
        self.design = design
        self.caches = tuple(deployment.caches())
        self.bounds = tuple(group_requirement(cache, deployment, design) for cache in self.caches)
        # Of aligned states, the running one and those behind it are read, wherever they lie.
        self.last_states = tuple(
            1 + int(cache.speculative) if isinstance(cache, MambaAlign) else 0 for cache in self.caches
        )
        self.tokens_per_block = tuple(rank_block_size(cache, deployment) for cache in self.caches)


@dataclass(frozen=True, slots=True)
class Turn:
    """Show one step of an engine, and the states on both sides of it.

    Args:
        setting: The engine's deployment and design.
        before: The state before the step.
        record: What the step did.
        after: The state after the step.
    """

    setting: Setting
    before: Snapshot
    record: StepRecord
    after: Snapshot


Check: TypeAlias = Callable[[Turn], Fault]
"""Find what is wrong with a step."""


def no_block_lost(turn: Turn) -> Fault:
    """Held and free blocks together are all blocks but the null block."""
    state = turn.after
    everyone = set(state.free).union(*(table for view in state.requests.values() for table in view.tables))
    missing = set(range(1, len(state.references))) - everyone
    return f"blocks {sorted(missing)} are neither free nor held" if missing else None


def no_block_twice(turn: Turn) -> Fault:
    """A block is listed once in the free line or as often in block tables as its reference count says."""
    state = turn.after
    owners, in_line = [0] * len(state.references), [0] * len(state.references)
    for view in state.requests.values():
        for table in view.tables:
            for block in table:
                owners[block] += 1
    for block in state.free:
        in_line[block] += 1
    if in_line[NULL_BLOCK]:
        return "the null block is in the free line"
    for block, references in enumerate(state.references[1:], 1):
        if owners[block] != references:
            return f"block {block} has {owners[block]} owners and a count of {references}"
        if in_line[block] > (references == 0):
            return f"block {block} is in the free line {in_line[block]} times with a count of {references}"
    return None


def blocks_add_up(turn: Turn) -> Fault:
    """As many blocks are free or held as there are; for large pools, between two walks through all of them."""
    state = turn.after
    held = sum(sum(view.held) for view in state.requests.values())
    there = len(state.references) - 1
    counted = len(state.free) + held
    return f"{counted} blocks are free or held, and there are {there}" if counted != there else None


def peak_within_cap(turn: Turn) -> Fault:
    """A request never holds more real blocks of a group than the bound that boot pays for."""
    for name, held in turn.record.held.items():
        for index, (limit, blocks) in enumerate(zip(turn.setting.bounds, held, strict=True)):
            if blocks > limit:
                return f"{name!r} holds {blocks} blocks of group {index}, which is bounded by {limit}"
    return None


def prediction_covers_allocation(turn: Turn) -> Fault:
    """A step takes no more blocks than it predicted, so that no allocation fails after a check that passed."""
    if turn.record.error is not None:
        return f"the engine raised: {turn.record.error}"
    for allocation in turn.record.allocations:
        # A step that takes nothing cannot fail, even where it was predicted to be a credit.
        if allocation.predicted is not None and sum(allocation.taken) > max(0, allocation.predicted):
            taken = sum(allocation.taken)
            return f"{allocation.name!r} took {taken} blocks where {allocation.predicted} were predicted"
    return None


def window_intact(turn: Turn) -> Fault:
    """No token that a settled or in-flight step may read lies in a freed or null block."""
    for name, tables in turn.record.tables.items():
        view = turn.before.requests[name]
        computed = view.computed if view.status is Status.RUNNING else 0
        processed = max(0, computed - view.in_flight)
        for index, (cache, table) in enumerate(zip(turn.setting.caches, tables, strict=True)):
            states = turn.setting.last_states[index]
            first = max(0, len(table) - states) if states else recycled(cache, processed)
            if NULL_BLOCK in table[first:]:
                return f"{name!r} may read a null block of group {index} from entry {first} on: {table}"
            if len(table) * turn.setting.tokens_per_block[index] < computed + turn.record.scheduled[name]:
                return f"{name!r} has {len(table)} entries in group {index} for tokens beyond them"
    return None


def failure_has_no_effect(turn: Turn) -> Fault:
    """A refused admission leaves the request's tables as they were, but for blocks that left the window."""
    for allocation in turn.record.allocations:
        view = turn.after.requests.get(allocation.name)
        if not (allocation.refused and allocation.waiting) or view is None:
            continue
        before = turn.before.requests[allocation.name].tables
        if view.status is Status.RUNNING or not _only_recycled(before, view.tables):
            return f"{allocation.name!r} was refused and its tables went from {before} to {view.tables}"
    return None


def preemption_frees(turn: Turn) -> Fault:
    """A preemption raises the free count before the request that asked for it asks again."""
    for first, again in pairwise(turn.record.allocations):
        retry = first.name == again.name and first.refused and not first.waiting
        if retry and again.free_before <= first.free_before:
            return f"{first.name!r} asked again with {again.free_before} free blocks after {first.free_before}"
    return None


def idle_means_done(turn: Turn) -> Fault:
    """An engine in which nothing moves has no unfinished request."""
    record = turn.record
    moved = record.scheduled or record.preempted or record.finished or turn.before.batches_in_flight
    if moved or record.error is not None or not turn.after.requests:
        return None
    return f"nothing moves, and {unfinished(turn.after.requests)}"


STEP_CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        no_block_lost,
        no_block_twice,
        prediction_covers_allocation,
        window_intact,
        peak_within_cap,
        failure_has_no_effect,
        preemption_frees,
        idle_means_done,
    )
}
"""The invariants of a single step, by name; `progress` and the two of boot are in `liveness`."""

STATE_CHECKS = frozenset({no_block_lost.__name__, no_block_twice.__name__})
"""Those of them that look at the state after the step alone."""


def promised(design: Design, deployment: Deployment) -> dict[str, Check]:
    """List the invariants that a design keeps in a deployment whatever happens; the others are known faults of it.

    - A prediction that may be a credit, or that is capped, does not cover what is taken.
    - Freeing on tokens in flight frees what a step in flight reads.
    - A bound that pays for one batch, or for no lookahead, is exceeded by the others; so is one of a chunk that the
      block size does not divide.
    - A victim that stays in its batch holds no blocks for what it computes.
    - Whether an idle engine is done depends on the pool: it is judged by the explorer, not promised.
    """
    broken = {"idle_means_done"}
    if not design.prediction_floor or design.step_cap is not Cap.NONE:
        broken.add("prediction_covers_allocation")
    in_flight = deployment.max_concurrent_batches > 1
    if in_flight and design.freeing is Freeing.COMPUTED:
        broken.add("window_intact")
    if not design.victim_leaves_batch:
        broken |= {"window_intact", "prediction_covers_allocation"}
    unpaid = deployment.lookahead > 1 and not design.lookahead_budget
    crowded = in_flight and design.freeing is Freeing.PROCESSED and not design.in_flight_budget
    ahead = deployment.lookahead > 0
    if unpaid or crowded or not all(_aligned(cache, ahead=ahead) for cache in deployment.caches()):
        broken.add("peak_within_cap")
    if not all(_within(cache, deployment, design) for cache in deployment.caches()):
        broken.add("peak_within_cap")
    return {name: check for name, check in STEP_CHECKS.items() if name not in broken}


def first_fault(turn: Turn, checks: dict[str, Check]) -> tuple[str, str] | None:
    """Find the first invariant that a step violates, and how."""
    for name, check in checks.items():
        if (fault := check(turn)) is not None:
            return name, fault
    return None


def _aligned(cache: object, *, ahead: bool) -> bool:
    """Say whether a chunk's bound holds: the block size divides the chunk, or is 2 without lookahead; others always."""
    chunk, block = getattr(cache, "chunk", 0), getattr(cache, "block_size", 1)
    return bool(chunk % block == 0 or (block == 2 and not ahead))


def _within(cache: Attention, deployment: Deployment, design: Design) -> bool:
    """Say whether what is reserved for states is never exceeded; other kinds are spoken of elsewhere."""
    if not isinstance(cache, MambaNone):
        return True
    if cache.speculative and cache.kind not in design.planning.speculated_states:
        return False
    if isinstance(cache, MambaAlign):
        return _copies_within(cache, deployment, design)
    return isinstance(cache, MambaAll) or bool(cache.block_size >= deployment.max_model_len)


def _copies_within(cache: MambaAlign, deployment: Deployment, design: Design) -> bool:
    """Say whether all copies of aligned states that may wait to go back are paid for.

    One is, unless the design pays for more: where all that is computed counts as settled but for drafts that are
    rejected within a block, or where nothing else is in flight.
    """
    if design.state_in_flight_budget:
        return True
    if deployment.lookahead >= cache.block_size:
        return False
    return not (cache.speculative if design.freeing is Freeing.COMPUTED else deployment.max_concurrent_batches > 1)


def _only_recycled(before: tuple[tuple[int, ...], ...], after: tuple[tuple[int, ...], ...]) -> bool:
    """Say whether tables differ by entries that became null, and by nothing else."""
    return len(before) == len(after) and all(
        len(old) == len(new) and all(now in (was, NULL_BLOCK) for was, now in zip(old, new, strict=True))
        for old, new in zip(before, after, strict=True)
    )
