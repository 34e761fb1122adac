"""Pages are made equal before memory is checked: a check on the pages as they were lets too small a pool pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...spec.arithmetic import Term, Truth, every
from ...spec.attention import FullAttention
from ...spec.design import VLLM_028
from ...spec.fitting import fits
from ...spec.layers import Layer, Storage, resized
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
from .common import BLOCK_SIZE, MAX_MODEL_LEN, deployed, full

FAMILY = "unification"

_RATIO = Variable("ratio", "blocks", "the blocks of the smaller size that make up a unified one")
_AVAILABLE = Variable("available", "bytes", "what a worker can give to the cache")

Groups: TypeAlias = Callable[[Point], tuple[LayerGroup, ...]]
"""The groups of layers of a theorem, at a point."""


def _narrow(at: Point) -> Layer:
    """Describe a full-attention layer before its page is unified: a byte for the key and one for the value."""
    return Layer(FullAttention(at.block_size), Storage(1, 1, 1, "uint8"))


def _before(at: Point) -> tuple[LayerGroup, ...]:
    return (alike(("0",), _narrow(at)),)


def _after(at: Point) -> tuple[LayerGroup, ...]:
    return (alike(("0",), resized(_narrow(at), at.block_size * at.ratio)),)


def _given(at: Point) -> Term:
    return blocks_from(at.available, block_bytes(_after(at), VLLM_028))


def _unified(checked: Groups) -> Statement:
    """State that memory whose check passes on some pages gives enough unified blocks."""

    def holds(at: Point) -> Truth:
        whole = at.but(max_num_batched_tokens=at.max_model_len)
        fine, unified = (
            deployed(full)(whole),
            deployed(lambda at: full(at.but(block_size=at.block_size * at.ratio)))(whole),
        )
        setting = unified if checked is _after else fine
        passes = fits(at.available, checked(at), setting, VLLM_028)
        return implies(passes, boot_accepts(_given(at), unified, VLLM_028))

    blocks = Quantity("blocks", _given)
    return Statement("the check passes => enough unified blocks", holds, (blocks,))


_UNIFIED_VARIABLES = (BLOCK_SIZE, _RATIO, MAX_MODEL_LEN, _AVAILABLE)
_RATIOS = given(
    "block_size, ratio and max_model_len are 1 or more",
    lambda at: every([at.block_size >= 1, at.ratio >= 1, at.max_model_len >= 1]),
)
_SEVERAL = Statement("several blocks make up one", lambda at: every([at.ratio >= 2, at.available >= 2 * at.block_size]))

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
