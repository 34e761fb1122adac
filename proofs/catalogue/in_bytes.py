"""The startup check in bytes says what the check in blocks says, where both look at the same pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...spec.arithmetic import Term, Truth, every, fdiv
from ...spec.deployment import Deployment
from ...spec.design import SOUND, VLLM_011, VLLM_019, VLLM_028, Design
from ...spec.fitting import fits
from ...spec.layers import Layer, StateStorage
from ...spec.memory import block_bytes, blocks_from, layers_required, pool_blocks
from ...spec.shared import LayerGroup, alike
from ...spec.sizing import boot_accepts
from ..theorem import (
    Expectation,
    Point,
    Quantity,
    Statement,
    Theorem,
    Variable,
    given,
    implies,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    FULL_BLOCK_SIZE,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    WINDOW,
    deployed,
    deployment,
    full,
    window,
)

FAMILY = "bytes"

_PAGE = Variable("page", "bytes", "what one layer stores in one block")
_AVAILABLE = Variable("available", "bytes", "what a worker can give to the cache")
_OTHER_AVAILABLE = Variable("other_available", "bytes", "what another worker can give")
_OVERRIDE = Variable("override", "blocks", "the pool that the operator sets by hand")
_SETTING = deployed(full, window)
_SIZES = (FULL_BLOCK_SIZE, BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, _PAGE)
_PAGED = given("page >= 1", lambda at: at.page >= 1)
_PREMISES = (legal_deployment(_SETTING), _PAGED)


def _stored(page: Term) -> StateStorage:
    """Store so many bytes per block, whatever they are."""
    return StateStorage(((page, "uint8"),))


def _groups(at: Point) -> tuple[LayerGroup, ...]:
    """Form a group of two full-attention layers and one of a windowed layer, which leaves a page of a block empty."""
    stored = _stored(at.page)
    return alike(("0", "1"), Layer(full(at), stored)), alike(("2",), Layer(window(at), stored))


def _alone(at: Point) -> Deployment:
    """Deploy full attention alone; the budget, which it does not read, is one whole sequence."""
    return deployment(at.but(max_num_batched_tokens=at.max_model_len), full(at))


def _one_layer(at: Point) -> tuple[LayerGroup, ...]:
    return (alike(("0",), Layer(full(at), _stored(at.page))),)


def _given(at: Point, available: Term, design: Design) -> Term:
    return blocks_from(available, block_bytes(_groups(at), design))


_BLOCKS = Quantity("blocks", lambda at: _given(at, at.available, SOUND))


def _same(left: Truth, right: Truth) -> Truth:
    """Hold where two conditions hold or fail together."""
    return left == right


def _agree(bytes_design: Design, blocks_design: Design, more: int = 0) -> Statement:
    """State that memory passes the check in bytes exactly where the blocks that it gives pass the check in blocks."""

    def blocks(at: Point) -> Term:
        return blocks_from(at.available, block_bytes(_one_layer(at), bytes_design))

    def holds(at: Point) -> Truth:
        in_bytes = fits(at.available, _one_layer(at), _alone(at), bytes_design)
        return _same(in_bytes, boot_accepts(blocks(at) + more, _alone(at), blocks_design))

    return Statement("the check in bytes passes <=> the check in blocks does", holds, (Quantity("blocks", blocks),))


_ONE_PAGE = (BLOCK_SIZE, MAX_MODEL_LEN, _PAGE, _AVAILABLE)
_REFUSED = Statement("the memory is refused", lambda at: at.available < at.page)


def _checks(name: str, sentence: str, design: Design, other: Design) -> Theorem:
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=_ONE_PAGE,
        premises=(legal_deployment(_alone), _PAGED),
        claim=_agree(design, design),
        covers=(
            _REFUSED,
            Statement(
                "memory that is no whole number of blocks passes",
                lambda at: every(
                    [
                        fits(at.available, _one_layer(at), _alone(at), design),
                        fdiv(at.available, at.page) * at.page < at.available,
                    ]
                ),
            ),
        ),
        mutants=(
            variant("one check counts the null block and the other does not", _agree(design, other)),
            variant("memory that gives a block less passes", _agree(design, design, more=1)),
        ),
    )


def _enough(at: Point) -> Truth:
    """Say whether the blocks that the memory gives cover one request, the null block left out."""
    return boot_accepts(_given(at, at.available, VLLM_028), _SETTING(at), VLLM_028)


def _layers_fit(at: Point) -> Truth:
    layers = [group.layer_of(name) for group in _groups(at) for name in group.names]
    return layers_required(layers, _SETTING(at), VLLM_011) <= at.available


LAYERS = Theorem(
    name="check_of_each_layer_by_itself_covers_the_blocks",
    sentence="Memory that holds what every layer needs by itself gives enough blocks, although a block has a page for "
    "every layer of the largest group.",
    family=FAMILY,
    variables=(*_SIZES, _AVAILABLE),
    premises=_PREMISES,
    claim=Statement("all layers fit => enough blocks", lambda at: implies(_layers_fit(at), _enough(at)), (_BLOCKS,)),
    covers=(Statement("all layers fit", _layers_fit),),
    expected=Expectation.REFUTED,
    least_sum=10,
)


def _override(checked: bool, kept: Design = SOUND) -> Statement:
    """State that a pool set by hand passes the check in blocks where start-up lets it pass."""

    def holds(at: Point) -> Truth:
        stands_for = at.override * block_bytes(_groups(at), SOUND) if checked else at.available
        passes = fits(stands_for, _groups(at), _SETTING(at), kept)
        return implies(passes, boot_accepts(at.override, _SETTING(at), SOUND))

    return Statement(
        "start-up passes => the pool set by hand does", holds, (Quantity("override", lambda at: at.override),)
    )


_JUST = Statement("the pool set by hand is large enough", lambda at: boot_accepts(at.override, _SETTING(at), SOUND))

OVERRIDE = Theorem(
    name="override_that_stands_for_its_bytes_is_checked",
    sentence="Where a pool set by hand is checked as the bytes that it stands for, one that passes is large enough.",
    family=FAMILY,
    variables=(*_SIZES, _OVERRIDE),
    premises=_PREMISES,
    claim=_override(checked=True),
    covers=(_JUST, Statement("the pool set by hand is empty", lambda at: at.override == 0)),
    mutants=(
        variant("the check forgets the null block", _override(checked=True, kept=VLLM_028)),
        Statement("every pool set by hand passes", lambda at: boot_accepts(at.override, _SETTING(at), SOUND)),
    ),
)

OVERRIDE_UNCHECKED = Theorem(
    name="override_beside_checked_memory_is_large_enough",
    sentence="Where the memory is checked and a pool set by hand replaces what it gives, as in early releases, the "
    "pool is large enough.",
    family=FAMILY,
    variables=(*_SIZES, _AVAILABLE, _OVERRIDE),
    premises=(*_PREMISES, given("override >= 1", lambda at: at.override >= 1)),
    claim=_override(checked=False, kept=replace(VLLM_019, boot_reserves_null=True)),
    covers=(_JUST,),
    expected=Expectation.REFUTED,
    least_sum=15,
)


def _passes(at: Point, available: Term) -> Truth:
    return fits(available, _one_layer(at), _alone(at), SOUND)


def _both_pass(at: Point) -> Truth:
    return every(_passes(at, room) for room in (at.available, at.other_available))


def _pool(at: Point) -> Term:
    block = block_bytes(_one_layer(at), SOUND)
    return pool_blocks((at.available, at.other_available), (block, block))


def _workers(passes: Callable[[Point], Truth]) -> Statement:
    return Statement(
        "every worker passes => the smallest pool does",
        lambda at: implies(passes(at), boot_accepts(_pool(at), _alone(at), SOUND)),
        (Quantity("blocks", _pool),),
    )


WORKERS = Theorem(
    name="pool_of_the_worker_with_least_memory_passes",
    sentence="Where the memory of every worker passes, so does the pool of the one that gives fewest blocks.",
    family=FAMILY,
    variables=(*_ONE_PAGE, _OTHER_AVAILABLE),
    premises=(legal_deployment(_alone), _PAGED),
    claim=_workers(_both_pass),
    covers=(Statement("the workers differ", lambda at: every([_both_pass(at), at.available < at.other_available])),),
    mutants=(variant("one worker passes", _workers(lambda at: _passes(at, at.available))),),
)


THEOREMS = (
    _checks(
        "bytes_pass_where_blocks_pass",
        "Memory passes the startup check in bytes, a block being lent for the null block, exactly where the blocks "
        "that it gives pass the check in blocks.",
        SOUND,
        VLLM_028,
    ),
    _checks(
        "bytes_pass_where_blocks_pass_without_the_null_block",
        "Where neither check counts the null block, memory passes in bytes exactly where its blocks pass.",
        VLLM_028,
        SOUND,
    ),
    LAYERS,
    OVERRIDE,
    OVERRIDE_UNCHECKED,
    WORKERS,
)
