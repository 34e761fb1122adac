"""One block of the pool stands for all recycled ones and is nobody's; boot must count it."""

from __future__ import annotations

from dataclasses import replace

from ...spec.admission import admitted
from ...spec.arithmetic import Term
from ...spec.deployment import Deployment
from ...spec.design import SOUND, VLLM_028, Design
from ...spec.sizing import boot_accepts, boot_requirement
from ..theorem import (
    Expectation,
    Formula,
    Point,
    Quantity,
    Statement,
    Theorem,
    Variable,
    implies,
    legal_deployment,
    negation,
    variant,
)
from .common import (
    BLOCK_SIZE,
    BLOCKS,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    TOKENS,
    TOKENS_WITHIN_LENGTH,
    USABLE,
    WINDOW,
    Setting,
    deployed,
    deployment,
    full,
    gate_needs,
    window,
)

FAMILY = "null_block"


def _whole_prompts(at: Point) -> Point:
    """Let a step take any prompt whole; the gate of full attention does not read the budget."""
    return at.but(max_num_batched_tokens=at.max_model_len)


def _full(at: Point) -> Deployment:
    return deployment(_whole_prompts(at), full(at))


_WINDOWED = deployed(window)


def _gate_passes(setting: Setting, design: Design) -> Statement:
    """State that the gate lets every request into a pool that passes the boot check."""
    gate = gate_needs(setting, design)
    return Statement(
        "boot accepts => gate <= usable",
        lambda at: implies(boot_accepts(at.blocks, setting(at), design), gate.of(at) <= USABLE.of(at)),
        (gate, USABLE),
    )


def _theorem(name: str, sentence: str, own: tuple[Variable, ...], setting: Setting, design: Design) -> Theorem:
    refuted = not design.boot_reserves_null
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(BLOCK_SIZE, *own, MAX_MODEL_LEN, TOKENS, BLOCKS),
        premises=(legal_deployment(setting), TOKENS_WITHIN_LENGTH),
        claim=_gate_passes(setting, design),
        covers=(
            Statement("the pool is the smallest", lambda at: at.blocks == boot_requirement(setting(at), design)),
            Statement("the sequence takes two blocks", lambda at: at.tokens > at.block_size),
        ),
        mutants=() if refuted else _mutants(setting),
        expected=Expectation.REFUTED if refuted else Expectation.HOLDS,
        least_sum=(9 if own else 4) if refuted else None,
    )


def _mutants(setting: Setting) -> tuple[Statement, ...]:
    without = replace(SOUND, boot_reserves_null=False)
    pools = Statement("every pool passes", lambda at: gate_needs(setting, SOUND).of(at) <= USABLE.of(at))
    return variant("boot forgets the null block", _gate_passes(setting, without)), pools


_OWN = (WINDOW, MAX_NUM_BATCHED_TOKENS)


def _too_small(demand: Formula) -> Statement:
    """State that a pool below a demand does not admit the longest request."""
    gate = gate_needs(_full, SOUND)
    return Statement(
        "blocks < demand => the longest request is not admitted",
        lambda at: implies(at.blocks < demand(at), negation(admitted(at.max_model_len, at.blocks, _full(at), SOUND))),
        (Quantity("demand", demand), Quantity("gate", lambda at: gate.of(at.but(tokens=at.max_model_len))), USABLE),
    )


def _demand(at: Point) -> Term:
    return boot_requirement(_full(at), SOUND)


TIGHT = Theorem(
    name="no_pool_below_the_boot_check_admits_the_longest_request",
    sentence="With full attention, boot demands no block too many: a pool of fewer never admits the longest request.",
    family=FAMILY,
    variables=(BLOCK_SIZE, MAX_MODEL_LEN, BLOCKS),
    premises=(legal_deployment(_full),),
    claim=_too_small(_demand),
    covers=(
        Statement("the pool lacks one block", lambda at: at.blocks == _demand(at) - 1),
        Statement("the sequence takes two blocks", lambda at: at.max_model_len > at.block_size),
    ),
    mutants=(variant("boot demands a block more", _too_small(lambda at: _demand(at) + 1)),),
)

THEOREMS = (
    _theorem(
        "full_attention_gate_passes_where_boot_counts_the_null_block",
        "Where boot counts the null block, the gate lets every request of full attention into an empty pool.",
        (),
        _full,
        SOUND,
    ),
    _theorem(
        "window_gate_passes_where_boot_counts_the_null_block",
        "Where boot counts the null block, the gate lets every request of a sliding window into an empty pool.",
        _OWN,
        _WINDOWED,
        SOUND,
    ),
    _theorem(
        "full_attention_gate_passes_where_boot_forgets_the_null_block",
        "Where boot forgets the null block, the gate lets every request of full attention into an empty pool.",
        (),
        _full,
        VLLM_028,
    ),
    _theorem(
        "window_gate_passes_where_boot_forgets_the_null_block",
        "Where boot forgets the null block, the gate lets every request of a sliding window into an empty pool.",
        _OWN,
        _WINDOWED,
        VLLM_028,
    ),
    TIGHT,
)
