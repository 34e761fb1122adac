"""Pages are made equal before memory is checked: a check on the pages as they were lets too small a pool pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...spec.arithmetic import Term, Truth, every
from ...spec.attention import FullAttention
from ...spec.design import VLLM_028
from ...spec.fitting import fits
from ...spec.layers import Layer, StateStorage
from ...spec.memory import block_bytes, blocks_from
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
    variant,
)
from .common import BLOCK_SIZE, MAX_MODEL_LEN, deployment

FAMILY = "unification"

_RATIO = Variable("ratio", "blocks", "the blocks of the smaller size that make up a unified one")
_PAGE = Variable("page", "bytes", "what a layer stores in one block of the smaller size")
_AVAILABLE = Variable("available", "bytes", "what a worker can give to the cache")

Groups: TypeAlias = Callable[[Point], tuple[LayerGroup, ...]]
"""The groups of layers of a theorem, at a point."""


def _small(at: Point) -> FullAttention:
    return FullAttention(at.block_size)


def _large(at: Point) -> FullAttention:
    """Make one block of several, as `resized` does to layers whose pages are too small."""
    return FullAttention(at.block_size * at.ratio)


def _before(at: Point) -> tuple[LayerGroup, ...]:
    return (alike(("0",), Layer(_small(at), StateStorage(((at.page, "uint8"),)))),)


def _after(at: Point) -> tuple[LayerGroup, ...]:
    return (alike(("0",), Layer(_large(at), StateStorage(((at.page * at.ratio, "uint8"),)))),)


def _given(at: Point) -> Term:
    return blocks_from(at.available, block_bytes(_after(at), VLLM_028))


def _unified(checked: Groups) -> Statement:
    """State that memory whose check passes on some pages gives enough unified blocks."""

    def holds(at: Point) -> Truth:
        whole = at.but(max_num_batched_tokens=at.max_model_len)
        passes = fits(at.available, checked(at), deployment(whole), VLLM_028)
        return implies(passes, boot_accepts(_given(at), deployment(whole, _large(at)), VLLM_028))

    return Statement("the check passes => enough unified blocks", holds, (Quantity("blocks", _given),))


_UNIFIED_VARIABLES = (BLOCK_SIZE, _PAGE, _RATIO, MAX_MODEL_LEN, _AVAILABLE)
_RATIOS = given(
    "block_size, page, ratio and max_model_len are 1 or more",
    lambda at: every([at.block_size >= 1, at.page >= 1, at.ratio >= 1, at.max_model_len >= 1]),
)
_SEVERAL = Statement("several blocks make up one", lambda at: every([at.ratio >= 2, at.available >= 2 * at.page]))

UNIFIED = Theorem(
    name="check_on_unified_pages_covers_the_unified_pool",
    sentence="Memory that passes the check on unified pages gives enough blocks of that size.",
    family=FAMILY,
    variables=_UNIFIED_VARIABLES,
    premises=(_RATIOS,),
    claim=_unified(_after),
    covers=(_SEVERAL,),
    mutants=(variant("the check looks at the pages before", _unified(_before)),),
)

NOT_UNIFIED = Theorem(
    name="check_before_pages_are_unified_covers_the_unified_pool",
    sentence="Memory that passes the check on the pages as they were gives enough unified blocks.",
    family=FAMILY,
    variables=_UNIFIED_VARIABLES,
    premises=(_RATIOS,),
    claim=_unified(_before),
    covers=(_SEVERAL,),
    expected=Expectation.REFUTED,
    least_sum=6,
)

THEOREMS = (UNIFIED, NOT_UNIFIED)
