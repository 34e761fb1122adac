"""Make a fork's own Request for a submission."""

from __future__ import annotations

from typing import Any

from ..oracle.engine import Submission
from .inspection import call
from .loader import Core


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
