"""The groups of one deployment over one pool: every question and every command goes to each in order."""

from __future__ import annotations

from ..spec.deployment import Deployment
from ..spec.design import Design
from .cache import GroupCache, Rules
from .pool import BlockPool


class Coordinator:
    """Share one block pool between the groups of a deployment.

    Source: vLLM `KVCacheCoordinator`, prefix caching off.
    """

    __slots__ = ("groups", "pool")

    def __init__(self, deployment: Deployment, design: Design, pool: BlockPool) -> None:
        self.pool = pool
        self.groups = [GroupCache(Rules(cache, deployment, design), pool) for cache in deployment.caches()]

    def copy(self) -> Coordinator:
        """Copy the pool and every group's tables."""
        twin = Coordinator.__new__(Coordinator)
        twin.pool = pool = self.pool.copy()
        twin.groups = [group.copy(pool) for group in self.groups]
        return twin

    def predicted_whole(self, name: str, tokens: int) -> int:
        """Predict, for the gate, the blocks that a sequence of so many tokens takes over all groups."""
        return sum(group.predicted_whole(name, tokens) for group in self.groups)

    def predicted(self, name: str, slots: int) -> int:
        """Predict the blocks that a step takes over all groups."""
        return sum(group.predicted(name, slots) for group in self.groups)

    def recycle(self, name: str, processed: int) -> None:
        """Give back, in every group, the blocks that no later step reads."""
        for group in self.groups:
            group.recycle(name, processed)

    def allocate(self, name: str, slots: int) -> tuple[int, ...]:
        """Extend every group's table to so many slots and return the blocks taken per group."""
        return tuple([group.allocate(name, slots) for group in self.groups])

    def release(self, name: str) -> None:
        """Give back all blocks of a request, group by group."""
        for group in self.groups:
            group.release(name)

    def tables(self, name: str) -> tuple[tuple[int, ...], ...]:
        """Return a request's block table of every group, or nothing where it has no table yet."""
        return tuple([group.table(name) for group in self.groups])
