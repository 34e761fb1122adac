"""One group's tables of aligned states: the running state and the speculated ones last, and the copy behind them."""

from __future__ import annotations

from ..spec.attention import blocks_for
from ..spec.deployment import Deployment
from ..spec.design import Design
from ..spec.states import MambaAlign
from ..spec.tables import settled_states
from .cache import GroupCache, Rules, kept
from .engine import NULL_BLOCK
from .pool import BlockPool, PoolError


class AlignedRules(Rules):
    """Hold the formulas of one group of aligned states, each value kept once computed."""

    __slots__ = ("behind_gaps", "covered", "may_shrink", "settled", "speculative")

    def __init__(self, cache: MambaAlign, deployment: Deployment, design: Design) -> None:
        super().__init__(cache, deployment, design)
        size = cache.block_size
        self.covered = kept(lambda tokens: blocks_for(tokens, size))
        self.settled = kept(lambda processed: blocks_for(settled_states(cache, processed, design), size))
        self.speculative = int(cache.speculative)
        self.behind_gaps = design.states_behind_gaps
        self.may_shrink = design.state_table_may_shrink
        self.floor = design.state_prediction_floor


class AlignedStates(GroupCache):
    """Hold the block tables of one group of aligned states.

    Attributes:
        copied: By request, the entry from which its running state was last copied, be it null by now.

    Source: vLLM `MambaManager`, cache mode `align`, prefix caching off.
    """

    __slots__ = ("copied",)

    rules: AlignedRules

    def __init__(self, rules: AlignedRules, pool: BlockPool) -> None:
        super().__init__(rules, pool)
        self.copied: dict[str, int] = {}

    def copy(self, pool: BlockPool) -> AlignedStates:
        """Copy the tables over a copy of the pool."""
        twin = AlignedStates(self.rules, pool)
        twin.tables = {name: table[:] for name, table in self.tables.items()}
        twin.copied = self.copied.copy()
        return twin

    def predicted_whole(self, name: str, tokens: int) -> int:  # noqa: ARG002 - one that waits has no table
        """Predict, for the gate, the blocks that a waiting sequence of so many tokens takes."""
        return self.rules.gate_charge(tokens)

    def predicted(self, name: str, slots: int, tokens: int) -> int:  # noqa: ARG002 - lookahead takes no state
        """Predict the blocks that a step to so many tokens takes."""
        rules, table = self.rules, self.tables.get(name)
        if not table:
            return rules.step_charge(tokens)
        beyond = rules.covered(tokens) + rules.speculative - len(table)
        return min(beyond, 1) if beyond > 0 or not rules.floor else 0

    def recycle(self, name: str, processed: int) -> None:
        """Give back the states that no later step reads, then the one that was copied, once its successor settled."""
        table = self.tables.get(name, [])
        self._free(table, self._behind(table, self.rules.recycled(processed)))
        source = self.copied.get(name)
        if source is not None and source < self.rules.settled(processed) - 1 and table[source] != NULL_BLOCK:
            self._free(table, [source])

    def allocate(self, name: str, slots: int, tokens: int) -> int:  # noqa: ARG002 - lookahead takes no state
        """Move the running state on to the block that holds so many tokens, and return how many blocks that took.

        Raises:
            PoolError: The pool has too few, or the table would have to shrink and must not.
        """
        rules, table = self.rules, self.tables.setdefault(name, [])
        before, covered = len(table), rules.covered(tokens)
        beyond = covered + rules.speculative - before
        if beyond < 0 and not rules.may_shrink:
            raise PoolError(f"{name} has {before} entries of states and a step asks for {before + beyond}")
        if beyond <= 0:
            return 0
        table += [NULL_BLOCK] * (covered - 1 - before)
        if before:
            self.copied[name] = before - 1 - rules.speculative
            self._relocate(table, before, covered - 1)
        taken = self.pool.take(covered + rules.speculative - len(table))
        table += taken
        return len(taken)

    def release(self, name: str) -> None:
        """Give back a request's blocks, the last one first."""
        self.copied.pop(name, None)
        super().release(name)

    def memory(self) -> tuple[tuple[str, int], ...]:
        """Show what decides the future beside the tables: the copies that have not gone back."""
        return tuple((name, at) for name, at in self.copied.items() if self.tables[name][at] != NULL_BLOCK)

    def _behind(self, table: list[int], gone: int) -> list[int]:
        """List the entries to be freed among the first ones, the last one first, up to a gap where that stops it."""
        entries = []
        for index in range(min(gone, len(table)) - 1, -1, -1):
            if table[index] != NULL_BLOCK:
                entries.append(index)
            elif not self.rules.behind_gaps:
                break
        return entries

    def _free(self, table: list[int], entries: list[int]) -> None:
        self.pool.give_back([table[index] for index in entries])
        for index in entries:
            table[index] = NULL_BLOCK

    def _relocate(self, table: list[int], before: int, running: int) -> None:
        """Move the speculated states that the running one passes to the table's end."""
        for index in range(before - self.rules.speculative, min(before, running)):
            table.append(table[index])
            table[index] = NULL_BLOCK
