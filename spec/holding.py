"""What one request holds of a group after a step, whatever the kind; aligned states depend on more than counts."""

from __future__ import annotations

from .admission import rank_block_size
from .arithmetic import Term
from .attention import Attention, blocks_for, held, slots_needed
from .deployment import Deployment
from .design import Design
from .states import MambaNone
from .tables import retired, state_table


def held_after(
    cache: Attention,
    deployment: Deployment,
    design: Design,
    processed: Term,
    computed: Term,
    scheduled: Term,
    lookahead: Term,
) -> Term:
    """Count the real blocks of one group that a request holds right after a step has allocated.

    Source: vLLM `SingleTypeKVCacheManager.allocate_new_blocks` and `remove_skipped_blocks` (all releases).
    """
    if cache.recycles:
        return held(cache, processed, computed, scheduled, lookahead, deployment.max_model_len)
    slots = slots_needed(computed, scheduled, lookahead, deployment.max_model_len)
    if isinstance(cache, MambaNone):
        return state_table(cache, slots) - retired(cache, processed, design)
    return blocks_for(slots, rank_block_size(cache, deployment))
