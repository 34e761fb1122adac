"""The variables, settings and quantities that several families share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...spec.admission import charged, first_step_requirement, gate_requirement
from ...spec.arithmetic import Term, every, maximum
from ...spec.attention import (
    Attention,
    ChunkedLocal,
    FullAttention,
    SlidingWindow,
    blocks_for,
    held,
    slots_needed,
)
from ...spec.deployment import Deployment, Group
from ...spec.design import Design
from ...spec.sizing import group_requirement, request_requirement, usable
from ..theorem import Formula, Point, Premise, Quantity, Statement, Variable, given

BLOCK_SIZE = Variable("block_size", "tokens", "what one block holds")
FULL_BLOCK_SIZE = Variable("full_block_size", "tokens", "what one block of the full-attention group holds")
WINDOW = Variable("window", "tokens", "what a token attends to, itself included")
EXTRA_RETAINED = Variable("extra_retained", "tokens", "kept before the window, for multi-module drafting")
CHUNK = Variable("chunk", "tokens", "the chunk of local attention")
MAX_MODEL_LEN = Variable("max_model_len", "tokens", "the longest sequence")
MAX_NUM_BATCHED_TOKENS = Variable("max_num_batched_tokens", "tokens", "the budget of one step")
MAX_CONCURRENT_BATCHES = Variable("max_concurrent_batches", "batches", "scheduled and not yet settled, at most")
LOOKAHEAD = Variable("lookahead", "tokens", "slots taken beyond the scheduled tokens")
CONTEXT_PARALLEL = Variable("context_parallel", "ranks", "over which a sequence is sharded")
COUNT = Variable("count", "groups", "how many groups are alike")
COMPUTED = Variable("computed", "tokens", "computed, or being computed, when a step starts")
IN_FLIGHT = Variable("in_flight", "tokens", "those of the computed tokens whose step has not settled")
SCHEDULED = Variable("scheduled", "tokens", "what the step adds")
TOKENS = Variable("tokens", "tokens", "the sequence that a request asks to be admitted with")
BLOCKS = Variable("blocks", "blocks", "the pool, null block included")

CacheOf: TypeAlias = Callable[[Point], Attention]
"""The cache of a theorem's group, at a point."""

Setting: TypeAlias = Callable[[Point], Deployment]
"""The deployment of a theorem, at a point."""


def full(at: Point, kind: type[FullAttention] = FullAttention) -> FullAttention:
    """Build the full-attention cache of a point."""
    return kind(at.get("full_block_size", at.get("block_size", 1)))


def window(at: Point, kind: type[SlidingWindow] = SlidingWindow) -> SlidingWindow:
    """Build the sliding-window cache of a point."""
    return kind(at.block_size, at.window, at.get("extra_retained", 0))


def chunked(at: Point, kind: type[ChunkedLocal] = ChunkedLocal) -> ChunkedLocal:
    """Build the chunked-local cache of a point."""
    return kind(at.block_size, at.chunk)


def deployment(at: Point, *caches: Attention) -> Deployment:
    """Deploy caches, each in groups as many as the point says; what a theorem does not vary is the plainest setting."""
    return Deployment(
        groups=tuple(Group(cache, at.get("count", 1)) for cache in caches),
        max_model_len=at.max_model_len,
        max_num_batched_tokens=at.max_num_batched_tokens,
        max_concurrent_batches=at.get("max_concurrent_batches", 1),
        lookahead=at.get("lookahead", 0),
        context_parallel=at.get("context_parallel", 1),
    )


def deployed(*caches: CacheOf) -> Setting:
    """Deploy caches wherever the point may be."""
    return lambda at: deployment(at, *(cache(at) for cache in caches))


def processed(at: Point) -> Term:
    """Count the tokens whose step has settled."""
    return at.computed - at.get("in_flight", 0)


def slots(at: Point) -> Term:
    """Count the tokens that need a slot after the step."""
    return slots_needed(at.computed, at.scheduled, at.get("lookahead", 0), at.max_model_len)


def held_by(cache: CacheOf) -> Quantity:
    """Count what a request holds right after a step."""

    def of(at: Point) -> Term:
        lookahead = at.get("lookahead", 0)
        return held(cache(at), processed(at), at.computed, at.scheduled, lookahead, at.max_model_len)

    return Quantity("held", of)


def cap_of(cache: CacheOf, design: Design) -> Quantity:
    """Count what boot reserves, and the gate charges at most, for a request in one group."""
    return Quantity(
        "cap",
        lambda at: group_requirement(cache(at), deployment(at, cache(at)), design),
    )


def table_of(cache: CacheOf) -> Quantity:
    """Count the entries of the block table after a step."""
    return Quantity(
        "table",
        lambda at: blocks_for(slots(at), cache(at).block_size),
    )


def gate_needs(setting: Setting, design: Design) -> Quantity:
    """Count what the gate demands."""
    return Quantity(
        "gate",
        lambda at: gate_requirement(at.tokens, setting(at), design),
    )


def first_step_needs(setting: Setting, design: Design) -> Quantity:
    """Count what the first step takes."""
    return Quantity(
        "first step",
        lambda at: first_step_requirement(at.tokens, setting(at), design),
    )


def reserved(setting: Setting, design: Design) -> Quantity:
    """Count what boot reserves for one request."""
    return Quantity(
        "reserved",
        lambda at: request_requirement(setting(at), design),
    )


def predicted(cache: CacheOf, table: Formula, design: Design) -> Quantity:
    """Count what a step of a running request is predicted to take, given the entries that its table has."""

    def of(at: Point) -> Term:
        whole = charged(cache(at), slots(at), deployment(at, cache(at)), design, design.step_cap)
        return excess(whole, table(at))

    return Quantity("predicted", of)


def excess(whole: Term, part: Term) -> Term:
    """Count what is missing from a part."""
    return maximum(0, whole - part)


USABLE = Quantity("usable", lambda at: usable(at.blocks))

STEP_WITHIN_BUDGET = given(
    "scheduled: 1 to max_num_batched_tokens",
    lambda at: every([at.scheduled >= 1, at.scheduled <= at.max_num_batched_tokens]),
)
SEQUENCE_WITHIN_LENGTH = given(
    "computed + scheduled <= max_model_len", lambda at: at.computed + at.scheduled <= at.max_model_len
)
TOKENS_WITHIN_LENGTH = given(
    "tokens: 1 to max_model_len", lambda at: every([at.tokens >= 1, at.tokens <= at.max_model_len])
)
IN_FLIGHT_WITHIN_BATCHES: Premise = given(
    "in_flight <= computed and <= (max_concurrent_batches - 1) * max_num_batched_tokens",
    lambda at: every(
        [
            at.in_flight <= at.computed,
            at.in_flight <= (at.max_concurrent_batches - 1) * at.max_num_batched_tokens,
        ]
    ),
)

WINDOW_HAS_SLID = Statement("a token has left the window", lambda at: processed(at) >= at.window)
LONG_SEQUENCES = Statement(
    "neither the length nor the budget is degenerate",
    lambda at: every(
        [
            at.block_size >= 2,
            at.max_num_batched_tokens >= 2,
            at.max_model_len > at.max_num_batched_tokens + at.block_size,
        ]
    ),
)
