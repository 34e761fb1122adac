"""Contracts that both provers are given: the functions of `spec` themselves, under the same premises."""

from __future__ import annotations

from poolproof.spec import SlidingWindow, held


def window_stays_within_cap(
    block_size: int, window: int, max_num_batched_tokens: int, max_model_len: int, computed: int, scheduled: int
) -> bool:
    """Hold: without lookahead a request stays within its cap.

    pre: block_size >= 1 and window >= 1 and max_num_batched_tokens >= 1 and max_model_len >= 1
    pre: computed >= 0 and 1 <= scheduled <= max_num_batched_tokens and computed + scheduled <= max_model_len
    post: __return__
    """
    cache = SlidingWindow(block_size, window)
    blocks = held(cache, computed, computed, scheduled, 0, max_model_len)
    return bool(blocks <= cache.bound(max_num_batched_tokens, max_model_len))


def window_with_any_lookahead_stays_within_cap(
    block_size: int,
    window: int,
    max_num_batched_tokens: int,
    max_model_len: int,
    lookahead: int,
    computed: int,
    scheduled: int,
) -> bool:
    """Fail: with two slots of lookahead a request can exceed its cap.

    pre: block_size >= 1 and window >= 1 and max_num_batched_tokens >= 1 and max_model_len >= 1 and lookahead >= 0
    pre: computed >= 0 and 1 <= scheduled <= max_num_batched_tokens and computed + scheduled <= max_model_len
    post: __return__
    """
    cache = SlidingWindow(block_size, window)
    blocks = held(cache, computed, computed, scheduled, lookahead, max_model_len)
    return bool(blocks <= cache.bound(max_num_batched_tokens, max_model_len))
