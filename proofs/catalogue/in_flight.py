"""Chunked-local groups while batches are in flight: what is kept for them, and what they must be paid for."""

from __future__ import annotations

from dataclasses import replace

from ...spec.arithmetic import Truth
from ...spec.attention import ChunkedLocal
from ...spec.design import SOUND, VLLM_025, VLLM_030, Design
from ..theorem import (
    Expectation,
    Point,
    Premise,
    Statement,
    Theorem,
    Variable,
    at_most,
    equal,
    legal_cache,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    CHUNK,
    COMPUTED,
    IN_FLIGHT,
    IN_FLIGHT_WITHIN_BATCHES,
    LOOKAHEAD,
    MAX_CONCURRENT_BATCHES,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    SCHEDULED,
    SEQUENCE_WITHIN_LENGTH,
    STEP_WITHIN_BUDGET,
    cap_of,
    chunked,
    deployed,
    held_by,
)
from .mutated import ChunkLessTwo, FloorChunk, KeepsLastChunk
from .recycling import READER, READS_IN_FLIGHT, TOKEN, freed_by, safe, seen_by_chunk

FAMILY = "in_flight"

_READ = (BLOCK_SIZE, CHUNK, COMPUTED, IN_FLIGHT, TOKEN, READER)
_FLIES = Statement("tokens in flight span a chunk", lambda at: at.in_flight > at.chunk)

ON_PROCESSED = Theorem(
    name="freeing_chunks_on_processed_tokens_spares_tokens_in_flight",
    sentence="Freeing on processed tokens, no chunked-local block goes back that a step in flight may read.",
    family=FAMILY,
    variables=_READ,
    premises=(legal_cache(chunked), READS_IN_FLIGHT),
    claim=safe(freed_by(SOUND, chunked), seen_by_chunk),
    covers=(_FLIES, Statement("blocks have gone back", lambda at: freed_by(SOUND, chunked).of(at) >= 1)),
    mutants=(variant("freed on computed tokens", safe(freed_by(VLLM_025, chunked), seen_by_chunk)),),
)

ON_COMPUTED = Theorem(
    name="freeing_chunks_on_computed_tokens_spares_tokens_in_flight",
    sentence="Freeing on computed tokens, no chunked-local block goes back that a step in flight may read.",
    family=FAMILY,
    variables=_READ,
    premises=(legal_cache(chunked), READS_IN_FLIGHT),
    claim=safe(freed_by(VLLM_025, chunked), seen_by_chunk),
    covers=(_FLIES,),
    expected=Expectation.REFUTED,
    least_sum=4,
)

_BLOCKS_PER_CHUNK = Variable("blocks_per_chunk", "blocks", "the blocks that make up one chunk exactly")
_VARIABLES = (BLOCK_SIZE, _BLOCKS_PER_CHUNK, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, MAX_CONCURRENT_BATCHES)
_STEP = (COMPUTED, IN_FLIGHT, SCHEDULED)
_DRAFTS = Statement("lookahead takes slots", lambda at: at.lookahead >= 3)
_FLYING = Statement("tokens are in flight", lambda at: at.in_flight >= at.max_num_batched_tokens)


def _with_chunk(at: Point) -> Point:
    return at.but(chunk=at.block_size * at.blocks_per_chunk)


def _within_cap(design: Design, kind: type[ChunkedLocal] = ChunkedLocal) -> Statement:
    """State that a request stays within its cap where the block size divides the chunk."""
    held, cap = held_by(lambda at: chunked(at, kind)), cap_of(lambda at: chunked(at, kind), design)
    statement = at_most(held, cap)
    return Statement(statement.text, lambda at: statement.holds(_with_chunk(at)))


def _reached(at: Point) -> Truth:
    return equal(held_by(chunked), cap_of(chunked, SOUND)).holds(_with_chunk(at))


_PREMISES: tuple[Premise, ...] = (
    lambda at: legal_deployment(deployed(chunked))(_with_chunk(at)),
    STEP_WITHIN_BUDGET,
    IN_FLIGHT_WITHIN_BATCHES,
)
_ONE_BATCH_PAID = replace(SOUND, in_flight_budget=False)

PAID = Theorem(
    name="chunk_with_batches_in_flight_stays_within_cap",
    sentence="Freeing on processed tokens, a budget for all batches in flight and all but one lookahead token keeps a "
    "request within its cap, where the block size divides the chunk.",
    family=FAMILY,
    variables=(*_VARIABLES, LOOKAHEAD, *_STEP),
    premises=_PREMISES,
    claim=_within_cap(SOUND),
    covers=(_FLYING, _DRAFTS, Statement("the cap is reached", _reached)),
    mutants=(
        variant("one batch is paid for", _within_cap(_ONE_BATCH_PAID)),
        variant("lookahead is not paid for", _within_cap(VLLM_030)),
        variant("the cap forgets two tokens of the chunk", _within_cap(SOUND, ChunkLessTwo)),
        variant("the cap rounds down", _within_cap(SOUND, FloorChunk)),
        variant("the chunk before is kept", _within_cap(SOUND, KeepsLastChunk)),
    ),
)

UNPAID = Theorem(
    name="chunk_with_batches_in_flight_stays_within_cap_of_one_batch",
    sentence="Freeing on processed tokens, a budget for one batch is enough for a chunk of whole blocks.",
    family=FAMILY,
    variables=(*_VARIABLES, *_STEP),
    premises=(*_PREMISES, SEQUENCE_WITHIN_LENGTH),
    claim=_within_cap(_ONE_BATCH_PAID),
    covers=(_FLYING,),
    expected=Expectation.REFUTED,
    least_sum=14,
)

THEOREMS = (ON_PROCESSED, ON_COMPUTED, PAID, UNPAID)
