"""The block pool: which blocks are free, in which order they are taken, and how many owners each has."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from .engine import NULL_BLOCK


class PoolError(RuntimeError):
    """Say that the engine asked of its pool what the pool cannot do; the engine cannot go on."""


class BlockPool:
    """Hold the blocks of all groups as one line of free blocks and a count of owners each.

    Args:
        blocks: The size of the pool, null block included.
        freed_first: A freed block goes to the head of the line; otherwise to its end.

    Source: vLLM `BlockPool` and `FreeKVCacheBlockQueue`, prefix caching off.
    """

    __slots__ = ("free", "freed_first", "references")

    def __init__(self, blocks: int, *, freed_first: bool) -> None:
        # The first block becomes the null block and never enters the line.
        self.free = deque(range(NULL_BLOCK + 1, blocks))
        self.references = [0] * blocks
        self.freed_first = freed_first

    def copy(self) -> BlockPool:
        """Copy the pool; nothing is shared."""
        twin = BlockPool.__new__(BlockPool)
        twin.free = self.free.copy()
        twin.references = self.references[:]
        twin.freed_first = self.freed_first
        return twin

    def can_take(self, count: int) -> bool:
        """Say whether so many blocks are free."""
        return count <= len(self.free)

    def take(self, count: int) -> list[int]:
        """Take so many blocks from the head of the line.

        Raises:
            PoolError: There are not so many.
        """
        if not self.can_take(count):
            raise PoolError(f"{count} blocks asked for, {len(self.free)} free")
        taken = [self.free.popleft() for _ in range(count)]
        for block in taken:
            self.references[block] += 1
        return taken

    def give_back(self, blocks: Iterable[int]) -> None:
        """Drop one owner of each block, null blocks aside, and put those without any back in line, in this order.

        Raises:
            PoolError: A block has no owner left to drop.
        """
        released = [block for block in blocks if block != NULL_BLOCK and self._disowned(block)]
        if self.freed_first:
            self.free.extendleft(reversed(released))
        else:
            self.free.extend(released)

    def _disowned(self, block: int) -> bool:
        """Drop one owner and say whether it was the last."""
        if self.references[block] < 1:
            raise PoolError(f"block {block} freed twice")
        self.references[block] -= 1
        return self.references[block] == 0
