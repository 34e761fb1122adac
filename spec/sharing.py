"""Several requests in one pool: what a gate sets against what, and what an admission leaves free for others."""

from __future__ import annotations

from .admission import charged, slots_to_the_end
from .arithmetic import Term, Truth, where
from .attention import Attention
from .deployment import Deployment
from .design import Cap, Design


def reservation(cache: Attention, tokens: Term, deployment: Deployment, design: Design) -> Term:
    """Count the blocks that one request may come to hold of a group until it has so many tokens, lookahead included."""
    return charged(cache, slots_to_the_end(tokens, deployment, design), deployment, design, Cap.BOUND)


def passes_beside(needed: Term, usable: Term, taken: Term, headroom: Term = 0) -> Truth:
    """Say whether a request's need, and some headroom, go into what others leave of the pool.

    Source: vLLM `KVCacheManager.allocate_slots`, where what others take is what they hold at that moment; a gate that
    adds up what they reserve instead is the weakest that never has to preempt.
    """
    return needed + headroom <= usable - taken


def headroom(watermark: Term, others_run: Truth) -> Term:
    """Count the blocks that an admission must leave free: a watermark, unless the pool is idle.

    Source: vLLM `KVCacheManager.allocate_slots` (`watermark_blocks`, 0.25.1 and later).
    """
    return where(others_run, watermark, 0)
