"""Run time: what one request must find free, at the gate and at its first step, and which lengths never do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .aligned import first_blocks
from .arithmetic import Term, Truth, every, minimum, total
from .attention import Attention, blocks_for, slots_needed
from .deployment import Deployment
from .design import Cap, Design
from .sizing import group_requirement, usable
from .states import MambaAlign, MambaNone
from .tables import state_table


def cap(cache: Attention, deployment: Deployment, design: Design, kind: Cap) -> Term | None:
    """Limit the blocks that a group is charged, or None where nothing limits them.

    Source: vLLM `get_manager_for_kv_cache_spec` (0.20.2 and later), which caps recycling kinds only.
    """
    if kind is Cap.NONE or not cache.recycles:
        return None
    if kind is Cap.WINDOW:
        # One token in flight: what a group holds while it decodes.
        return cache.bound(1, deployment.max_model_len)
    return group_requirement(cache, deployment, design)


def rank_block_size(cache: Attention, deployment: Deployment) -> Term:
    """Count the tokens that one block id covers over all context-parallel ranks.

    Source: vLLM `SingleTypeKVCacheManager.__init__`.
    """
    return cache.block_size if cache.recycles else cache.block_size * deployment.context_parallel


def charged(cache: Attention, tokens: Term, deployment: Deployment, design: Design, kind: Cap) -> Term:
    """Count the blocks that a group is charged for so many tokens under a cap.

    Aligned states are charged what a first step takes; where growth is reserved, all that a request may hold.
    """
    if isinstance(cache, MambaNone):
        return _states_charged(cache, tokens, deployment, design, kind)
    whole = blocks_for(tokens, rank_block_size(cache, deployment))
    limit = cap(cache, deployment, design, kind)
    return whole if limit is None else minimum(whole, limit)


def _states_charged(cache: MambaNone, tokens: Term, deployment: Deployment, design: Design, kind: Cap) -> Term:
    if not isinstance(cache, MambaAlign):
        return state_table(cache, tokens)
    reserved = design.reserves_growth and kind is not Cap.NONE
    return group_requirement(cache, deployment, design) if reserved else first_blocks(tokens, 0, 0, False, cache)


def gate_length(tokens: Term, deployment: Deployment, design: Design) -> Term:
    """Count the tokens for which the gate charges a sequence.

    A gate that reserves growth charges every slot that a step may take: each batch in flight verifies `lookahead`
    drafts beyond the last token.
    """
    if not design.reserves_growth:
        return minimum(tokens, deployment.max_model_len)
    verified = deployment.max_concurrent_batches * deployment.lookahead
    return slots_to_the_end(tokens + verified, deployment, design)


def slots_to_the_end(tokens: Term, deployment: Deployment, design: Design) -> Term:
    """Count the slots of a sequence of so many tokens, verified drafts included, when its last step has its lookahead.

    No release reserves them: each gate is asked once, about the tokens known by then.
    """
    lookahead = deployment.lookahead if design.lookahead_budget else 0
    return slots_needed(0, tokens, lookahead, deployment.max_model_len)


def gate_requirement(tokens: Term, deployment: Deployment, design: Design) -> Term:
    """Count the blocks that the admission gate demands for a sequence of so many tokens (0 where there is no gate).

    Source: vLLM `KVCacheManager.can_fit_full_sequence` (0.19.1, 0.20.2) and, from 0.21.0,
    `allocate_slots(full_sequence_must_fit=True)`.
    """
    if not design.gate:
        return 0
    length = gate_length(tokens, deployment, design)
    return total(
        group.count * charged(group.cache, length, deployment, design, design.gate_cap) for group in deployment.groups
    )


def first_step_requirement(tokens: Term, deployment: Deployment, design: Design) -> Term:
    """Count the blocks that the first step of a waiting request takes, nothing being computed yet.

    Source: vLLM `KVCacheManager.allocate_slots`, called by `Scheduler.schedule` for a waiting request.
    """
    scheduled = minimum(tokens, deployment.max_num_batched_tokens)
    lookahead = deployment.lookahead if design.admission_lookahead else 0
    slots = slots_needed(0, scheduled, lookahead, deployment.max_model_len)
    return total(
        group.count * charged(group.cache, slots, deployment, design, design.step_cap) for group in deployment.groups
    )


def admitted(tokens: Term, blocks: Term, deployment: Deployment, design: Design) -> Truth:
    """Say whether a request of so many tokens enters an otherwise empty pool."""
    return every(
        [
            gate_requirement(tokens, deployment, design) <= usable(blocks),
            first_step_requirement(tokens, deployment, design) <= usable(blocks),
        ]
    )


@dataclass(frozen=True, slots=True)
class Lengths:
    """Name an unbroken range of sequence lengths, both ends included (tokens)."""

    first: int
    last: int


def longest_prompt(deployment: Deployment) -> int:
    """Count the tokens of the longest legal prompt: one output token must still fit (0 where none is legal)."""
    length = deployment.max_model_len
    if not isinstance(length, int):
        raise TypeError("lengths are listed for known numbers only")
    return length - 1


def never_admitted(deployment: Deployment, design: Design, blocks: int) -> list[Lengths]:
    """List the prompt lengths, exactly, that wait for ever in front of an empty pool.

    Both requirements grow with the length, so that one bisection finds the border; no length is swept.
    """
    last = longest_prompt(deployment)
    border = _first_where(lambda tokens: not admitted(tokens, blocks, deployment, design), last)
    return [] if border is None else [Lengths(border, last)]


def _first_where(condition: Callable[[int], bool], last: int) -> int | None:
    """Find the least number in 1..last that meets a condition which, once met, stays met."""
    if last < 1 or not condition(last):
        return None
    low, high = 1, last
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle + 1, high)
    return low
