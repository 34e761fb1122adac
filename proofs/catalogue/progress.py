"""A request that runs alone in a pool that passed the boot check never stops short of its end."""

from __future__ import annotations

from ...spec.arithmetic import Term, Truth, every, maximum, minimum
from ...spec.attention import SlidingWindow, blocks_for, recycled, slots_needed
from ...spec.design import SOUND, VLLM_030, Design
from ...spec.sizing import group_requirement
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
    given,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    COMPUTED,
    COUNT,
    LOOKAHEAD,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    SCHEDULED,
    SEQUENCE_WITHIN_LENGTH,
    STEP_WITHIN_BUDGET,
    TOKENS,
    TOKENS_WITHIN_LENGTH,
    WINDOW,
    WINDOW_HAS_SLID,
    deployed,
    deployment,
    excess,
    table_of,
    window,
)
from .mutated import NoSpareBlock, SkipsNothing

FAMILY = "progress"

_SIZES = (BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, LOOKAHEAD)
_TABLE = Variable("table", "blocks", "the entries of the block table before the step")
_FREED = Variable("freed", "blocks", "those of the table that have gone back before the step")
_ACCEPTED = Variable("accepted", "tokens", "those of the step that are kept when it settles")
_USABLE = Variable("usable", "blocks", "what requests can have of the pool")


def _most_entries(at: Point) -> Term:
    """Count the entries that a table can have: those of a whole budget and lookahead after what is computed."""
    reach = slots_needed(at.computed, at.max_num_batched_tokens, at.lookahead, at.max_model_len)
    return blocks_for(reach, at.block_size)


def _table_after(at: Point) -> Term:
    """Count the entries after the step: a table never shrinks, and lookahead may have made it longer already."""
    return maximum(at.table, table_of(window).of(at))


def _freed_after(at: Point, kind: type[SlidingWindow] = SlidingWindow) -> Term:
    """Count what has gone back after the step has recycled: blocks go back for good."""
    return maximum(at.freed, recycled(window(at, kind), at.computed))


def _cap(at: Point, design: Design, kind: type[SlidingWindow] = SlidingWindow) -> Term:
    cache = window(at, kind)
    return group_requirement(cache, deployment(at, cache), design)


_TABLE_INVARIANT: Premise = given(
    "the table covers what is computed, and no more than a step could have asked for",
    lambda at: every([at.table >= blocks_for(at.computed, at.block_size), at.table <= _most_entries(at)]),
)
_FREED_INVARIANT: Premise = given(
    "what has gone back could go back, and was in the table",
    lambda at: every([at.freed <= recycled(window(at), at.computed), at.freed <= at.table]),
)
_SETTLES = given("accepted: 0 to scheduled", lambda at: at.accepted <= at.scheduled)
_REJECTED = Statement("a token is rejected", lambda at: at.accepted < at.scheduled)
_DRAFTS = Statement("lookahead has lengthened the table", lambda at: at.table > blocks_for(at.computed, at.block_size))


def invariants_hold(at: Point) -> Truth:
    """Hold where the table covers what is computed and no more than a step asks for, and only what may go is gone."""
    return every(
        [
            at.table >= blocks_for(at.computed, at.block_size),
            at.table <= _most_entries(at),
            at.freed <= recycled(window(at), at.computed),
            at.freed <= at.table,
        ]
    )


def preserved(design: Design, kind: type[SlidingWindow] = SlidingWindow) -> Statement:
    """State that the invariants, and the cap, hold again when the step has settled."""

    def holds(at: Point) -> Truth:
        after = at.but(computed=at.computed + at.accepted, table=_table_after(at), freed=_freed_after(at, kind))
        return every([invariants_hold(after), after.table - after.freed <= _cap(at, design, kind)])

    return Statement(
        "the invariants hold after the step, and held <= cap",
        holds,
        (
            Quantity("held", lambda at: _table_after(at) - _freed_after(at, kind)),
            Quantity("cap", lambda at: _cap(at, design, kind)),
        ),
    )


INVARIANT = Theorem(
    name="window_stays_within_cap_over_all_steps",
    sentence="Whatever drafts are rejected, the table and the freed blocks of a request that runs keep to their bounds "
    "from step to step, and it holds no more than its cap.",
    family=FAMILY,
    variables=(*_SIZES, COMPUTED, SCHEDULED, _ACCEPTED, _TABLE, _FREED),
    premises=(
        legal_deployment(deployed(window)),
        STEP_WITHIN_BUDGET,
        SEQUENCE_WITHIN_LENGTH,
        _SETTLES,
        _TABLE_INVARIANT,
        _FREED_INVARIANT,
    ),
    claim=preserved(SOUND),
    covers=(_REJECTED, _DRAFTS, WINDOW_HAS_SLID),
    mutants=(
        variant("lookahead is not paid for", preserved(VLLM_030)),
        variant("the spare block is dropped", preserved(SOUND, NoSpareBlock)),
        variant("nothing is recycled", preserved(SOUND, SkipsNothing)),
    ),
)


def _fits(kind: type[SlidingWindow] = SlidingWindow) -> Statement:
    """State that a step finds free what it takes, its own recycling included."""
    new = Quantity("new", lambda at: excess(table_of(window).of(at), at.table))
    free = Quantity("free", lambda at: at.usable - (at.table - recycled(window(at, kind), at.computed)))
    return at_most(new, free)


def _pool_holds(design: Design) -> Premise:
    return given("usable >= cap", lambda at: at.usable >= _cap(at, design))


def _chunk_fits(name: str, sentence: str, design: Design, least_sum: int | None) -> Theorem:
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(*_SIZES, COMPUTED, SCHEDULED, _TABLE, _USABLE),
        premises=(
            legal_deployment(deployed(window)),
            STEP_WITHIN_BUDGET,
            SEQUENCE_WITHIN_LENGTH,
            _TABLE_INVARIANT,
            _pool_holds(design),
        ),
        claim=_fits(),
        covers=(
            Statement("the pool is the smallest", lambda at: at.usable == _cap(at, design)),
            WINDOW_HAS_SLID,
            _DRAFTS,
        ),
        mutants=() if least_sum else (variant("nothing is recycled", _fits(SkipsNothing)), _fits_less_one()),
        expected=Expectation.REFUTED if least_sum else Expectation.HOLDS,
        least_sum=least_sum,
    )


def _fits_less_one() -> Statement:
    fits = _fits()
    return Statement("a block less is enough", lambda at: fits.holds(at.but(usable=at.usable - 1)), fits.shown)


_RANK = Quantity("tokens left", lambda at: at.tokens - at.computed, "tokens")


def _left_after(step: Quantity) -> Quantity:
    return Quantity("tokens left after the step", lambda at: at.tokens - at.computed - step.of(at), "tokens")


_STEP = Quantity("step", lambda at: minimum(at.tokens - at.computed, at.max_num_batched_tokens), "tokens")
_REST = Quantity("step", lambda at: minimum(at.tokens - at.computed, at.max_num_batched_tokens - 1), "tokens")
_UNBOUNDED = Quantity("step", lambda at: at.max_num_batched_tokens, "tokens")


def _nearer(step: Quantity) -> Statement:
    """State that fewer tokens are left after the step, and not less than none."""
    left = _left_after(step)
    return Statement(
        "0 <= tokens left after the step < tokens left",
        lambda at: every([left.of(at) >= 0, left.of(at) < _RANK.of(at)]),
        (_RANK, left),
    )


RANKING = Theorem(
    name="every_step_brings_a_request_nearer_its_end",
    sentence="A step that takes what is left, up to the budget, leaves fewer tokens than before, never less than none.",
    family=FAMILY,
    variables=(MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, TOKENS, COMPUTED),
    premises=(
        legal_deployment(deployed()),
        TOKENS_WITHIN_LENGTH,
        given("a token is left", lambda at: at.computed < at.tokens),
    ),
    claim=_nearer(_STEP),
    covers=(
        Statement("the step is the last", lambda at: at.tokens - at.computed == _STEP.of(at)),
        Statement("the step is not the last", lambda at: at.tokens - at.computed > _STEP.of(at)),
    ),
    mutants=(
        variant("the step leaves a token of the budget out", _nearer(_REST)),
        variant("the step takes the budget whatever is left", _nearer(_UNBOUNDED)),
    ),
)

_HELD_SO_FAR = Variable("held_so_far", "blocks", "what a request holds in all groups so far")
_RESERVED_SO_FAR = Variable("reserved_so_far", "blocks", "what boot reserves in all groups so far")
_HELD = Variable("held", "blocks", "what a request holds in each of the groups that join")
_CAP = Variable("cap", "blocks", "what boot reserves in each of the groups that join")


def _with_group(count: Formula) -> Statement:
    """State that what is held stays within what is reserved when groups have joined."""
    return at_most(
        Quantity("held", lambda at: at.held_so_far + count(at) * at.held),
        Quantity("reserved", lambda at: at.reserved_so_far + at.count * at.cap),
    )


ANY_GROUPS = Theorem(
    name="request_stays_within_reservation_for_any_number_of_groups",
    sentence="Groups in each of which a request stays within its cap add no more to what it holds than to what boot "
    "reserves for it; so by induction it stays within boot's reservation, whatever the groups.",
    family=FAMILY,
    variables=(COUNT, _HELD, _CAP, _HELD_SO_FAR, _RESERVED_SO_FAR),
    premises=(
        given("count >= 1", lambda at: at.count >= 1),
        given("held <= cap", lambda at: at.held <= at.cap),
        given("held_so_far <= reserved_so_far", lambda at: at.held_so_far <= at.reserved_so_far),
    ),
    claim=_with_group(lambda at: at.count),
    covers=(
        Statement("several groups are alike", lambda at: at.count >= 2),
        Statement("the reservation is used up", lambda at: every([at.held == at.cap, at.cap >= 1])),
    ),
    mutants=(
        variant("a group more is held", _with_group(lambda at: at.count + 1)),
        Statement("the groups so far pay for those that join", lambda at: at.held <= at.reserved_so_far),
    ),
)

THEOREMS = (
    INVARIANT,
    _chunk_fits(
        "any_chunk_of_a_lone_request_fits",
        "Where the pool has a request's cap, every step of a request that runs alone finds the blocks that it takes.",
        SOUND,
        None,
    ),
    _chunk_fits(
        "any_chunk_of_a_lone_request_fits_where_lookahead_is_unpaid",
        "Where the pool has a cap that does not pay for lookahead, every step of a request that runs alone fits.",
        VLLM_030,
        11,
    ),
    RANKING,
    ANY_GROUPS,
)
