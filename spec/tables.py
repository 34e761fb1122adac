"""Block tables of kinds that do not follow the tokens alone, and what a step is predicted to add to a table."""

from __future__ import annotations

from .aligned import settled_but_drafts
from .arithmetic import Term, Truth, maximum, where
from .attention import Attention, blocks_for, recycled
from .design import Design, Freeing
from .states import CrossAttention, MambaNone


def state_table(cache: MambaNone, slots: Term) -> Term:
    """Count the entries of a table of states that keeps positions, the speculated ones behind all others.

    Source: vLLM `MambaManager.allocate_new_blocks`, cache modes `none` and `all` (0.11.0 to 0.33.0).
    """
    return blocks_for(slots + cache.block_size * cache.speculative, cache.block_size)


def settled_states(cache: MambaNone, processed: Term, design: Design) -> Term:
    """Count the tokens behind which a state is never read again, of so many that the design counts as processed.

    Source: vLLM `MambaManager.remove_skipped_blocks`: where tokens in flight count (0.19.1 to 0.25.1), drafts are taken
    for rejected.
    """
    return settled_but_drafts(processed, cache) if design.freeing is Freeing.COMPUTED else processed


def retired(cache: Attention, processed: Term, design: Design) -> Term:
    """Count the leading entries of a table that are out of reach, of so many processed tokens.

    Source: vLLM `SingleTypeKVCacheManager.remove_skipped_blocks`, which 0.11.0 never calls for states.
    """
    if not isinstance(cache, MambaNone):
        return recycled(cache, processed)
    return recycled(cache, settled_states(cache, processed, design)) if design.states_recycled else 0


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


def after_hit(required: Term, hit: Term, evictable: Term, partial: Truth) -> Term:
    """Count the blocks that a request needs free when it takes over the blocks of a prefix.

    Source: vLLM `SingleTypeKVCacheManager.get_num_blocks_to_allocate`: blocks that nobody holds count as free and leave
    the free list when they are taken over; a last block that is hit in part is copied (0.28.0 and later).

    Args:
        required: The entries that the table will have.
        hit: The blocks that are taken over.
        evictable: Those of them that nobody holds.
        partial: The prefix ends inside the last of them.
    """
    return maximum(0, required - hit) + evictable + where(partial, 1, 0)
