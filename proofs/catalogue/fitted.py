"""The greatest length fitted to the memory: found by bisection, served where boot counts the null block."""

from __future__ import annotations

from ...spec.admission import admitted, gate_requirement
from ...spec.arithmetic import Term, Truth, every, fdiv
from ...spec.deployment import Deployment
from ...spec.design import SOUND, VLLM_028, Design
from ...spec.sizing import boot_accepts, boot_requirement
from ..theorem import (
    Expectation,
    Point,
    Premise,
    Quantity,
    Statement,
    Theorem,
    Variable,
    at_most,
    exceeds,
    given,
    legal_deployment,
    negation,
    variant,
)
from .common import (
    BLOCK_SIZE,
    BLOCKS,
    CHUNK,
    CONTEXT_PARALLEL,
    EXTRA_RETAINED,
    LOOKAHEAD,
    MAX_CONCURRENT_BATCHES,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    USABLE,
    WINDOW,
    Setting,
    chunked,
    deployed,
    deployment,
    full,
    window,
)

FAMILY = "fitted"

_SHORTER = Variable("shorter", "tokens", "a length that is tried and no greater")
_FITTED = Variable("fitted", "tokens", "the greatest length that is accepted")
_LONGER = Variable("longer", "tokens", "a greater length")
_GENERAL = (MAX_NUM_BATCHED_TOKENS, MAX_CONCURRENT_BATCHES, LOOKAHEAD, MAX_MODEL_LEN, _SHORTER)


def _boot(setting: Setting, length: str) -> Quantity:
    return Quantity(
        f"boot at {length}", lambda at: boot_requirement(setting(at.but(max_model_len=getattr(at, length))), SOUND)
    )


def _grows(name: str, sentence: str, setting: Setting, own: tuple[Variable, ...]) -> Theorem:
    shorter, longer = _boot(setting, "shorter"), _boot(setting, "max_model_len")
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(*own, *_GENERAL),
        premises=(
            legal_deployment(setting),
            given("shorter: 1 to max_model_len", lambda at: every([at.shorter >= 1, at.shorter <= at.max_model_len])),
        ),
        claim=at_most(shorter, longer),
        covers=(
            variant("boot tells the lengths apart", exceeds(longer, shorter)),
            Statement("the length is far greater", lambda at: at.max_model_len > 2 * at.shorter),
        ),
        mutants=(
            variant("boot tells all lengths apart", at_most(_plus_one(shorter), longer)),
            variant("boot shrinks", at_most(longer, shorter)),
        ),
    )


def _plus_one(quantity: Quantity) -> Quantity:
    return Quantity(f"{quantity.name} + 1", lambda at: quantity.of(at) + 1)


def _at(at: Point, length: Term) -> Deployment:
    """Deploy full attention at a greatest length; the budget, which it does not read, is one sequence."""
    return deployment(at.but(max_model_len=length, max_num_batched_tokens=length), full(at))


def _maximal(design: Design) -> Premise:
    return given(
        "fitted is the greatest length that is accepted",
        lambda at: every(
            [
                at.fitted >= 1,
                boot_accepts(at.blocks, _at(at, at.fitted), design),
                negation(boot_accepts(at.blocks, _at(at, at.fitted + 1), design)),
            ]
        ),
    )


def _serves(at: Point, length: Term, more_blocks: int = 0) -> Truth:
    """Say whether a request of a length is admitted, the greatest length being the same."""
    return admitted(length, at.blocks + more_blocks, _at(at, length), SOUND)


_SHOWN = (Quantity("gate", lambda at: gate_requirement(at.fitted, _at(at, at.fitted), SOUND)), USABLE)
_SERVED = Statement("a request of the fitted length is admitted", lambda at: _serves(at, at.fitted), _SHOWN)
_FITTED_TO = (BLOCK_SIZE, _FITTED, BLOCKS)
_PARTLY = Statement("several blocks are taken", lambda at: at.fitted > at.block_size + 1)
_SIZE = given("block_size >= 1", lambda at: at.block_size >= 1)

SERVED = Theorem(
    name="fitted_length_is_served",
    sentence="Where boot counts the null block, a request of the fitted length is admitted.",
    family=FAMILY,
    variables=_FITTED_TO,
    premises=(_SIZE, _maximal(SOUND)),
    claim=_SERVED,
    covers=(_PARTLY,),
    mutants=(
        Statement("a pool of a block less serves it", lambda at: _serves(at, at.fitted, -1)),
        Statement("a token more is served", lambda at: _serves(at, at.fitted + 1)),
    ),
)

NOT_SERVED = Theorem(
    name="fitted_length_that_takes_the_null_block_is_served",
    sentence="Where boot forgets the null block, a request of the fitted length is admitted.",
    family=FAMILY,
    variables=_FITTED_TO,
    premises=(_SIZE, _maximal(VLLM_028)),
    claim=_SERVED,
    covers=(_PARTLY,),
    expected=Expectation.REFUTED,
    least_sum=3,
)

SATURATED = Theorem(
    name="fitted_length_that_takes_the_null_block_is_never_served",
    sentence="Where boot forgets the null block, a length that was fitted to full attention takes up the whole pool, "
    "and no request of that length is ever admitted.",
    family=FAMILY,
    variables=_FITTED_TO,
    premises=(_SIZE, _maximal(VLLM_028)),
    claim=Statement(
        "a request of the fitted length waits for ever", lambda at: negation(_serves(at, at.fitted)), _SHOWN
    ),
    covers=(_PARTLY,),
    mutants=(
        Statement("a block more would not help", lambda at: negation(_serves(at, at.fitted, 1))),
        Statement("half the length waits, too", lambda at: negation(_serves(at, fdiv(at.fitted + 1, 2)))),
    ),
)

MAXIMAL = Theorem(
    name="no_length_beyond_the_fitted_one_is_served",
    sentence="With full attention, no greater length than the fitted one is served by the same pool.",
    family=FAMILY,
    variables=(*_FITTED_TO, _LONGER),
    premises=(_SIZE, _maximal(SOUND), given("longer > fitted", lambda at: at.longer > at.fitted)),
    claim=Statement("a request of the greater length waits for ever", lambda at: negation(_serves(at, at.longer))),
    covers=(_PARTLY, Statement("it is longer by a token", lambda at: at.longer == at.fitted + 1)),
    mutants=(
        Statement("the fitted length waits, too", lambda at: negation(_serves(at, at.longer - 1))),
        Statement("a block more would not help", lambda at: negation(_serves(at, at.longer, 1))),
    ),
)

THEOREMS = (
    _grows(
        "boot_of_full_attention_grows_with_the_length",
        "Boot demands of full attention no less for a greater length, so that bisection finds the greatest that fits.",
        deployed(full),
        (BLOCK_SIZE, CONTEXT_PARALLEL),
    ),
    _grows(
        "boot_of_a_window_grows_with_the_length",
        "Boot demands of a sliding window no less for a greater length.",
        deployed(window),
        (BLOCK_SIZE, WINDOW, EXTRA_RETAINED),
    ),
    _grows(
        "boot_of_a_chunk_grows_with_the_length",
        "Boot demands of a chunked-local group no less for a greater length.",
        deployed(chunked),
        (BLOCK_SIZE, CHUNK),
    ),
    SERVED,
    NOT_SERVED,
    SATURATED,
    MAXIMAL,
)
