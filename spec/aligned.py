"""What a request holds of a Mamba group in cache mode `align`: its last states, and the copies they were made from.

The table's last blocks hold the running state and the speculated ones. When a step reaches into a new block, the
running state is copied there; the block behind goes back once enough tokens have settled. How much a request holds thus
depends on its history, of which three numbers are enough until a copy is passed before it has gone back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .arithmetic import Term, Truth, every, maximum, minimum, where
from .attention import blocks_for
from .states import MambaAlign, MambaNone


@dataclass(frozen=True, slots=True)
class Copies:
    """Sum up the history of one request in one group.

    Args:
        covered: The blocks of tokens that the table covers; the running state is in the last of them.
        source: How many it covered when the running state was last copied; 0 once that block has gone back.
        stray: The copies that were passed before they had gone back. From then on this is an upper bound: releases find
            some of them later.
    """

    covered: Term
    source: Term
    stray: Term


FRESH = Copies(0, 0, 0)
"""A request that holds nothing yet."""


def settled_but_drafts(computed: Term, cache: MambaNone) -> Term:
    """Count the tokens that are known to stay whatever drafts are rejected.

    Source: vLLM `MambaManager.remove_skipped_blocks` (0.19.1 to 0.25.1); 0.28.0 and later take processed tokens.
    """
    return maximum(0, computed - cache.speculative)


def advanced(copies: Copies, settled: Term, tokens: Term, cache: MambaAlign) -> Copies:
    """Take a step that ends at so many tokens: the copied block goes back if its successor has settled, then copy.

    Source: vLLM `MambaManager.remove_skipped_blocks` and `allocate_new_blocks` (0.19.1 to 0.33.0).
    """
    kept = _retired(copies, settled, cache)
    covered = blocks_for(tokens, cache.block_size)
    grows = covered > kept.covered
    passed = every([grows, kept.source >= 1])
    source = where(grows, kept.covered, kept.source)
    return Copies(maximum(covered, kept.covered), source, kept.stray + where(passed, 1, 0))


def _retired(copies: Copies, settled: Term, cache: MambaAlign) -> Copies:
    gone = copies.source < blocks_for(settled, cache.block_size)
    return replace(copies, source=where(gone, 0, copies.source))


def copies_held(copies: Copies, cache: MambaAlign) -> Term:
    """Count the blocks that a request holds after a step."""
    return 1 + cache.speculative + where(copies.source >= 1, 1, 0) + copies.stray


def checkpoint_taken(before: Copies, after: Copies, cache: MambaAlign) -> Term:
    """Count the blocks that a step at the end of a prompt keeps for a state inside it.

    Source: vLLM `MambaManager._needs_internal_checkpoint` (0.30.0 and later): only a block that would stay empty.
    """
    return where(after.covered >= before.covered + 2, cache.checkpoint, 0)


def new_blocks(copies: Copies, tokens: Term, cache: MambaAlign, floored: bool) -> Term:
    """Predict the blocks that a step of a running request takes.

    Source: vLLM `MambaManager.get_num_blocks_to_allocate`: one at most, and less than none where the table is longer
    than the step asks for (all releases; until 0.22.1 the allocation then fails an assertion).
    """
    missing = blocks_for(tokens, cache.block_size) - copies.covered
    return where(missing > 0, 1, 0 if floored else missing)


def first_blocks(tokens: Term, hit: Term, evictable: Term, partial: Truth, cache: MambaAlign) -> Term:
    """Count the blocks that a new request needs free for so many tokens, given the state that it takes over.

    Source: vLLM `MambaManager.get_num_blocks_to_allocate` (0.33.0). Until 0.25.1 there are no partial hits; 0.28.0 and
    0.30.0 charge one in full even where the request ends inside the block that is copied.

    Args:
        tokens: The tokens of the request.
        hit: The blocks of tokens that the state taken over stands for.
        evictable: One if nobody holds that state's block, else none.
        partial: The state lies inside the last of those blocks, so that it is copied.
        cache: The sizes.
    """
    copied = where(partial, 1, 0)
    missing = maximum(0, blocks_for(tokens, cache.block_size) + cache.speculative - hit) + copied
    return minimum(missing, 1 + cache.speculative + cache.checkpoint + copied) + evictable
