"""Boot covers admission, for every named design: a pool that passes the boot check admits every legal request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...spec.admission import admitted
from ...spec.arithmetic import every
from ...spec.design import DESIGNS, SOUND, VLLM_030, Design
from ...spec.sizing import boot_accepts, boot_requirement
from ..theorem import (
    Expectation,
    Premise,
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
    BLOCKS,
    FULL_BLOCK_SIZE,
    LOOKAHEAD,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    TOKENS,
    TOKENS_WITHIN_LENGTH,
    USABLE,
    WINDOW,
    Setting,
    deployed,
    first_step_needs,
    full,
    gate_needs,
    window,
)

FAMILY = "designs"

_SHAPES: dict[str, tuple[Setting, tuple[Variable, ...]]] = {
    "full": (deployed(full), (BLOCK_SIZE,)),
    "window": (deployed(window), (BLOCK_SIZE, WINDOW)),
    "full_and_window": (deployed(full, window), (FULL_BLOCK_SIZE, BLOCK_SIZE, WINDOW)),
}

_IN_WORDS = {
    "full": "a full-attention group",
    "window": "a sliding-window group",
    "full_and_window": "a full-attention and a sliding-window group",
}

_NULL_BLOCK_FORGOTTEN = {"full": 5, "window": 9}
_NULL_BLOCK_FORGOTTEN_WITHOUT_GATE = {"full": 5}
_LOOKAHEAD_UNPAID = {"window": 12}
_NOTHING_AMISS: dict[str, int] = {}


def _least_sums(design: Design) -> Mapping[str, int]:
    """Tell, by what the authors decided, which shapes fail, and the sum of the smallest counterexample of each."""
    if not design.boot_reserves_null:
        return _NULL_BLOCK_FORGOTTEN if design.gate else _NULL_BLOCK_FORGOTTEN_WITHOUT_GATE
    return _NOTHING_AMISS if design.lookahead_budget else _LOOKAHEAD_UNPAID


def _boot_covers_admission(setting: Setting, design: Design) -> Statement:
    return Statement(
        "boot accepts => admitted",
        lambda at: implies(
            boot_accepts(at.blocks, setting(at), design), admitted(at.tokens, at.blocks, setting(at), design)
        ),
        (gate_needs(setting, design), first_step_needs(setting, design), USABLE),
    )


def _mutants(setting: Setting) -> tuple[Statement, ...]:
    return (
        variant(
            "boot forgets the null block", _boot_covers_admission(setting, replace(SOUND, boot_reserves_null=False))
        ),
        Statement("every pool admits", lambda at: admitted(at.tokens, at.blocks, setting(at), SOUND)),
    )


def _theorem(
    design: Design, shape: str, least_sum: int | None = None, suffix: str = "", premises: tuple[Premise, ...] = ()
) -> Theorem:
    setting, own = _SHAPES[shape]
    name = design.name.replace("-", "_").replace(".", "_")
    return Theorem(
        name=f"{name}_boot_covers_admission_of_{shape}{suffix}",
        sentence=f"Under {design.name}, a pool that passes the boot check admits every request of {_IN_WORDS[shape]}.",
        family=FAMILY,
        variables=(*own, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, LOOKAHEAD, TOKENS, BLOCKS),
        premises=(legal_deployment(setting), TOKENS_WITHIN_LENGTH, *premises),
        claim=_boot_covers_admission(setting, design),
        covers=(
            Statement("the pool is the smallest", lambda at: at.blocks == boot_requirement(setting(at), design)),
            Statement(
                "the longest sequence takes several steps",
                lambda at: every([at.tokens == at.max_model_len, at.tokens > 2 * at.max_num_batched_tokens]),
            ),
        ),
        mutants=() if least_sum else _mutants(setting),
        expected=Expectation.REFUTED if least_sum else Expectation.HOLDS,
        least_sum=least_sum,
    )


_ONE_DRAFT = given("lookahead <= 1", lambda at: at.lookahead <= 1)

THEOREMS = (
    *(_theorem(design, shape, _least_sums(design).get(shape)) for design in DESIGNS for shape in ("full", "window")),
    _theorem(VLLM_030, "full_and_window", suffix="_with_one_lookahead_token", premises=(_ONE_DRAFT,)),
    _theorem(SOUND, "full_and_window"),
)
