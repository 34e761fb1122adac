"""What rejected drafts do to a table of states in cache mode `align`: a later step may ask for a shorter one."""

from __future__ import annotations

from ...spec.aligned import Copies, new_blocks
from ...spec.arithmetic import Term, Truth, every, maximum
from ...spec.attention import blocks_for, slots_needed
from ...spec.states import MambaAlign
from ...spec.tables import missing
from ..theorem import (
    Expectation,
    Formula,
    Point,
    Quantity,
    Statement,
    Theorem,
    Variable,
    at_most,
    given,
    implies,
    legal_cache,
    variant,
)
from .common import BLOCK_SIZE, COMPUTED, FULL_BLOCK_SIZE, LOOKAHEAD, MAX_MODEL_LEN
from .states import SPECULATIVE

FAMILY = "rejection"

_FIRST = Variable("first", "tokens", "a step that verifies drafts")
_SECOND = Variable("second", "tokens", "the step after it")


def _cache(at: Point) -> MambaAlign:
    return MambaAlign(at.block_size, at.get("speculative", 0))


_LEGAL = legal_cache(_cache)
_ACCEPTED = Variable("accepted", "tokens", "those of the first step that are kept")


_NO_SHORTER = at_most(
    Quantity("table", lambda at: blocks_for(at.computed + at.first, at.block_size)),
    Quantity("next table", lambda at: blocks_for(at.computed + at.accepted + at.second, at.block_size)),
)


def _fewer(tokens: int) -> Statement:
    """State that a step shorter than the one before by no more than so many tokens asks for no shorter table."""
    return Statement(
        _NO_SHORTER.text,
        lambda at: implies(at.second + tokens >= at.first, _NO_SHORTER.holds(at)),
        _NO_SHORTER.shown,
    )


def _verify_drafts(at: Point) -> Truth:
    return every([at.second >= 1, at.second <= 1 + at.speculative, at.first <= 1 + at.speculative])


_AFTER_REJECTION = (
    _LEGAL,
    given("accepted: 1 to first", lambda at: every([at.accepted >= 1, at.accepted <= at.first])),
    given("first and second verify drafts", _verify_drafts),
)
_ALL_REJECTED = Statement("all drafts are rejected", lambda at: every([at.accepted == 1, at.first >= 3]))
_SHRINK = (BLOCK_SIZE, SPECULATIVE, COMPUTED, _FIRST, _ACCEPTED, _SECOND)

STEADY = Theorem(
    name="as_many_drafts_ask_for_no_shorter_aligned_table",
    sentence="Whatever drafts are rejected, a step of at most one token fewer than the one before asks for no shorter "
    "table.",
    family=FAMILY,
    variables=_SHRINK,
    premises=_AFTER_REJECTION,
    claim=_fewer(1),
    covers=(_ALL_REJECTED,),
    mutants=(variant("two tokens fewer", _fewer(2)),),
)

SHORTER = Theorem(
    name="fewer_drafts_ask_for_no_shorter_aligned_table",
    sentence="Whatever drafts are rejected, a step of any size asks for no shorter table, which early releases assert.",
    family=FAMILY,
    variables=_SHRINK,
    premises=_AFTER_REJECTION,
    claim=_NO_SHORTER,
    covers=(_ALL_REJECTED,),
    expected=Expectation.REFUTED,
    least_sum=8,
)

_EARLIER = Variable("earlier", "tokens", "those that an earlier step reached, rejected drafts included")
_REACHED = Variable("reached", "tokens", "those that the step reaches")


def _full_table(at: Point, tokens: Term) -> Term:
    """Count the entries of full attention's table, lookahead included."""
    return blocks_for(slots_needed(0, tokens, at.lookahead, at.max_model_len), at.full_block_size)


def _full_takes(at: Point, table: Term) -> Term:
    return missing(_full_table(at, at.reached), table, floored=True)


def _foreseen(table: Formula, floored: bool = False) -> Statement:
    """State that a credit for a longer table of states is none that full attention beside it would need."""

    def credit(at: Point) -> Term:
        return new_blocks(Copies(blocks_for(at.earlier, at.block_size), 0, 0), at.reached, _cache(at), floored)

    taken = Quantity("taken", lambda at: _full_takes(at, table(at)) + maximum(0, credit(at)))
    predicted = Quantity("predicted", lambda at: maximum(0, _full_takes(at, table(at)) + credit(at)))
    return at_most(taken, predicted)


CREDIT = Theorem(
    name="longer_aligned_table_is_no_credit_that_full_attention_needs",
    sentence="Where rejected drafts have left a table of states longer than a step asks for, which counts as less than "
    "nothing, full attention's table is long enough, too, so that no more is taken than predicted.",
    family=FAMILY,
    variables=(FULL_BLOCK_SIZE, BLOCK_SIZE, MAX_MODEL_LEN, LOOKAHEAD, _EARLIER, _REACHED),
    premises=(_LEGAL, given("full_block_size >= 1", lambda at: at.full_block_size >= 1)),
    claim=_foreseen(lambda at: _full_table(at, at.earlier)),
    covers=(
        Statement("the table of states is longer", lambda at: at.reached + at.block_size <= at.earlier),
        Statement("both take blocks", lambda at: at.reached > at.earlier + at.block_size + at.full_block_size),
    ),
    mutants=(
        variant("full attention has no table yet", _foreseen(lambda _: 0)),
        variant("its table covers a token less than it did", _foreseen(lambda at: _full_table(at, at.reached) - 1)),
    ),
)

THEOREMS = (STEADY, SHORTER, CREDIT)
