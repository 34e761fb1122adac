"""What a chunk holds, and the exact condition under which that is within its cap."""

from __future__ import annotations

from collections.abc import Callable

from ...spec.arithmetic import Term, fdiv
from ...spec.attention import ChunkedLocal
from ...spec.design import VLLM_030
from ..theorem import (
    Expectation,
    Point,
    Premise,
    Statement,
    Theorem,
    Variable,
    at_most,
    equal,
    exceeds,
    given,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    CHUNK,
    COMPUTED,
    LOOKAHEAD,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    SCHEDULED,
    SEQUENCE_WITHIN_LENGTH,
    STEP_WITHIN_BUDGET,
    CacheOf,
    cap_of,
    chunked,
    deployed,
    held_by,
)
from .mutated import ChunkLessTwo, FloorChunk, KeepsLastChunk, SkipsIntoNext, SpareChunk

FAMILY = "chunked_local"

_BLOCKS_PER_CHUNK = Variable("blocks_per_chunk", "blocks", "the blocks that make up one chunk exactly")
_WHOLE_BLOCKS = Variable("whole_blocks", "blocks", "the whole blocks of a chunk of one token more")
_CHUNK_AND_BUDGET = Variable("blocks_per_chunk_and_budget", "blocks", "the blocks that chunk and budget make up")
_VARIABLES = (BLOCK_SIZE, CHUNK, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, COMPUTED, SCHEDULED)
_PREMISES: tuple[Premise, ...] = (legal_deployment(deployed(chunked)), STEP_WITHIN_BUDGET)
_CHUNK_IS_OVER = Statement("a chunk is over", lambda at: at.computed >= at.chunk)


def _of(kind: type[ChunkedLocal]) -> CacheOf:
    return lambda at: chunked(at, kind)


def _within_cap(kind: type[ChunkedLocal] = ChunkedLocal) -> Statement:
    return at_most(held_by(_of(kind)), cap_of(_of(kind), VLLM_030))


def _reaches_cap(kind: type[ChunkedLocal] = ChunkedLocal) -> Statement:
    return variant("the cap is reached", equal(held_by(_of(kind)), cap_of(_of(kind), VLLM_030)))


_FORGETS_TWO = variant("the cap forgets two tokens of the chunk", _within_cap(ChunkLessTwo))
_FLOORS = variant("the cap rounds down", _within_cap(FloorChunk))
_KEEPS = variant("the chunk before is kept", _within_cap(KeepsLastChunk))

ANY_CHUNK = Theorem(
    name="any_chunk_stays_within_cap",
    sentence="A request never holds more blocks of a chunked-local group than its cap, whatever the chunk.",
    family=FAMILY,
    variables=_VARIABLES,
    premises=(*_PREMISES, SEQUENCE_WITHIN_LENGTH),
    claim=_within_cap(),
    covers=(_CHUNK_IS_OVER,),
    expected=Expectation.REFUTED,
    least_sum=14,
)


def _with_chunk(at: Point) -> Point:
    return at.but(chunk=at.block_size * at.blocks_per_chunk)


def _made_of_blocks(statement: Statement) -> Statement:
    """State something of a chunk that is made of whole blocks."""
    return Statement(
        statement.text,
        lambda at: statement.holds(_with_chunk(at)),
    )


WHOLE_BLOCKS = Theorem(
    name="chunk_of_whole_blocks_stays_within_cap",
    sentence="Where the block size divides the chunk, a request never holds more blocks than its cap.",
    family=FAMILY,
    variables=(BLOCK_SIZE, _BLOCKS_PER_CHUNK, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, COMPUTED, SCHEDULED),
    premises=(
        lambda at: legal_deployment(deployed(chunked))(_with_chunk(at)),
        STEP_WITHIN_BUDGET,
    ),
    claim=_made_of_blocks(_within_cap()),
    covers=(_made_of_blocks(_reaches_cap()), _made_of_blocks(_CHUNK_IS_OVER)),
    mutants=tuple(map(_made_of_blocks, (_FORGETS_TWO, _FLOORS, _KEEPS))),
)

SPARE_BLOCK = Theorem(
    name="any_chunk_stays_within_cap_plus_one",
    sentence="One block more than the cap is enough for every chunk.",
    family=FAMILY,
    variables=_VARIABLES,
    premises=_PREMISES,
    claim=variant("held <= cap + 1", _within_cap(SpareChunk)),
    covers=(_reaches_cap(SpareChunk), _CHUNK_IS_OVER),
    mutants=(variant("no block is added", _within_cap()), _FORGETS_TWO, _FLOORS, _KEEPS),
)

BLOCK_OF_TWO = Theorem(
    name="any_chunk_in_blocks_of_two_stays_within_cap",
    sentence="With a block size of 2, every chunk stays within its cap.",
    family=FAMILY,
    variables=_VARIABLES,
    premises=(*_PREMISES, given("block_size = 2", lambda at: at.block_size == 2)),
    claim=_within_cap(),
    covers=(
        _reaches_cap(),
        _CHUNK_IS_OVER,
        Statement("the chunk is odd", lambda at: fdiv(at.chunk, 2) * 2 < at.chunk),
    ),
    mutants=(_FORGETS_TWO, _FLOORS, _KEEPS),
)


BLOCK_OF_TWO_AHEAD = Theorem(
    name="any_chunk_in_blocks_of_two_stays_within_cap_with_one_lookahead_token",
    sentence="With a block size of 2, every chunk stays within its cap, one lookahead token included.",
    family=FAMILY,
    variables=(*_VARIABLES, LOOKAHEAD),
    premises=(
        *_PREMISES,
        given("block_size = 2", lambda at: at.block_size == 2),
        given("lookahead = 1", lambda at: at.lookahead == 1),
    ),
    claim=_within_cap(),
    covers=(_CHUNK_IS_OVER,),
    expected=Expectation.REFUTED,
    least_sum=10,
)


def _left_over(at: Point) -> Term:
    """Count the tokens of one chunk that make up no whole block."""
    return at.chunk - fdiv(at.chunk, at.block_size) * at.block_size


def _worst(at: Point, chunks: int) -> Point:
    """Build a step that needs one block more than the cap, after so many chunks.

    The chunk that follows them begins two tokens or more into a block and lacks its last token when the step starts;
    the step then computes a whole budget which, with the chunk, makes up whole blocks.
    """
    budget = at.block_size * at.blocks_per_chunk_and_budget - at.chunk
    computed = chunks * at.chunk + at.chunk - 1
    return at.but(max_num_batched_tokens=budget, computed=computed, scheduled=budget, max_model_len=computed + budget)


def _exceeds(step: Callable[[Point], Point], kind: type[ChunkedLocal] = ChunkedLocal) -> Statement:
    excess = exceeds(held_by(_of(kind)), cap_of(_of(kind), VLLM_030))
    return Statement(excess.text, lambda at: excess.holds(step(at)))


def _misaligned(name: str, sentence: str, own: Variable, step: Callable[[Point], Point], premise: Premise) -> Theorem:
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(BLOCK_SIZE, own, _CHUNK_AND_BUDGET),
        premises=(lambda at: legal_deployment(deployed(chunked))(step(at)), premise),
        claim=_exceeds(step),
        covers=(
            Statement("the chunk is shorter than a block", lambda at: step(at).chunk < at.block_size),
            Statement("the chunk is longer than a block", lambda at: step(at).chunk > at.block_size),
        ),
        mutants=(
            variant("the cap has a spare block", _exceeds(step, SpareChunk)),
            variant("the chunk itself is dropped", _exceeds(step, SkipsIntoNext)),
        ),
    )


MISALIGNED_BY_MORE = _misaligned(
    "chunk_misaligned_by_two_or_more_exceeds_cap",
    "Where a chunk leaves two tokens or more beyond whole blocks, some step exceeds the cap.",
    CHUNK,
    lambda at: _worst(at, 1),
    given("the chunk leaves two tokens or more over", lambda at: _left_over(at) >= 2),
)

MISALIGNED_BY_ONE = _misaligned(
    "chunk_misaligned_by_one_exceeds_cap",
    "Where a chunk leaves one token beyond whole blocks of 3 tokens or more, some step exceeds the cap.",
    _WHOLE_BLOCKS,
    lambda at: _worst(at.but(chunk=at.block_size * at.whole_blocks + 1), 2),
    given("block_size >= 3", lambda at: at.block_size >= 3),
)

THEOREMS = (
    ANY_CHUNK,
    WHOLE_BLOCKS,
    SPARE_BLOCK,
    BLOCK_OF_TWO,
    BLOCK_OF_TWO_AHEAD,
    MISALIGNED_BY_MORE,
    MISALIGNED_BY_ONE,
)
"""Without lookahead, whole blocks, blocks of two and the misaligned are exact: a chunk stays within its cap where the
block size divides it or is 2, and only there."""
