"""Boot covers admission for any number of groups: no groups need nothing, and each kind of group adds no less to what
boot reserves than to what admission demands.

What the groups so far need stands as one number, so that a step never reasons about a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from ...spec.arithmetic import Term, every
from ...spec.attention import ChunkedLocal, FullAttention, SlidingWindow
from ...spec.design import SOUND, Cap, Design
from ...spec.sizing import boot_requirement
from ..theorem import (
    Formula,
    Point,
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
    CHUNK,
    CONTEXT_PARALLEL,
    COUNT,
    EXTRA_RETAINED,
    FULL_BLOCK_SIZE,
    LOOKAHEAD,
    MAX_CONCURRENT_BATCHES,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    TOKENS,
    TOKENS_WITHIN_LENGTH,
    USABLE,
    WINDOW,
    CacheOf,
    Setting,
    chunked,
    deployed,
    first_step_needs,
    full,
    gate_needs,
    reserved,
    window,
)
from .mutated import BudgetForgotten, FloorChunk, FloorFull

FAMILY = "boot"

_NEEDED = Variable("needed_so_far", "blocks", "what admission demands of all groups so far")
_RESERVED = Variable("reserved_so_far", "blocks", "what boot reserves in all groups so far")
_GENERAL = (MAX_MODEL_LEN, MAX_NUM_BATCHED_TOKENS, MAX_CONCURRENT_BATCHES, LOOKAHEAD, TOKENS)
_COVERED_SO_FAR = given("needed_so_far <= reserved_so_far", lambda at: at.needed_so_far <= at.reserved_so_far)
_FULL_LENGTH = Statement("the request is of full length", lambda at: at.tokens == at.max_model_len)
_SEVERAL_GROUPS = Statement("several groups are alike", lambda at: at.count >= 2)
_SEVERAL_STEPS = Statement(
    "a sequence takes several steps and blocks",
    lambda at: every([at.tokens > at.max_num_batched_tokens, at.max_num_batched_tokens > at.block_size]),
)


Demand: TypeAlias = Callable[[Setting, Design], Quantity]
"""What admission demands under a design: at the gate, or at the first step."""

Mutants: TypeAlias = tuple[tuple[str, CacheOf, Design], ...]
"""What was changed, in the cache or in the design."""


def _after(so_far: Formula, quantity: Quantity) -> Quantity:
    """Add a quantity to what all groups so far came to."""
    return Quantity(quantity.name, lambda at: so_far(at) + quantity.of(at))


def _covers(demand: Demand, setting: Setting, design: Design = SOUND) -> Statement:
    """State that boot still covers a demand when the groups of the setting have joined."""
    needed = _after(lambda at: at.needed_so_far, demand(setting, design))
    return at_most(needed, _after(lambda at: at.reserved_so_far, reserved(setting, design)))


def _step(
    name: str, sentence: str, cache: CacheOf, own: tuple[Variable, ...], demand: Demand, mutants: Mutants
) -> Theorem:
    """Add groups of one kind, for one demand."""
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(BLOCK_SIZE, *own, *_GENERAL, _NEEDED, _RESERVED),
        premises=(legal_deployment(deployed(cache)), TOKENS_WITHIN_LENGTH, _COVERED_SO_FAR),
        claim=_covers(demand, deployed(cache)),
        covers=(_FULL_LENGTH, _SEVERAL_STEPS, *((_SEVERAL_GROUPS,) if COUNT in own else ())),
        mutants=tuple(variant(text, _covers(demand, deployed(other), design)) for text, other, design in mutants),
    )


def _full_of(kind: type[FullAttention]) -> CacheOf:
    return lambda at: full(at, kind)


def _window_of(kind: type[SlidingWindow]) -> CacheOf:
    return lambda at: window(at, kind)


def _chunk_of(kind: type[ChunkedLocal]) -> CacheOf:
    return lambda at: chunked(at, kind)


_UNCAPPED = replace(SOUND, gate_cap=Cap.NONE)
_UNPAID_LOOKAHEAD = replace(SOUND, lookahead_budget=False)

STEPS = (
    _step(
        "boot_covers_the_gate_with_one_more_full_group",
        "Full-attention groups, sharded over any number of ranks, add no less to boot than to the gate.",
        full,
        (CONTEXT_PARALLEL,),
        gate_needs,
        (("boot rounds down", _full_of(FloorFull), SOUND),),
    ),
    _step(
        "boot_covers_the_first_step_with_one_more_full_group",
        "Full-attention groups, sharded over any number of ranks, add no less to boot than to the first step.",
        full,
        (CONTEXT_PARALLEL,),
        first_step_needs,
        (("boot rounds down", _full_of(FloorFull), SOUND),),
    ),
    _step(
        "boot_covers_the_gate_with_one_more_window_group",
        "Sliding-window groups add no less to boot than to the gate.",
        window,
        (WINDOW, EXTRA_RETAINED, COUNT),
        gate_needs,
        (("the gate charges the whole sequence", window, _UNCAPPED),),
    ),
    _step(
        "boot_covers_the_first_step_with_one_more_window_group",
        "Sliding-window groups add no less to boot than to the first step.",
        window,
        (WINDOW, EXTRA_RETAINED, COUNT),
        first_step_needs,
        (
            ("lookahead is not paid for", window, _UNPAID_LOOKAHEAD),
            ("the cap forgets the budget", _window_of(BudgetForgotten), SOUND),
        ),
    ),
    _step(
        "boot_covers_the_gate_with_one_more_chunk_group",
        "Chunked-local groups add no less to boot than to the gate, whatever the chunk.",
        chunked,
        (CHUNK, COUNT),
        gate_needs,
        (("the gate charges the whole sequence", chunked, _UNCAPPED),),
    ),
    _step(
        "boot_covers_the_first_step_with_one_more_chunk_group",
        "Chunked-local groups add no less to boot than to the first step, whatever the chunk.",
        chunked,
        (CHUNK, COUNT),
        first_step_needs,
        (
            ("lookahead is not paid for", chunked, _UNPAID_LOOKAHEAD),
            ("the cap rounds down", _chunk_of(FloorChunk), SOUND),
        ),
    ),
)

_NO_GROUPS = deployed()

BASE = Theorem(
    name="no_groups_need_nothing",
    sentence="Without groups, boot reserves nothing and admission demands nothing: where the induction begins.",
    family=FAMILY,
    variables=_GENERAL,
    premises=(legal_deployment(_NO_GROUPS), TOKENS_WITHIN_LENGTH),
    claim=Statement(
        "gate = first step = reserved = 0",
        lambda at: every(quantity.of(at) == 0 for quantity in _demands(_NO_GROUPS)),
    ),
    covers=(_FULL_LENGTH,),
    mutants=(Statement("boot demands nothing, not even the null block", lambda at: _boot(at) == 0),),
)


def _demands(setting: Setting) -> tuple[Quantity, ...]:
    return gate_needs(setting, SOUND), first_step_needs(setting, SOUND), reserved(setting, SOUND)


def _boot(at: Point) -> Term:
    """Count what boot demands beside the groups' reservations."""
    return boot_requirement(_NO_GROUPS(at), SOUND)


_PAIR = deployed(full, window)


def _adds_up(kind: Callable[[Setting], Quantity]) -> Statement:
    whole, first, second = (kind(setting) for setting in (_PAIR, deployed(full), deployed(window)))
    parts = Quantity("sum of its parts", lambda at: first.of(at) + second.of(at))
    return equal(whole, parts)


def _only_first(kind: Callable[[Setting], Quantity]) -> Statement:
    return equal(kind(_PAIR), kind(deployed(full)))


def _gate(setting: Setting) -> Quantity:
    return gate_needs(setting, SOUND)


def _reserved(setting: Setting) -> Quantity:
    return reserved(setting, SOUND)


def _first(setting: Setting) -> Quantity:
    return first_step_needs(setting, SOUND)


def _all_of(*statements: Statement) -> Statement:
    return Statement(
        "; ".join(each.text for each in statements), lambda at: every(each.holds(at) for each in statements)
    )


ADDITIVE = Theorem(
    name="requirements_add_up_over_groups",
    sentence="What groups need together is the sum of what each needs, at boot, at the gate and at the first step.",
    family=FAMILY,
    variables=(FULL_BLOCK_SIZE, BLOCK_SIZE, WINDOW, COUNT, *_GENERAL),
    premises=(legal_deployment(_PAIR), TOKENS_WITHIN_LENGTH),
    claim=_all_of(_adds_up(_gate), _adds_up(_first), _adds_up(_reserved)),
    covers=(_FULL_LENGTH, _SEVERAL_GROUPS),
    mutants=(
        variant("the gate counts the first group only", _only_first(_gate)),
        variant("the first step counts the first group only", _only_first(_first)),
        variant("boot counts the first group only", _only_first(_reserved)),
    ),
)

_NEEDED_IN_ALL = Quantity("needed", lambda at: at.needed_so_far)
_PASSES_BOOT = given(
    "blocks >= reserved_so_far + what boot adds", lambda at: at.blocks >= at.reserved_so_far + _boot(at)
)

ANY_GROUPS = Theorem(
    name="boot_covers_admission_for_any_number_of_groups",
    sentence="Where boot's reservations cover a demand, a pool that passes the boot check meets it; so by base and "
    "step every legal request is admitted, whatever the groups.",
    family=FAMILY,
    variables=(MAX_MODEL_LEN, MAX_NUM_BATCHED_TOKENS, _NEEDED, _RESERVED, BLOCKS),
    premises=(legal_deployment(_NO_GROUPS), _COVERED_SO_FAR, _PASSES_BOOT),
    claim=at_most(_NEEDED_IN_ALL, USABLE),
    covers=(
        Statement("the pool is the smallest that passes", lambda at: at.blocks == at.reserved_so_far + _boot(at)),
        Statement("all of it is needed", lambda at: at.needed_so_far == USABLE.of(at)),
    ),
    mutants=(
        Statement("a block is left over", lambda at: at.needed_so_far < USABLE.of(at)),
        Statement("all of the pool is needed", lambda at: at.needed_so_far == USABLE.of(at)),
    ),
)


THEOREMS: tuple[Theorem, ...] = (BASE, *STEPS, ADDITIVE, ANY_GROUPS)
