"""Block tables of kinds that do not follow the tokens alone, and what a step is predicted to add to a table."""

from __future__ import annotations

from .arithmetic import Term, maximum, where
from .attention import blocks_for
from .states import CrossAttention, MambaNone


def state_table(cache: MambaNone, slots: Term) -> Term:
    """Count the entries of a table of states that keeps positions, the speculated ones behind all others.

    Source: vLLM `MambaManager.allocate_new_blocks`, cache modes `none` and `all` (0.11.0 to 0.33.0).
    """
    return blocks_for(slots + cache.block_size * cache.speculative, cache.block_size)


def encoder_table(cache: CrossAttention, encoder_tokens: Term) -> Term:
    """Count the entries of a table of encoder output, which is allocated once.

    Source: vLLM `KVCacheCoordinator.allocate_new_blocks` for a `CrossAttentionManager` (all releases).
    """
    return blocks_for(encoder_tokens, cache.block_size)


def ring_taken(held: Term) -> Term:
    """Count the blocks that a step takes of a ring: one, unless the request has it.

    Source: vLLM `CircularBufferManager.get_num_blocks_to_allocate` (0.30.0 and later).
    """
    return where(held >= 1, 0, 1)


def missing(required: Term, table: Term, floored: bool) -> Term:
    """Predict the blocks that a step adds to a table; without a floor, a longer table is a credit to other groups.

    Source: vLLM `SingleTypeKVCacheManager.get_num_blocks_to_allocate` (no floor in 0.11.0).
    """
    return maximum(0, required - table) if floored else required - table
