"""Batches in flight of a fork's scheduler, and the model output that is made up for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..spec.deployment import Deployment
from .config import is_async, known
from .inspection import call
from .loader import Core

_TOKEN = 1
_DRAFT = 2


@dataclass
class Batch:
    """One scheduled batch whose output has not come back.

    Args:
        output: What the scheduler decided, in its own form.
        samples: The requests that deliver a token when it settles: their step reaches the end of their tokens.
        live: The tokens per request that still count as computed; those of a preempted request do not.
    """

    output: Any
    samples: frozenset[str]
    live: dict[str, int]


class Pipeline:
    """Schedule batches and settle them, oldest first, as an engine does with its batch queue."""

    def __init__(self, core: Core, scheduler: Any, deployment: Deployment) -> None:
        self._outputs = core.module("v1.outputs")
        self._scheduler = scheduler
        self._depth = known(deployment.max_concurrent_batches, "max_concurrent_batches")
        self._lookahead = known(deployment.lookahead, "lookahead")
        self._places_drafts = is_async(deployment)
        self._in_flight: deque[Batch] = deque()

    def __len__(self) -> int:
        return len(self._in_flight)

    def schedule(self) -> dict[str, int]:
        """Schedule a batch and return its tokens per request; an empty one settles at once, as in an engine."""
        output = self._scheduler.schedule()
        scheduled = dict(output.num_scheduled_tokens)
        batch = Batch(output, frozenset(n for n in scheduled if self._reaches_end(n)), scheduled.copy())
        if scheduled:
            self._in_flight.append(batch)
        else:
            self._update(batch, {})
        return scheduled

    def is_due(self, scheduled: Mapping[str, int]) -> bool:
        """Tell whether the oldest batch must settle now: the pipeline is full, or nothing could be scheduled."""
        return bool(self._in_flight) and (not scheduled or len(self._in_flight) >= self._depth)

    def settle(self, accepted: Mapping[str, int]) -> tuple[str, ...]:
        """Settle the oldest batch, accepting so many drafts per request, and name the requests that finished."""
        batch = self._in_flight.popleft()
        # A request that was aborted, or that ended in an earlier batch, does not finish in this one.
        unfinished = [n for n in batch.output.num_scheduled_tokens if n in self._scheduler.requests]
        self._update(batch, accepted)
        self._propose(batch)
        return tuple(n for n in unfinished if n not in self._scheduler.requests)

    def forget(self, names: Iterable[str]) -> None:
        """Stop counting what preempted requests had in flight."""
        for batch in self._in_flight:
            for name in names:
                batch.live.pop(name, None)

    def in_flight(self, name: str) -> int:
        """Count the tokens of a request whose step has not settled."""
        return sum([batch.live.get(name, 0) for batch in self._in_flight])

    def _reaches_end(self, name: str) -> bool:
        """Tell whether the step that was just scheduled computes the last known token, so that it samples."""
        request = self._scheduler.requests[name]
        return bool(request.num_computed_tokens >= request.num_tokens)

    def _update(self, batch: Batch, accepted: Mapping[str, int]) -> None:
        """Hand the fork the output of a model that samples one token and accepts so many drafts."""
        names = list(batch.output.num_scheduled_tokens)
        offered = {
            "req_ids": names,
            "req_id_to_index": {n: i for i, n in enumerate(names)},
            "sampled_token_ids": [self._sampled(n, batch, accepted.get(n, 0)) for n in names],
            "logprobs": None,
            "prompt_logprobs_dict": {},
            "pooler_output": [],
        }
        self._scheduler.update_from_output(batch.output, call(self._outputs.ModelRunnerOutput, offered))

    @staticmethod
    def _sampled(name: str, batch: Batch, accepted: int) -> list[int]:
        if name not in batch.samples:
            return []
        drafts = len(batch.output.scheduled_spec_decode_tokens.get(name, ()))
        return [_TOKEN] * (1 + min(accepted, drafts))

    def _propose(self, batch: Batch) -> None:
        """Propose drafts through the fork's own entry; its asynchronous scheduler places them by itself.

        A model runner reports on every request of the batch: none for those that delivered nothing.
        """
        if not self._lookahead or self._places_drafts:
            return
        names = [n for n in batch.output.num_scheduled_tokens if n in self._scheduler.requests]
        offered = {
            "req_ids": names,
            "draft_token_ids": [[_DRAFT] * (self._lookahead if n in batch.samples else 0) for n in names],
        }
        self._scheduler.update_draft_token_ids(call(self._outputs.DraftTokenIds, offered))
