"""One group's block tables: what they will need, what has left the window, and the blocks they hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from ..spec.admission import charged, rank_block_size
from ..spec.arithmetic import Term
from ..spec.attention import (
    Attention,
    ChunkedLocal,
    FullAttention,
    HiddenState,
    MLAAttention,
    SlidingWindow,
    SlidingWindowMLA,
    blocks_for,
)
from ..spec.deployment import Deployment
from ..spec.design import Design
from ..spec.states import MambaAlign, MambaAll, MambaNone
from ..spec.tables import retired, state_table
from .engine import NULL_BLOCK
from .pool import BlockPool, PoolError

Count = Callable[[int], int]
"""A formula of one number of tokens, in blocks."""


KINDS: tuple[type[Attention], ...] = (
    FullAttention,
    MLAAttention,
    HiddenState,
    SlidingWindow,
    SlidingWindowMLA,
    ChunkedLocal,
    MambaNone,
    MambaAll,
    MambaAlign,
)
"""The kinds that the oracle serves."""


class Rules:
    """Hold the formulas of one group in one deployment, each value kept once computed.

    Args:
        cache: The kind of the group and its sizes.
        deployment: The deployment; its numbers are known.
        design: What the engine's authors decided.
    """

    __slots__ = ("floor", "gate_charge", "recycled", "step_charge", "table_length")

    def __init__(self, cache: Attention, deployment: Deployment, design: Design) -> None:
        self.table_length = kept(_length(cache, deployment))
        self.recycled = kept(partial(retired, cache, design=design))
        charge = partial(charged, cache, deployment=deployment, design=design)
        self.gate_charge = kept(partial(charge, kind=design.gate_cap))
        self.step_charge = kept(partial(charge, kind=design.step_cap))
        self.floor = design.prediction_floor


class GroupCache:
    """Hold the block tables of one group.

    A table lists the blocks of a request in token order; an entry that has left the window is the null block.

    Source: vLLM `SingleTypeKVCacheManager`, prefix caching off.
    """

    __slots__ = ("pool", "rules", "tables")

    def __init__(self, rules: Rules, pool: BlockPool) -> None:
        self.rules = rules
        self.pool = pool
        self.tables: dict[str, list[int]] = {}

    def copy(self, pool: BlockPool) -> GroupCache:
        """Copy the tables over a copy of the pool."""
        twin = GroupCache.__new__(GroupCache)
        twin.rules = self.rules
        twin.pool = pool
        twin.tables = {name: table[:] for name, table in self.tables.items()}
        return twin

    def predicted_whole(self, name: str, tokens: int) -> int:
        """Predict, for the gate, the blocks that a sequence of so many tokens takes beyond those it has."""
        return self._beyond_table(name, self.rules.gate_charge(tokens))

    def predicted(self, name: str, slots: int, tokens: int) -> int:  # noqa: ARG002 - states follow the tokens
        """Predict the blocks that a step takes to give a request so many slots."""
        return self._beyond_table(name, self.rules.step_charge(slots))

    def recycle(self, name: str, processed: int) -> None:
        """Give back the blocks that no later step reads, from the window's edge down to the first null entry.

        Raises:
            PoolError: The request has no entries for tokens that it is said to have computed.
        """
        gone = self.rules.recycled(processed)
        if gone == 0:
            return
        table = self.tables.get(name, [])
        if gone > len(table):
            raise PoolError(f"{name} has {len(table)} entries and should recycle {gone}")
        freed = []
        for index in range(gone - 1, -1, -1):
            if table[index] == NULL_BLOCK:
                break
            freed.append(table[index])
            table[index] = NULL_BLOCK
        self.pool.give_back(freed)

    def allocate(self, name: str, slots: int, tokens: int) -> int:  # noqa: ARG002 - states follow the tokens
        """Extend a table to so many slots and return how many blocks that took.

        Raises:
            PoolError: The pool has too few; what other groups took before stays taken.
        """
        table = self.tables.setdefault(name, [])
        taken = self.pool.take(max(0, self.rules.table_length(slots) - len(table)))
        table += taken
        return len(taken)

    def release(self, name: str) -> None:
        """Give back a request's blocks, the last one first."""
        self.pool.give_back(reversed(self.tables.pop(name, [])))

    def table(self, name: str) -> tuple[int, ...]:
        """Return the block table of a request; one that has none yet has an empty one."""
        return tuple(self.tables.get(name, ()))

    def _beyond_table(self, name: str, charge: int) -> int:
        """Subtract what a table lists, null entries included."""
        beyond = charge - len(self.tables.get(name, ()))
        return max(0, beyond) if self.rules.floor else beyond


def _length(cache: Attention, deployment: Deployment) -> Callable[[int], Term]:
    if isinstance(cache, MambaNone):
        return partial(state_table, cache)
    return partial(blocks_for, block_size=rank_block_size(cache, deployment))


def kept(formula: Callable[[int], Term]) -> Count:
    """Compute a formula of known numbers once per argument."""

    @cache
    def known(tokens: int) -> int:
        value = formula(tokens)
        if not isinstance(value, int):
            raise TypeError("an engine runs on known numbers only")
        return value

    return known
