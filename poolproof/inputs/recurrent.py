"""What engines ask of recurrent groups beyond the sizes of each: one cache mode, and room for a whole sequence."""

from __future__ import annotations

from ..spec import Deployment, UsageError
from ..spec.states import MambaNone
from .numbers import known


def check_recurrent(deployment: Deployment) -> Deployment:
    """Return a deployment unchanged if its recurrent groups are what an engine would boot.

    Raises:
        UsageError: Groups differ in their cache mode, or one state does not stand for a whole sequence.
    """
    first: str | None = None
    for index, group in enumerate(deployment.groups):
        cache = group.cache
        if not isinstance(cache, MambaNone):
            continue
        first = first or cache.kind
        if cache.kind != first:
            reason = "the recurrent layers of a model keep their states in one way"
            raise UsageError(f"groups[{index}].kind", cache.kind, reason, f"write {first}, as before")
        if cache.kind == MambaNone.kind and known(cache.block_size) < known(deployment.max_model_len):
            reason = "one state stands for the whole sequence"
            hint = f"set it to {deployment.max_model_len}, as engines do, or more"
            raise UsageError(f"groups[{index}].block_size", cache.block_size, reason, hint)
    return deployment
