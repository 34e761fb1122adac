"""Listen to the questions that a fork's scheduler puts to its block pool."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..oracle.engine import NULL_BLOCK, Allocation

_WAITING = ("WAITING", "PREEMPTED")


class Watch:
    """Record every allocation of one scheduler, in order, by wrapping methods of its managers."""

    def __init__(self, scheduler: Any) -> None:
        self.allocations: list[Allocation] = []
        manager = scheduler.kv_cache_manager
        self._managers = list(manager.coordinator.single_type_managers)
        self._pool = manager.block_pool
        self._taken: dict[int, int] = {}
        self._moving = {i: m for i, m in enumerate(self._managers) if getattr(m, "mamba_cache_mode", None) == "align"}
        for index, mover in self._moving.items():
            mover.allocate_new_blocks = partial(self._moved, index, mover, mover.allocate_new_blocks)
        self._predicted: int | None = None
        self._predict = manager.coordinator.get_num_blocks_to_allocate
        manager.coordinator.get_num_blocks_to_allocate = self._get_num_blocks_to_allocate
        self._allocate = manager.allocate_slots
        manager.allocate_slots = self._allocate_slots
        self._fits = getattr(manager, "can_fit_full_sequence", _no_gate)
        if self._fits is not _no_gate:
            manager.can_fit_full_sequence = self._can_fit_full_sequence

    def reset(self) -> None:
        """Forget what was recorded."""
        self.allocations.clear()

    def tables(self, name: str) -> tuple[tuple[int, ...], ...]:
        """Return a request's block table of every group."""
        # Lists inside: this is the inner loop of every comparison.
        return tuple(
            [
                tuple(
                    [NULL_BLOCK if block.is_null else block.block_id for block in manager.req_to_blocks.get(name, ())]
                )
                for manager in self._managers
            ]
        )

    def copied(self) -> tuple[object, ...]:
        """Show which entries of which tables the recurrent states were last copied from, and are still held."""
        return tuple([_copies(manager) for manager in self._moving.values()])

    def _get_num_blocks_to_allocate(self, *args: Any, **kwargs: Any) -> Any:
        """Remember the last prediction: the one before an allocation is the step's own."""
        self._predicted = self._predict(*args, **kwargs)
        return self._predicted

    def _allocate_slots(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        free, waiting = self._pool.get_num_free_blocks(), request.status.name.startswith(_WAITING)
        self._predicted = None
        blocks = self._allocate(request, *args, **kwargs)
        if blocks is None:
            answer = Allocation(request.request_id, waiting, True, free)
        else:
            taken = tuple(
                self._taken.get(index, sum(not b.is_null for b in group)) for index, group in enumerate(blocks.blocks)
            )
            answer = Allocation(request.request_id, waiting, False, free, taken, self._predicted)
        self.allocations.append(answer)
        return blocks

    def _moved(self, index: int, manager: Any, allocate: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """Count the new ones among the blocks that an allocation lists: it lists moved ones, too."""
        held = {block.block_id for block in manager.req_to_blocks.get(name, ())}
        blocks = allocate(name, *args, **kwargs)
        self._taken[index] = sum(not block.is_null and block.block_id not in held for block in blocks)
        return blocks

    def _can_fit_full_sequence(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Record a refusal only: after a yes the scheduler goes on to allocate."""
        fits = self._fits(request, *args, **kwargs)
        if not fits:
            self.allocations.append(Allocation(request.request_id, True, True, self._pool.get_num_free_blocks()))
        return fits


def _no_gate(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("this fork has no such gate")


def _copies(manager: Any) -> tuple[tuple[str, int], ...]:
    tables = manager.req_to_blocks
    return tuple((name, at) for name, at in manager.last_state_block_idx.items() if not tables[name][at].is_null)
