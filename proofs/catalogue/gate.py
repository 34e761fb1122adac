"""The gate demands no more of one request than boot reserves for it, where both are capped alike."""

from __future__ import annotations

from dataclasses import replace

from ...spec.arithmetic import every
from ...spec.design import SOUND, VLLM_019, VLLM_020, Cap, Design
from ..theorem import (
    Expectation,
    Statement,
    Theorem,
    at_most,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    FULL_BLOCK_SIZE,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    TOKENS,
    TOKENS_WITHIN_LENGTH,
    WINDOW,
    deployed,
    full,
    gate_needs,
    reserved,
    window,
)

FAMILY = "gate"

_PAIR = deployed(full, window)
_UNCAPPED = replace(SOUND, gate_cap=Cap.NONE)
_FULL_LENGTH = Statement("the request is of full length", lambda at: at.tokens == at.max_model_len)
_SEVERAL_STEPS = Statement(
    "a sequence takes several steps and blocks",
    lambda at: every([at.tokens > at.max_num_batched_tokens, at.max_num_batched_tokens > at.block_size]),
)


def _gate_within_reservation(name: str, sentence: str, design: Design, refuted: bool) -> Theorem:
    """State, for full attention beside a window, that the gate demands no more than boot reserves."""
    uncapped = at_most(gate_needs(_PAIR, _UNCAPPED), reserved(_PAIR, _UNCAPPED))
    return Theorem(
        name=name,
        sentence=sentence,
        family=FAMILY,
        variables=(FULL_BLOCK_SIZE, BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, TOKENS),
        premises=(legal_deployment(_PAIR), TOKENS_WITHIN_LENGTH),
        claim=at_most(gate_needs(_PAIR, design), reserved(_PAIR, design)),
        covers=(_FULL_LENGTH, _SEVERAL_STEPS),
        mutants=() if refuted else (variant("the gate charges the whole sequence", uncapped),),
        expected=Expectation.REFUTED if refuted else Expectation.HOLDS,
        least_sum=10 if refuted else None,
    )


PAIR = _gate_within_reservation(
    "capped_gate_stays_within_boot_reservation",
    "A gate that charges a window group its cap demands no more of a full and a window group than boot reserves.",
    VLLM_020,
    refuted=False,
)

UNCAPPED_PAIR = _gate_within_reservation(
    "uncapped_gate_stays_within_boot_reservation",
    "A gate that charges the whole sequence in every group demands no more than boot reserves.",
    VLLM_019,
    refuted=True,
)

THEOREMS = (PAIR, UNCAPPED_PAIR)
