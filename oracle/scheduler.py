"""The scheduler: who computes how many tokens in the next step, who is preempted for it, who comes in."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping

from ..spec.chunking import chunking
from ..spec.deployment import Deployment
from ..spec.design import Cursor, Design, Padding
from .batch import Batch
from .engine import Status
from .manager import CacheManager
from .request import Request


class Scheduler:
    """Serve running requests first, then waiting ones, from one budget of tokens per step.

    Args:
        deployment: The deployment; its numbers are known.
        design: What the engine's authors decided.
        manager: The cache manager that it asks for blocks.
        priority: Requests are served by priority, then arrival; otherwise in order of arrival.

    Source: vLLM `Scheduler.schedule`, `_preempt_request`, `_update_after_schedule` and `update_from_output`, and
    `AsyncScheduler` where more than one batch may be in flight; no prefix caching, no connector, no encoder.
    """

    def __init__(self, deployment: Deployment, design: Design, manager: CacheManager, *, priority: bool) -> None:
        self.deployment = deployment
        self.design = design
        self.manager = manager
        self.priority = priority
        self.asynchronous = bool(deployment.max_concurrent_batches > 1)
        self.clear_of_end = _clear_of_end(deployment)
        self.chunking = chunking(deployment, design)
        self.requests: dict[str, Request] = {}
        self.waiting: list[Request] = []
        self.running: list[Request] = []

    def copy(self) -> Scheduler:
        """Copy the scheduler, its requests, its manager and its pool."""
        twin = Scheduler.__new__(Scheduler)
        twin.deployment, twin.design = self.deployment, self.design
        twin.priority, twin.asynchronous, twin.clear_of_end = self.priority, self.asynchronous, self.clear_of_end
        twin.chunking = self.chunking
        twin.manager = self.manager.copy()
        twin.requests = requests = {name: request.copy() for name, request in self.requests.items()}
        twin.waiting = [requests[request.name] for request in self.waiting]
        twin.running = [requests[request.name] for request in self.running]
        return twin

    def add(self, request: Request) -> None:
        """Queue a request behind those that wait."""
        self.requests[request.name] = request
        self._enqueue(request, len(self.waiting))

    def remove(self, request: Request, status: Status) -> None:
        """Take an unfinished request out and give its blocks back."""
        (self.running if request.status is Status.RUNNING else self.waiting).remove(request)
        request.status = status
        self.manager.release(request)
        del self.requests[request.name]

    def schedule(self) -> Batch:
        """Make the next batch: running requests first; waiting ones only if nobody was preempted.

        Raises:
            PoolError: A prediction promised what the pool does not have.
        """
        batch = Batch(self.deployment.max_num_batched_tokens)
        self._serve_running(batch)
        if not batch.preempted:
            self._admit_waiting(batch)
        self._advance(batch)
        return batch

    def settle(self, batch: Batch, accepted: Mapping[str, int]) -> tuple[str, ...]:
        """Take in the output of a batch, so many drafts accepted per request, and name the requests that it ends."""
        ended = []
        for name, count in batch.tokens.items():
            request = self.requests.get(name)
            if request is not None and self._settle_one(request, count, batch, accepted.get(name, 0)):
                self.remove(request, Status.FINISHED)
                ended.append(name)
        return tuple(ended)

    # Running requests.

    def _serve_running(self, batch: Batch) -> None:
        while batch.cursor < len(self.running) and batch.budget > 0:
            request = self.running[batch.cursor]
            count = self._running_count(request, batch.budget)
            if count <= 0:
                batch.cursor += 1
            elif self._make_room(request, count, batch):
                batch.serve(request, count)
                batch.cursor += 1
            elif not self.priority or self.design.self_preemption_ends:
                break

    def _running_count(self, request: Request, budget: int) -> int:
        """Count the tokens that a running request gets: one position must stay for the token to be sampled."""
        if self.design.known_end_waits and request.ends_in_flight():
            return 0
        room = self.deployment.max_model_len - 1 - request.computed
        return self._chunk(request, min(request.pending(), budget, room))

    def _make_room(self, request: Request, count: int, batch: Batch) -> bool:
        """Preempt until a running request gets its blocks; it does not where it is itself the last to go."""
        while True:
            allocation = self.manager.ask(request, count, waiting=False)
            batch.allocations.append(allocation)
            if not allocation.refused:
                return True
            victim = max(self.running, key=Request.urgency) if self.priority else self.running[-1]
            self._preempt(victim, batch)
            if victim is request:
                return False

    def _preempt(self, victim: Request, batch: Batch) -> None:
        """Take a running request's blocks and progress and put it at the head of the queue."""
        index = self.running.index(victim)
        del self.running[index]
        if index < batch.cursor and self._cursor_follows(victim, batch):
            batch.cursor -= 1
        if self.design.victim_leaves_batch:
            batch.drop(victim)
        self.manager.release(victim)
        victim.status, victim.computed = Status.PREEMPTED, 0
        if self.design.preemption_drops_drafts:
            victim.drafts = 0
        if self.design.stale_output_waits:
            victim.stale, victim.placeholders = victim.in_flight, 0
        self._enqueue(victim, 0)
        batch.preempted.append(victim.name)

    def _cursor_follows(self, victim: Request, batch: Batch) -> bool:
        """Say whether the place in the running list moves up with a victim that was passed."""
        if self.design.cursor is Cursor.FOLLOWS_SERVED:
            return victim.name in batch.tokens
        return self.design.cursor is Cursor.FOLLOWS

    # Waiting requests.

    def _admit_waiting(self, batch: Batch) -> None:
        aside: list[Request] = []
        beside_decoding = bool(batch.tokens) and not batch.prefill
        while self.waiting and batch.budget > 0 and len(self.running) < self.deployment.max_num_seqs:
            request = self.waiting[0]
            if self._stands_aside(request, batch.budget):
                aside.append(self.waiting.pop(0))
                continue
            count = self._waiting_count(request, batch.budget, beside_decoding)
            if count == 0 or not self._admit(request, count, batch):
                break
        for request in aside if self.design.overtaking else reversed(aside):
            self._enqueue(request, 0)

    def _stands_aside(self, request: Request, budget: int) -> bool:
        """Say whether a waiting request lets those behind it pass in this step."""
        if request.stale:
            return True
        count = request.tokens - request.computed
        if count > budget and not self.deployment.chunked_prefill:
            return self.design.overtaking
        return self.design.short_chunk_yields and self._is_short(request, min(count, budget))

    def _is_short(self, request: Request, count: int) -> bool:
        """Say whether a chunk ends too close before the last known token, for no other reason that it waits."""
        if self.chunking is not None:
            count = self.chunking.scheduled(request.computed, count, request.prompt, request.tokens)
        return count > 0 and self._clear(request, count) == 0

    def _waiting_count(self, request: Request, budget: int, beside_decoding: bool) -> int:
        """Count the tokens that a waiting request would get, none where it and all behind it wait."""
        count = request.tokens - request.computed
        if count == 1 and beside_decoding:
            count = self._padded(request)
            if count > budget:
                return 0
        if count > budget and not self.deployment.chunked_prefill:
            return 0
        return self._chunk(request, min(count, budget))

    def _padded(self, request: Request) -> int:
        """Count the last token of a prompt and the placeholders beside it; beyond any budget where it must wait."""
        padded = 1 + self.deployment.lookahead
        room = self.deployment.max_model_len - request.computed - padded
        if self.design.padding is Padding.WHERE_IT_FITS:
            return padded if room >= 1 else 1
        if self.design.padding is Padding.OR_WAIT and padded > 1:
            return padded if room >= 0 else self.deployment.max_num_batched_tokens + 1
        return 1

    def _admit(self, request: Request, count: int, batch: Batch) -> bool:
        """Let a waiting request run if its blocks are there."""
        spare = self.manager.watermark if self.running else 0
        allocation = self.manager.ask(request, count, waiting=True, spare=spare)
        batch.allocations.append(allocation)
        if allocation.refused:
            return False
        self.running.append(self.waiting.pop(0))
        batch.admit(request, count)
        request.status = Status.RUNNING
        return True

    def _chunk(self, request: Request, count: int) -> int:
        """Shorten a chunk to where it may end: at a boundary of states, then clear of the last known token."""
        if self.chunking is not None:
            count = self.chunking.scheduled(request.computed, count, request.prompt, request.tokens)
        return self._clear(request, count)

    def _clear(self, request: Request, count: int) -> int:
        """Shorten a chunk that would end too close before the last known token."""
        left = request.tokens - request.computed - count
        return max(0, count - (self.clear_of_end - left)) if 0 < left < self.clear_of_end else count

    def _enqueue(self, request: Request, position: int) -> None:
        """Queue a request where its priority puts it, or at this position where there are none."""
        if self.priority:
            insort(self.waiting, request, key=Request.urgency)
        else:
            self.waiting.insert(position, request)

    # What a step leaves behind.

    def _advance(self, batch: Batch) -> None:
        """Count the scheduled tokens as computed and note who will deliver."""
        for name, count in batch.tokens.items():
            request = self.requests[name]
            request.computed += count
            request.in_flight += count
            request.prefilling = request.computed < request.tokens + request.placeholders
            if not request.prefilling:
                batch.delivers.add(name)
                if self.asynchronous:
                    request.placeholders += 1 + batch.drafts.get(name, 0)
                    request.drafts = self.deployment.lookahead

    def _settle_one(self, request: Request, count: int, batch: Batch, accepted: int) -> bool:
        """Take in one request's output and say whether it ends."""
        request.in_flight -= count
        fresh = request.stale == 0
        if not fresh:
            request.stale -= count
        drafted = batch.drafts.get(request.name, 0)
        output = 1 + min(accepted, drafted) if request.name in batch.delivers else 0
        if drafted and fresh:
            # One token is always taken for sampled; a victim that stayed in its batch samples none.
            self._roll_back(request, 1 + drafted - output)
        if self.asynchronous and fresh:
            request.placeholders -= output
        if not self.asynchronous:
            request.drafts = self.deployment.lookahead if output else 0
        return request.deliver(output, self.deployment.max_model_len)

    @staticmethod
    def _roll_back(request: Request, rejected: int) -> None:
        """Uncount rejected drafts."""
        if request.computed > 0:
            request.computed -= rejected
        if request.placeholders > 0:
            request.placeholders -= rejected


def _clear_of_end(deployment: Deployment) -> int:
    """Count the prompt tokens that drafting reads past a chunk: one, or with retained tokens all its modules'."""
    retained = any(getattr(cache, "extra_retained", 0) for cache in deployment.caches())
    return deployment.lookahead if retained else min(1, deployment.lookahead)
