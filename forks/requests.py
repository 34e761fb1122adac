"""Make a fork's own Request for a submission."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..oracle.engine import Submission
from .inspection import call
from .loader import Core

IN_FLIGHT = "num_in_flight_tokens"
"""Where a request counts its tokens that are computed and not settled, in releases that do."""


def make_request(core: Core, submission: Submission, arrival: int, hasher: Any) -> Any:
    """Make a request with the fork's own sampling parameters; it stops only at its number of output tokens."""
    sampling_class = core.module("sampling_params").SamplingParams
    sampling = sampling_class(max_tokens=submission.output, ignore_eos=True)
    offered = {
        "request_id": submission.name,
        "prompt_token_ids": list(range(submission.prompt)),
        "sampling_params": sampling,
        "pooling_params": None,
        "eos_token_id": None,
        "arrival_time": float(arrival),
        "priority": submission.priority,
        "block_hasher": hasher,
    }
    return call(core.module("v1.request").Request, offered)


def counted_request(core: Core, name: str, tokens: Callable[[], Any]) -> Any:
    """Make the fork's own request of which only numbers are known: the length of its sequence is asked for."""
    request = make_request(core, Submission(name, 1), 0, None)
    counted = {each: property(lambda _: tokens()) for each in ("num_tokens", "num_tokens_with_spec")}
    request.__class__ = type(type(request).__name__, (type(request),), counted)
    request.num_prompt_tokens = tokens()
    return request
