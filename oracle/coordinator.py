"""The groups of one deployment over one pool: every question and every command goes to each in order."""

from __future__ import annotations

from ..spec.attention import Attention
from ..spec.deployment import Deployment
from ..spec.design import Design
from ..spec.states import MambaAlign
from .cache import GroupCache, Rules
from .pool import BlockPool
from .states import AlignedRules, AlignedStates


class Coordinator:
    """Share one block pool between the groups of a deployment.

    Source: vLLM `KVCacheCoordinator`, prefix caching off.
    """

    __slots__ = ("aligned", "groups", "pool")

    def __init__(self, deployment: Deployment, design: Design, pool: BlockPool) -> None:
        self.pool = pool
        self.groups = [_group(cache, deployment, design, pool) for cache in deployment.caches()]
        self.aligned = [group for group in self.groups if isinstance(group, AlignedStates)]

    def copy(self) -> Coordinator:
        """Copy the pool and every group's tables."""
        twin = Coordinator.__new__(Coordinator)
        twin.pool = pool = self.pool.copy()
        twin.groups = [group.copy(pool) for group in self.groups]
        twin.aligned = self.aligned and [group for group in twin.groups if isinstance(group, AlignedStates)]
        return twin

    def predicted_whole(self, name: str, tokens: int) -> int:
        """Predict, for the gate, the blocks that a sequence of so many tokens takes over all groups."""
        return sum(group.predicted_whole(name, tokens) for group in self.groups)

    def predicted(self, name: str, slots: int, tokens: int) -> int:
        """Predict the blocks that a step takes over all groups, to give so many slots and to reach so many tokens."""
        return sum([group.predicted(name, slots, tokens) for group in self.groups])

    def recycle(self, name: str, processed: int) -> None:
        """Give back, in every group, the blocks that no later step reads."""
        for group in self.groups:
            group.recycle(name, processed)

    def allocate(self, name: str, slots: int, tokens: int) -> tuple[int, ...]:
        """Extend every group's table to so many slots or tokens and return the blocks taken per group."""
        return tuple([group.allocate(name, slots, tokens) for group in self.groups])

    def release(self, name: str) -> None:
        """Give back all blocks of a request, group by group."""
        for group in self.groups:
            group.release(name)

    def memory(self) -> tuple[object, ...]:
        """Show what decides the future beside the tables; nothing where no group keeps aligned states."""
        return tuple([group.memory() for group in self.aligned])

    def tables(self, name: str) -> tuple[tuple[int, ...], ...]:
        """Return a request's block table of every group, or nothing where it has no table yet."""
        return tuple([group.table(name) for group in self.groups])


def _group(cache: Attention, deployment: Deployment, design: Design, pool: BlockPool) -> GroupCache:
    if isinstance(cache, MambaAlign):
        return AlignedStates(AlignedRules(cache, deployment, design), pool)
    return GroupCache(Rules(cache, deployment, design), pool)
