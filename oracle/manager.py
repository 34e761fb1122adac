"""The cache manager: may this request enter, may it take its next step, and the blocks it gets for it."""

from __future__ import annotations

from ..spec.admission import gate_length
from ..spec.arithmetic import Term
from ..spec.attention import slots_needed
from ..spec.deployment import Deployment
from ..spec.design import Design, Freeing
from .coordinator import Coordinator
from .engine import Allocation
from .pool import BlockPool
from .request import Request


class CacheManager:
    """Answer the scheduler's questions about blocks, and hand them out.

    The queries `can_enter` (the gate) and `can_allocate` (a step) are what a yes to `ask` depends on; only `recycle`,
    `ask` and `release` change anything.

    Args:
        deployment: The deployment; its numbers are known.
        design: What the engine's authors decided.
        blocks: The size of the pool, null block included.

    Source: vLLM `KVCacheManager.allocate_slots`, and `can_fit_full_sequence` up to 0.20.2.
    """

    __slots__ = ("coordinator", "deployment", "design", "lookahead", "max_model_len", "promised", "watermark")

    def __init__(self, deployment: Deployment, design: Design, blocks: int) -> None:
        pool = BlockPool(blocks, freed_first=design.freed_first)
        self.coordinator = Coordinator(deployment, design, pool)
        self.deployment = deployment
        self.design = design
        self.promised: dict[str, int] = {}
        self.max_model_len = deployment.max_model_len
        self.lookahead = deployment.lookahead
        self.watermark = deployment.watermark if design.watermark else 0

    def copy(self) -> CacheManager:
        """Copy the manager with its groups and its pool."""
        twin = CacheManager.__new__(CacheManager)
        twin.coordinator = self.coordinator.copy()
        twin.deployment, twin.design, twin.max_model_len = self.deployment, self.design, self.max_model_len
        twin.promised = self.promised.copy()
        twin.lookahead, twin.watermark = self.lookahead, self.watermark
        return twin

    @property
    def free(self) -> int:
        """Count the free blocks."""
        return len(self.coordinator.pool.free)

    def can_enter(self, request: Request, spare: int = 0) -> bool:
        """Say whether the whole sequence of a waiting request fits the free blocks, leaving some to spare."""
        if not self.design.gate:
            return True
        if self.design.reserves_growth:
            usable = len(self.coordinator.pool.references) - 1
            return self.growth(request) + spare <= usable - sum(self.promised.values())
        length = self._known(gate_length(request.tokens, self.deployment, self.design))
        return self.coordinator.predicted_whole(request.name, length) + spare <= self.free

    def growth(self, request: Request) -> int:
        """Count the blocks that a request without any may come to hold until its last output token is delivered.

        That token itself is never computed.
        """
        tokens = gate_length(request.prompt + request.output - 1, self.deployment, self.design)
        return self.coordinator.predicted_whole(request.name, self._known(tokens))

    def recycle(self, request: Request) -> None:
        """Give back the blocks of a request that have left the window."""
        flying = request.in_flight if self.design.freeing is Freeing.PROCESSED else 0
        self.coordinator.recycle(request.name, max(0, request.computed - flying))

    def can_allocate(self, predicted: int, spare: int = 0) -> bool:
        """Say whether the free blocks cover a step that is predicted to take so many, leaving some to spare."""
        return predicted + spare <= self.free

    def ask(self, request: Request, scheduled: int, *, waiting: bool, spare: int = 0) -> Allocation:
        """Ask for what a request needs: the gate if it waits, then recycling, then the step's own blocks.

        Recycling stays done where the step is refused after it.

        Raises:
            PoolError: The prediction promised what the pool does not have.
        """
        name, free = request.name, self.free
        if waiting and not self.can_enter(request, spare):
            return Allocation(name, waiting, refused=True, free_before=free, gate_passed=False)
        self.recycle(request)
        slots, tokens = self.slots(request, scheduled), request.computed + scheduled
        predicted = self.coordinator.predicted(name, slots, tokens)
        if not self.can_allocate(predicted, spare):
            return Allocation(name, waiting, refused=True, free_before=free, gate_passed=True if waiting else None)
        if waiting and self.design.reserves_growth:
            self.promised[name] = self.growth(request)
        taken = self.coordinator.allocate(name, slots, tokens)
        return Allocation(name, waiting, refused=False, free_before=free, taken=taken, predicted=predicted)

    def release(self, request: Request) -> None:
        """Give back all blocks of a request."""
        self.coordinator.release(request.name)
        self.promised.pop(request.name, None)

    def slots(self, request: Request, scheduled: int) -> int:
        """Count the tokens that need a slot once so many are scheduled.

        What nothing is computed of is new to the cache, whether it waits or was preempted.
        """
        ahead = self.lookahead if request.computed or self.design.admission_lookahead else 0
        return slots_needed(request.computed, scheduled, ahead, self.max_model_len)

    @staticmethod
    def _known(tokens: Term) -> int:
        if not isinstance(tokens, int):
            raise TypeError("an engine runs on known numbers only")
        return tokens
