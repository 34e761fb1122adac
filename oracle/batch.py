"""One step in the making; once scheduled it does not change."""

from __future__ import annotations

from .engine import Allocation, Status
from .request import Request


class Batch:
    """Collect what one step schedules.

    Attributes:
        budget: The tokens that may still be scheduled.
        cursor: The running request to be served next.
        tokens: The tokens scheduled per request, drafts included, in scheduling order.
        drafts: The drafts among them.
        delivers: The requests that will deliver output when the batch settles.
        prefill: A running request that was still in its prompt was served.
    """

    __slots__ = (
        "admitted",
        "allocations",
        "budget",
        "cursor",
        "delivers",
        "drafts",
        "preempted",
        "prefill",
        "resumed",
        "tokens",
    )

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.cursor = 0
        self.tokens: dict[str, int] = {}
        self.drafts: dict[str, int] = {}
        self.delivers: set[str] = set()
        self.admitted: list[str] = []
        self.resumed: list[str] = []
        self.preempted: list[str] = []
        self.allocations: list[Allocation] = []
        self.prefill = False

    def serve(self, request: Request, count: int) -> None:
        """Schedule tokens of a running request; those past its last known token are drafts."""
        drafts = count + request.computed - request.tokens - request.placeholders
        if request.drafts and drafts > 0:
            self.drafts[request.name] = drafts
        request.drafts = 0
        self.prefill |= request.prefilling
        self._take(request, count)

    def admit(self, request: Request, count: int) -> None:
        """Schedule the first tokens of a waiting or preempted request; those past its last one are placeholders."""
        (self.admitted if request.status is Status.WAITING else self.resumed).append(request.name)
        placeholders = count + request.computed - request.tokens
        if placeholders > 0:
            self.drafts[request.name] = placeholders
        self._take(request, count)

    def key(self) -> tuple[object, ...]:
        """Show what settling it depends on."""
        return (tuple(self.tokens.items()), tuple(self.drafts.items()), frozenset(self.delivers))

    def drop(self, request: Request) -> None:
        """Unschedule a request that is preempted, and take its tokens back into the budget."""
        self.budget += self.tokens.pop(request.name, 0)
        self.drafts.pop(request.name, None)

    def _take(self, request: Request, count: int) -> None:
        self.tokens[request.name] = count
        self.budget -= count
