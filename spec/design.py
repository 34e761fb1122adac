"""What an engine's authors decided, as data: a design per family of releases, per rejected proposal, and `sound`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from .errors import UsageError


class Cap(StrEnum):
    """What limits the blocks that a group of a recycling kind is charged for."""

    NONE = "none"
    """Nothing: the whole sequence is charged, recycling forgotten."""
    BOUND = "bound"
    """The bound that boot uses."""
    WINDOW = "window"
    """The window alone, once it has slid: the tokens of a step are forgotten."""


class Freeing(StrEnum):
    """On which count of tokens blocks are recycled."""

    COMPUTED = "computed"
    """Tokens scheduled so far, those still in flight included."""
    PROCESSED = "processed"
    """Tokens whose step has settled."""


@dataclass(frozen=True, slots=True)
class Design:
    """Describe one way to size the pool, to gate a request and to serve a step.

    Args:
        name: How the design is called on the command line.
        summary: One sentence, with its source.
        gate: A waiting request must fit whole before its first step.
        gate_cap: What limits a recycling group in the gate.
        step_cap: What limits a recycling group when a step predicts its blocks.
        boot_reserves_null: Boot counts the null block.
        boot_checks_override: A block count set by hand must pass the startup check.
        in_flight_budget: The window's budget is the tokens of all batches in flight, not of one.
        freeing: On which count of tokens blocks are recycled.
        admission_lookahead: A request's first step takes slots for lookahead tokens too.
        prediction_floor: A group that holds more than it needs is predicted 0, never a credit to the others.
    """

    name: str
    summary: str
    gate: bool = True
    gate_cap: Cap = Cap.BOUND
    step_cap: Cap = Cap.NONE
    boot_reserves_null: bool = True
    boot_checks_override: bool = True
    in_flight_budget: bool = True
    freeing: Freeing = Freeing.PROCESSED
    admission_lookahead: bool = True
    prediction_floor: bool = True


SOUND = Design(
    name="sound",
    summary="What is proved: one bound for boot and gate, the null block counted, every batch in flight paid for.",
)

VLLM_030 = replace(
    SOUND,
    name="vllm-0.30",
    summary="vLLM 0.30.0 and later: boot keeps one block back for the null block.",
)

VLLM_028 = replace(
    VLLM_030,
    name="vllm-0.28",
    summary="vLLM 0.28.0: blocks are freed on processed tokens and the window pays for all batches in flight.",
    boot_reserves_null=False,
)

VLLM_025 = replace(
    VLLM_028,
    name="vllm-0.25",
    summary="vLLM 0.25.1: a request's first step takes slots for lookahead tokens too.",
    in_flight_budget=False,
    freeing=Freeing.COMPUTED,
)

VLLM_020 = replace(
    VLLM_025,
    name="vllm-0.20",
    summary="vLLM 0.20.2 to 0.22.1: the gate charges a window group its boot bound (PR 40946).",
    admission_lookahead=False,
)

VLLM_019 = replace(
    VLLM_020,
    name="vllm-0.19",
    summary="vLLM 0.19.1: the gate charges the whole sequence in every group (issue 39734).",
    gate_cap=Cap.NONE,
    boot_checks_override=False,
)

VLLM_011 = replace(
    VLLM_019,
    name="vllm-0.11",
    summary="vLLM 0.11.0: no gate; a group that holds more than it needs is a credit to the others.",
    gate=False,
    prediction_floor=False,
)

GATE_CAPPED_BY_WINDOW = replace(
    VLLM_020,
    name="coordinator-caps-window",
    summary="Rejected (PR 39866): the gate charges a window group the slid window, without the tokens of a step.",
    gate_cap=Cap.WINDOW,
)

ALLOCATOR_PREDICTS_CAPPED = replace(
    VLLM_020,
    name="allocator-predicts-capped",
    summary="Rejected (PR 40027): the cap limits each step's prediction too, and the allocation takes more.",
    step_cap=Cap.BOUND,
)

DESIGNS = (
    VLLM_011,
    VLLM_019,
    VLLM_020,
    VLLM_025,
    VLLM_028,
    VLLM_030,
    GATE_CAPPED_BY_WINDOW,
    ALLOCATOR_PREDICTS_CAPPED,
    SOUND,
)
"""Every named design, oldest family first."""


def named(name: str) -> Design:
    """Find a design by its name.

    Raises:
        UsageError: No design has that name.
    """
    for design in DESIGNS:
        if design.name == name:
            return design
    known = ", ".join(design.name for design in DESIGNS)
    raise UsageError("design", name, "no design has this name", f"choose one of {known}")
