"""Listen to the questions that a fork's scheduler puts to its block pool."""

from __future__ import annotations

from typing import Any

from ..oracle.engine import Allocation

_WAITING = ("WAITING", "PREEMPTED")


class Watch:
    """Record every allocation of one scheduler, in order, by wrapping two methods of its manager."""

    def __init__(self, scheduler: Any) -> None:
        self.allocations: list[Allocation] = []
        manager = scheduler.kv_cache_manager
        self.managers = list(manager.coordinator.single_type_managers)
        self._pool = manager.block_pool
        self._allocate = manager.allocate_slots
        manager.allocate_slots = self._allocate_slots
        self._fits = getattr(manager, "can_fit_full_sequence", None)
        if self._fits is not None:
            manager.can_fit_full_sequence = self._can_fit_full_sequence

    def reset(self) -> None:
        """Forget what was recorded."""
        self.allocations.clear()

    def _allocate_slots(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        free, waiting = self._pool.get_num_free_blocks(), request.status.name in _WAITING
        blocks = self._allocate(request, *args, **kwargs)
        taken = () if blocks is None else tuple(sum(not b.is_null for b in group) for group in blocks.blocks)
        self.allocations.append(Allocation(request.request_id, waiting, blocks is None, free, taken))
        return blocks

    def _can_fit_full_sequence(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Record a refusal only: after a yes the scheduler goes on to allocate."""
        assert self._fits is not None
        fits = self._fits(request, *args, **kwargs)
        if not fits:
            free = self._pool.get_num_free_blocks()
            self.allocations.append(Allocation(request.request_id, True, True, free))
        return fits
