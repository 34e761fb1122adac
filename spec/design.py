"""What an engine's authors decided, as data: a design per family of releases, per rejected proposal, and `sound`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from .errors import UsageError
from .planning import (
    PLANNING_011,
    PLANNING_019,
    PLANNING_020,
    PLANNING_021,
    PLANNING_022,
    PLANNING_025,
    PLANNING_028,
    PLANNING_030,
    PLANNING_033,
    Planning,
)


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


class Padding(StrEnum):
    """What becomes of a waiting request that is one token short of decoding, where drafts are verified.

    A padded request is scheduled with as many placeholder drafts as its running neighbours verify.
    """

    NEVER = "never"
    """It is scheduled as it is."""
    OR_WAIT = "or_wait"
    """It is padded beside decoding requests, and waits where the padding does not fit."""
    WHERE_IT_FITS = "where_it_fits"
    """It is padded beside decoding requests, and left as it is where the sequence may not grow that long."""


class Cursor(StrEnum):
    """What a preemption of a request that was already passed in this step does to the place in the running list."""

    STAYS = "stays"
    """Nothing: the next request is skipped in this step."""
    FOLLOWS_SERVED = "follows_served"
    """The place moves up where the victim was scheduled in this step; otherwise the next request is skipped."""
    FOLLOWS = "follows"
    """The place moves up."""


class Split(StrEnum):
    """Where a chunk of a prompt ends, where recurrent states are kept at block boundaries (cache mode `align`)."""

    WHOLE_BLOCKS = "whole_blocks"
    """It is of whole blocks up to the last boundary, and waits where a step has no room for one."""
    BOUNDARIES = "boundaries"
    """At a boundary, wherever it begins; a block that is wider than a step is computed in parts."""


@dataclass(frozen=True, slots=True)
class Design:
    """Describe one way to size the pool, to gate a request and to serve a step.

    Args:
        name: How the design is called on the command line.
        summary: One sentence, with its source.
        gate: A waiting request must fit whole before its first step.
        gate_cap: What limits a recycling group in the gate.
        reserves_growth: The gate sets all that a request may come to hold, to its last token, against all that those
            who are in may come to hold; otherwise what its known tokens hold against what is free at that moment.
        step_cap: What limits a recycling group when a step predicts its blocks.
        boot_reserves_null: Boot counts the null block.
        boot_checks_override: A block count set by hand must pass the startup check.
        in_flight_budget: The window's budget is the tokens of all batches in flight, not of one.
        lookahead_budget: The window's budget pays for lookahead slots too, all but the one that the spare block covers.
        freeing: On which count of tokens blocks are recycled.
        admission_lookahead: A request's first step takes slots for lookahead tokens too.
        prediction_floor: A group that holds more than it needs is predicted 0, never a credit to the others.
        watermark: An admission beside running requests leaves the deployment's watermark free.
        freed_first: A freed block is the next to be taken; otherwise it is the last.
        padding: What becomes of a waiting request that is one token short of decoding, where drafts are verified.
        overtaking: Without chunked prefill, a prompt too long for what is left of a step lets those behind it pass;
            those who were passed return to the head of the queue in reverse.
        short_chunk_yields: A waiting request that cannot keep a chunk clear of its prompt's end, as multi-module
            drafting asks, lets those behind it pass.
        victim_leaves_batch: A request that is preempted after it was scheduled leaves the batch and gives its tokens
            back; otherwise it is computed, and counts as computed, although its blocks are gone.
        cursor: What a preemption of a request that was already passed does to the place in the running list.
        preemption_drops_drafts: A preempted request loses its drafts at once.
        self_preemption_ends: Under priorities, a request that preempts itself ends the serving of running requests.
        known_end_waits: A request whose steps in flight surely reach its last output is not scheduled again.
        stale_output_waits: A preempted request is not resumed while output of its is in flight.
        drafts_in_flight: Drafts may be verified while other batches are in flight.
        split: Where a chunk of a prompt ends beside states that are kept at block boundaries.
        last_boundary_inside: The last such boundary lies before the last token; otherwise it may be the prompt's end.
        states_recycled: States behind the last one go back while a request runs.
        states_behind_gaps: Aligned states go back although null entries lie between them and later ones.
        state_table_may_shrink: A step may ask for a shorter table of aligned states; otherwise the engine fails.
        state_prediction_floor: Such a step is predicted 0 for those states, never a credit to other groups.
        state_in_flight_budget: Each batch in flight but one is paid an aligned state.
        planning: How layers become groups, and how memory becomes blocks.
    """

    name: str
    summary: str
    gate: bool = True
    gate_cap: Cap = Cap.BOUND
    reserves_growth: bool = True
    step_cap: Cap = Cap.NONE
    boot_reserves_null: bool = True
    boot_checks_override: bool = True
    in_flight_budget: bool = True
    lookahead_budget: bool = True
    freeing: Freeing = Freeing.PROCESSED
    admission_lookahead: bool = True
    prediction_floor: bool = True
    watermark: bool = True
    freed_first: bool = True
    padding: Padding = Padding.WHERE_IT_FITS
    overtaking: bool = False
    short_chunk_yields: bool = True
    victim_leaves_batch: bool = True
    cursor: Cursor = Cursor.FOLLOWS
    preemption_drops_drafts: bool = True
    self_preemption_ends: bool = False
    known_end_waits: bool = True
    stale_output_waits: bool = True
    drafts_in_flight: bool = True
    split: Split = Split.BOUNDARIES
    last_boundary_inside: bool = True
    states_recycled: bool = True
    states_behind_gaps: bool = True
    state_table_may_shrink: bool = True
    state_prediction_floor: bool = True
    state_in_flight_budget: bool = True
    planning: Planning = PLANNING_033


SOUND = Design(
    name="sound",
    summary="What is proved: one bound for boot and gate, everything paid for, and no request let in to be preempted "
    "(where a chunk is made of whole blocks).",
)

VLLM_033 = replace(
    SOUND,
    name="vllm-0.33",
    summary="vLLM 0.33.0: a request that preempts itself under priorities no longer holds up the others.",
    lookahead_budget=False,
    reserves_growth=False,
    state_prediction_floor=False,
    state_in_flight_budget=False,
)

VLLM_030 = replace(
    VLLM_033,
    name="vllm-0.30",
    summary="vLLM 0.30.0: boot keeps one block back for the null block.",
    self_preemption_ends=True,
    short_chunk_yields=False,
    last_boundary_inside=False,
    planning=PLANNING_030,
)

VLLM_028 = replace(
    VLLM_030,
    name="vllm-0.28",
    summary="vLLM 0.28.0: blocks are freed on processed tokens and the window pays for all batches in flight.",
    boot_reserves_null=False,
    padding=Padding.OR_WAIT,
    states_behind_gaps=False,
    planning=PLANNING_028,
)

VLLM_025 = replace(
    VLLM_028,
    name="vllm-0.25",
    summary="vLLM 0.25.1: a request's first step takes slots for lookahead tokens too.",
    in_flight_budget=False,
    freeing=Freeing.COMPUTED,
    cursor=Cursor.FOLLOWS_SERVED,
    stale_output_waits=False,
    split=Split.WHOLE_BLOCKS,
    planning=PLANNING_025,
)

VLLM_020 = replace(
    VLLM_025,
    name="vllm-0.20",
    summary="vLLM 0.20.2 to 0.22.1: the gate charges a window group its boot bound (PR 40946).",
    admission_lookahead=False,
    watermark=False,
    freed_first=False,
    padding=Padding.NEVER,
    state_table_may_shrink=False,
    planning=PLANNING_020,
)

VLLM_021 = replace(
    VLLM_020,
    name="vllm-0.21",
    summary="vLLM 0.21.0: as 0.20.2, and a windowed layer that becomes full attention keeps its value size and scales.",
    planning=PLANNING_021,
)

VLLM_022 = replace(
    VLLM_021,
    name="vllm-0.22",
    summary="vLLM 0.22.1: as 0.21.0, with hidden-state layers, and speculated states counted at every block boundary.",
    planning=PLANNING_022,
)

VLLM_019 = replace(
    VLLM_020,
    name="vllm-0.19",
    summary="vLLM 0.19.1: the gate charges the whole sequence in every group (issue 39734).",
    gate_cap=Cap.NONE,
    boot_checks_override=False,
    planning=PLANNING_019,
)

VLLM_011 = replace(
    VLLM_019,
    name="vllm-0.11",
    summary="vLLM 0.11.0: no gate; a group that holds more than it needs is a credit to the others.",
    gate=False,
    prediction_floor=False,
    overtaking=True,
    victim_leaves_batch=False,
    cursor=Cursor.STAYS,
    known_end_waits=False,
    drafts_in_flight=False,
    preemption_drops_drafts=False,
    states_recycled=False,
    planning=PLANNING_011,
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
    VLLM_021,
    VLLM_022,
    VLLM_025,
    VLLM_028,
    VLLM_030,
    VLLM_033,
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
