"""What the boot log reports of a pool, and what of it can be relied on."""

from __future__ import annotations

from ...spec.admission import gate_requirement
from ...spec.arithmetic import Term, Truth, every, fdiv
from ...spec.deployment import Deployment
from ...spec.design import SOUND
from ...spec.reporting import logged_tokens, shared_tokens
from ...spec.sizing import request_requirement, usable
from ..theorem import (
    Expectation,
    Formula,
    Point,
    Premise,
    Quantity,
    Statement,
    Theorem,
    Variable,
    at_most,
    equal,
    given,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    BLOCKS,
    FULL_BLOCK_SIZE,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    WINDOW,
    Setting,
    deployed,
    deployment,
    full,
    window,
)

FAMILY = "reported"

_REQUESTS = Variable("requests", "requests", "the whole part of the concurrency that the log reports")
_PAIR = deployed(full, window)
_POOL: Premise = given("blocks >= 1", lambda at: at.blocks >= 1)


def _alone(at: Point) -> Deployment:
    """Deploy full attention, which does not read the budget."""
    return deployment(at.but(max_num_batched_tokens=at.max_model_len), full(at))


def _needed(at: Point) -> Term:
    return request_requirement(_PAIR(at), SOUND)


_HOLDS_ONE: Premise = given("the pool holds a request of full length", lambda at: at.blocks >= _needed(at))


def _adds_up(tokens: Formula) -> Statement:
    """State that tokens are the concurrency, a quotient of blocks, times the length, rounded down."""

    def holds(at: Point) -> Truth:
        rest = at.blocks * at.max_model_len - tokens(at) * _needed(at)
        return every([rest >= 0, rest < _needed(at)])

    return Statement(
        "0 <= blocks * max_model_len - tokens * required < required", holds, (Quantity("tokens", tokens, "tokens"),)
    )


ADDS_UP = Theorem(
    name="logged_tokens_are_the_concurrency_times_the_length",
    sentence="The tokens that the log reports, the blocks and what one request requires satisfy one identity, up to "
    "rounding.",
    family=FAMILY,
    variables=(FULL_BLOCK_SIZE, BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, BLOCKS),
    premises=(legal_deployment(_PAIR), _POOL),
    claim=_adds_up(lambda at: logged_tokens(at.blocks, _PAIR(at), SOUND)),
    covers=(
        Statement("the concurrency is not whole", lambda at: fdiv(at.blocks, _needed(at)) * _needed(at) < at.blocks),
        Statement("the concurrency is below one", lambda at: at.blocks < _needed(at)),
    ),
    mutants=(
        variant("the null block is left out", _adds_up(lambda at: logged_tokens(usable(at.blocks), _PAIR(at), SOUND))),
        variant("a token more is logged", _adds_up(lambda at: logged_tokens(at.blocks, _PAIR(at), SOUND) + 1)),
        variant("the blocks are shared by groups", _adds_up(lambda at: shared_tokens(at.blocks, 2, at.block_size))),
    ),
)


def _reaches(tokens: Formula, setting: Setting) -> Statement:
    """State that the tokens logged, and a block of each group, are no less than the concurrency times the length."""
    needed = Quantity("required", lambda at: request_requirement(setting(at), SOUND))
    logged = Quantity("tokens * required", lambda at: tokens(at) * needed.of(at), "products")
    return at_most(Quantity("blocks * max_model_len", lambda at: at.blocks * at.max_model_len, "products"), logged)


_ONE = Quantity("tokens", lambda at: shared_tokens(at.blocks, 1, at.block_size), "tokens")

SHARES_OF_ONE = Theorem(
    name="shared_tokens_of_one_full_group_reach_the_concurrency",
    sentence="With one full-attention group, what the log of early releases reports is no less than the concurrency "
    "times the length.",
    family=FAMILY,
    variables=(BLOCK_SIZE, MAX_MODEL_LEN, BLOCKS),
    premises=(legal_deployment(_alone), _POOL),
    claim=_reaches(_ONE.of, _alone),
    covers=(
        Statement(
            "the length is not whole",
            lambda at: fdiv(at.max_model_len, at.block_size) * at.block_size < at.max_model_len,
        ),
        variant(
            "a request takes the whole pool",
            equal(
                Quantity("r", lambda at: request_requirement(_alone(at), SOUND)), Quantity("b", lambda at: at.blocks)
            ),
        ),
    ),
    mutants=(
        variant("a token less is logged", _reaches(lambda at: _ONE.of(at) - 1, _alone)),
        variant("two groups share", _reaches(lambda at: shared_tokens(at.blocks, 2, at.block_size), _alone)),
    ),
)

SHARES_OF_TWO = Theorem(
    name="shared_tokens_of_several_groups_reach_the_concurrency",
    sentence="With a window group beside a full-attention group, what the log of early releases reports, which shares "
    "the blocks alike, is no less than the concurrency times the length, whole blocks left aside.",
    family=FAMILY,
    variables=(BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, BLOCKS),
    premises=(legal_deployment(_PAIR), _HOLDS_ONE),
    claim=_reaches(lambda at: shared_tokens(at.blocks, 2, at.block_size) + 2 * at.block_size, _PAIR),
    covers=(Statement("the pool holds several requests", lambda at: at.blocks >= 2 * _needed(at)),),
    expected=Expectation.REFUTED,
    least_sum=17,
)


def _together(of: Formula) -> Statement:
    """State that as many requests of the greatest length as are reported pass the gate together."""
    demand = Quantity("all need", lambda at: at.requests * gate_requirement(at.max_model_len, _alone(at), SOUND))
    return at_most(demand, Quantity("usable", of))


def _reported(blocks: Formula) -> Premise:
    return given(
        "requests <= the reported concurrency",
        lambda at: at.requests * request_requirement(_alone(at), SOUND) <= blocks(at),
    )


_SEVERAL = Statement("several requests are reported", lambda at: at.requests >= 2)

TOGETHER = Theorem(
    name="reported_requests_fit_together",
    sentence="As many requests of the greatest length as the log reports, null block included, fit the pool together.",
    family=FAMILY,
    variables=(BLOCK_SIZE, MAX_MODEL_LEN, BLOCKS, _REQUESTS),
    premises=(legal_deployment(_alone), _POOL, _reported(lambda at: at.blocks)),
    claim=_together(lambda at: usable(at.blocks)),
    covers=(_SEVERAL,),
    expected=Expectation.REFUTED,
    least_sum=4,
)

USABLE_TOGETHER = Theorem(
    name="requests_reported_of_the_usable_blocks_fit_together",
    sentence="A concurrency that leaves the null block out is one of requests that fit the pool together.",
    family=FAMILY,
    variables=(BLOCK_SIZE, MAX_MODEL_LEN, BLOCKS, _REQUESTS),
    premises=(legal_deployment(_alone), _POOL, _reported(lambda at: usable(at.blocks))),
    claim=_together(lambda at: usable(at.blocks)),
    covers=(_SEVERAL, Statement("a request takes two blocks", lambda at: at.max_model_len > at.block_size)),
    mutants=(variant("a block stays free", _together(lambda at: usable(at.blocks) - 1)),),
)

THEOREMS = (ADDS_UP, SHARES_OF_ONE, SHARES_OF_TWO, TOGETHER, USABLE_TOGETHER)
