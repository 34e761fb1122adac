"""Where run time is not told the budget it takes the greatest length for it, and its gate is as good as uncapped."""

from __future__ import annotations

from dataclasses import replace

from ...spec.admission import gate_requirement
from ...spec.arithmetic import Term, every
from ...spec.design import SOUND, VLLM_020, Cap, Design
from ...spec.sizing import boot_accepts, boot_requirement
from ..theorem import (
    Expectation,
    Point,
    Quantity,
    Statement,
    Theorem,
    Variable,
    at_most,
    equal,
    implies,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    BLOCKS,
    CHUNK,
    EXTRA_RETAINED,
    FULL_BLOCK_SIZE,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    TOKENS,
    TOKENS_WITHIN_LENGTH,
    USABLE,
    WINDOW,
    Setting,
    chunked,
    deployed,
    full,
    window,
)

FAMILY = "omitted"

_UNCAPPED = replace(VLLM_020, gate_cap=Cap.NONE)


def _untold(setting: Setting) -> Setting:
    """Deploy as run time sees it: the budget is the greatest length, as `KVCacheManager.__init__` has it (0.20.2)."""
    return lambda at: replace(setting(at), max_num_batched_tokens=at.max_model_len)


def _gate(setting: Setting, design: Design) -> Quantity:
    return Quantity("gate", lambda at: gate_requirement(at.tokens, setting(at), design))


def _as_uncapped(setting: Setting) -> Statement:
    return equal(_gate(setting, VLLM_020), _gate(setting, _UNCAPPED))


def _theorem(name: str, sentence: str, setting: Setting, own: tuple[Variable, ...]) -> Theorem:
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(*own, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, TOKENS),
        premises=(legal_deployment(setting), TOKENS_WITHIN_LENGTH),
        claim=_as_uncapped(_untold(setting)),
        covers=(
            Statement(
                "the cap would bind", lambda at: _gate(setting, VLLM_020).of(at) < _gate(setting, _UNCAPPED).of(at)
            ),
            Statement("the request is of full length", lambda at: at.tokens == at.max_model_len),
        ),
        mutants=(
            variant("the budget is passed", _as_uncapped(setting)),
            variant("a block less is charged", at_most(_more(_untold(setting)), _gate(setting, _UNCAPPED))),
        ),
    )


def _more(setting: Setting) -> Quantity:
    return Quantity("gate + 1", lambda at: _gate(setting, VLLM_020).of(at) + 1)


_PAIR = deployed(full, window)


def _covered(gate_setting: Setting, design: Design) -> Statement:
    """State that a pool which boot accepts, told the budget, passes every request through a gate."""
    gate = _gate(gate_setting, design)
    return Statement(
        "boot accepts => gate <= usable",
        lambda at: implies(boot_accepts(at.blocks, _PAIR(at), design), gate.of(at) <= USABLE.of(at)),
        (gate, USABLE),
    )


def _smallest(at: Point) -> Term:
    return boot_requirement(_PAIR(at), SOUND)


STRANDED = Theorem(
    name="gate_that_is_not_told_the_budget_admits_what_boot_covers",
    sentence="Where run time is not told the budget, a pool that passes the boot check still passes every request.",
    family=FAMILY,
    variables=(FULL_BLOCK_SIZE, BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, TOKENS, BLOCKS),
    premises=(legal_deployment(_PAIR), TOKENS_WITHIN_LENGTH),
    claim=_covered(_untold(_PAIR), SOUND),
    covers=(
        Statement("the pool is the smallest", lambda at: at.blocks == _smallest(at)),
        Statement("the window is short", lambda at: every([at.window < at.max_model_len, at.block_size >= 2])),
    ),
    expected=Expectation.REFUTED,
    least_sum=16,
)

THEOREMS = (
    _theorem(
        "omitted_budget_leaves_a_window_uncapped",
        "A gate whose cap takes the greatest length for the budget charges a window group the whole sequence.",
        deployed(window),
        (BLOCK_SIZE, WINDOW, EXTRA_RETAINED),
    ),
    _theorem(
        "omitted_budget_leaves_a_chunk_uncapped",
        "A gate whose cap takes the greatest length for the budget charges a chunked-local group the whole sequence.",
        deployed(chunked),
        (BLOCK_SIZE, CHUNK),
    ),
    STRANDED,
)
