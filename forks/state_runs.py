"""Take the first steps of one request in a fork's own manager of recurrent states; every number may be symbolic.

The fork's scheduler is constructed, so that pool, coordinator and manager are wired as it wires them. Its rule for the
end of a chunk and its `allocate_slots` are called as it calls them; only the choice of how many tokens a step gets, and
what a model makes of them, is made here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..proofs.decisions import History, StateRun, StateStep
from ..proofs.proxy import lifted
from ..spec.arithmetic import Term, maximum, minimum
from ..spec.deployment import Deployment
from ..spec.errors import PoolproofError, UnsupportedError
from .config import StandInAskedError, known
from .inspection import call
from .loader import Core, StubUsedError
from .requests import IN_FLIGHT, counted_request
from .scheduler import make_scheduler

ASSUMED = (
    "states: a request takes part in every batch, and settles when the pipeline is full",
    "states: aligned blocks are larger than twice the drafts, and no larger than what a step may compute",
    "states: drafts are those of a drafter that shares the cache (eagle), as many at each step as are configured",
)
"""What is taken for granted of the steps of a request."""

_ENOUGH = 64


@dataclass(frozen=True, slots=True)
class _Sent:
    """One step in flight: its tokens, where it ends, its drafts if it has some, and how many are to be accepted."""

    tokens: Any
    end: Any
    drafts: Any
    accepted: Any


def state_run(core: Core, deployment: Deployment, history: History) -> StateRun:
    """Take the steps of a history, up to the first that fails or that the fork gives no token to.

    Raises:
        UnsupportedError: The fork has no such cache, or no such method.
    """
    scheduler, _ = make_scheduler(core, replace(deployment, blocks=_ENOUGH), priority=False, gate=True)
    return _Steps(core, scheduler, deployment, history).taken()


class _Steps:
    """One request, what it has computed, and what is in flight."""

    def __init__(self, core: Core, scheduler: Any, deployment: Deployment, history: History) -> None:
        self._scheduler = scheduler
        self._history = history
        self._batches = known(deployment.max_concurrent_batches, "max_concurrent_batches")
        self._lookahead = known(deployment.lookahead, "lookahead")
        self._tokens = history.prompt
        self._request = counted_request(core, "request", lambda: self._tokens)
        self._meter = _Meter(scheduler.kv_cache_manager)
        self._in_flight: deque[_Sent] = deque()
        self._computed: Any = 0
        self._rejected: Any = 0

    def taken(self) -> StateRun:
        steps: list[StateStep] = []
        for offered, accepted in zip(self._history.offered, self._history.accepted, strict=True):
            try:
                step = self._step(offered, accepted)
            except (PoolproofError, StubUsedError, StandInAskedError):
                raise
            except Exception as error:  # noqa: BLE001 - whatever foreign code raises is the answer
                return self._run(steps, f"{type(error).__name__}: {error}")
            if step is None:
                break
            steps.append(step)
            # What follows the last step is not looked at: it would only multiply the paths.
            if len(steps) < len(self._history.offered):
                self._settle()
        return self._run(steps)

    def _run(self, steps: list[StateStep], failure: str = "") -> StateRun:
        return StateRun(tuple(steps), self._computed, self._rejected, failure)

    def _step(self, offered: Any, accepted: Any) -> StateStep | None:
        """Schedule the request as far as the offer goes; None where the fork gives it no token."""
        decodes = bool(self._computed >= self._history.prompt)
        wanted = 1 + self._lookahead if decodes else self._history.prompt - self._computed
        self._tell_request()
        tokens = self._split(lifted(minimum, wanted, offered))
        if tokens < 1:
            return None
        step = self._meter.allocated(self._request, tokens, self._lookahead)
        self._computed = self._computed + tokens
        self._in_flight.append(_Sent(tokens, self._computed, tokens - 1 if decodes else 0, accepted))
        return step

    def _tell_request(self) -> None:
        self._request.num_computed_tokens = self._computed
        if hasattr(self._request, IN_FLIGHT):
            setattr(self._request, IN_FLIGHT, sum([sent.tokens for sent in self._in_flight]))

    def _split(self, tokens: Any) -> Any:
        """Let the fork end a chunk where it does so for the sake of states."""
        if not getattr(self._scheduler, "need_mamba_block_aligned_split", False):
            return tokens
        offered = {"request": self._request, "num_new_tokens": tokens}
        return call(self._scheduler._mamba_block_aligned_split, offered)

    def _settle(self) -> None:
        """Settle the oldest step when as many are in flight as may be: what is rejected was not computed."""
        if len(self._in_flight) < self._batches:
            return
        sent = self._in_flight.popleft()
        rejected = lifted(_rejected, sent.drafts, sent.accepted)
        self._computed = self._computed - rejected
        self._rejected = self._rejected + rejected
        if sent.end >= self._history.prompt:
            self._tokens = self._tokens + 1 + sent.drafts - rejected


def _rejected(drafts: Term, accepted: Term) -> Term:
    return maximum(0, drafts - accepted)


class _Meter:
    """Reads off what the only manager of a coordinator predicts, and what leaves the pool."""

    def __init__(self, caches: Any) -> None:
        self._caches = caches
        (self._manager,) = caches.coordinator.single_type_managers
        self._all = self._free()
        self._predicted: Any = 0
        self._taken: Any = 0
        self._observe("get_num_blocks_to_allocate", self._predict)
        self._observe("allocate_new_blocks", self._take)

    def allocated(self, request: Any, tokens: Any, lookahead: int) -> StateStep:
        """Let the fork allocate a step, with blocks to spare."""
        offered = {"request": request, "num_new_tokens": tokens, "num_lookahead_tokens": lookahead}
        if call(self._caches.allocate_slots, offered) is None:
            raise RuntimeError("the step is refused with blocks to spare")
        return StateStep(tokens, self._predicted, self._taken, self._all - self._free())

    def _free(self) -> Any:
        return self._caches.block_pool.get_num_free_blocks()

    def _observe(self, name: str, observer: Callable[..., Any]) -> None:
        method = getattr(self._manager, name, None)
        if method is None:
            raise UnsupportedError(f"{type(self._manager).__name__} has no {name}")
        setattr(self._manager, name, lambda *given, **named: observer(lambda: method(*given, **named)))

    def _predict(self, ask: Callable[[], Any]) -> Any:
        self._predicted = ask()
        return self._predicted

    def _take(self, allocate: Callable[[], Any]) -> Any:
        before = self._free()
        made = allocate()
        self._taken = before - self._free()
        return made
