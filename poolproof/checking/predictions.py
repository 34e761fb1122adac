"""What the formulas predict for requests that have the whole pool to themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from math import lcm

from ..inputs.numbers import known, least
from ..spec import (
    ChunkedLocal,
    Deployment,
    Design,
    Freeing,
    Group,
    Lengths,
    UnsupportedError,
    never_admitted,
    usable,
)
from ..spec.admission import longest_prompt
from ..spec.holding import held_after
from ..spec.states import MambaAlign, MambaAll

LONGEST_SEARCH = 100_000
"""The most positions that are looked at one by one."""


class Outcome(StrEnum):
    """What becomes of a request that is alone."""

    SERVED = "served"
    NEVER_ADMITTED = "never admitted"
    NEVER_FINISHES = "admitted, preempts itself for ever"
    CRASHES = "the engine raises"


@dataclass(frozen=True, slots=True)
class Predictions:
    """Tell which prompts are served by a pool, exactly.

    Args:
        never_admitted: The first prompt that the gate or the first step refuses, or None.
        never_finishes: The first prompt that outgrows the pool while it is prefilled, or None.
        longest: The longest legal prompt (0 where none is legal).
    """

    never_admitted: int | None
    never_finishes: int | None
    longest: int

    def outcome(self, prompt: int) -> Outcome:
        """Predict what becomes of one prompt."""
        if self.never_admitted is not None and prompt >= self.never_admitted:
            return Outcome.NEVER_ADMITTED
        if self.never_finishes is not None and prompt >= self.never_finishes:
            return Outcome.NEVER_FINISHES
        return Outcome.SERVED

    @property
    def border(self) -> int | None:
        """Return the shortest prompt that is not served, or None where all are."""
        return min((first for first in (self.never_admitted, self.never_finishes) if first is not None), default=None)

    def boundary(self) -> list[int]:
        """List the prompts worth running: the last served, the first of each kind that is not, the longest."""
        firsts = {first for first in (self.never_admitted, self.never_finishes) if first is not None}
        return sorted({prompt for first in firsts for prompt in (first - 1, first) if prompt >= 1} | self._longest())

    def _longest(self) -> set[int]:
        return {self.longest} if self.longest >= 1 else set()

    def ranges(self) -> list[tuple[Outcome, Lengths]]:
        """List the lengths that are not served, by what becomes of them."""
        admission, finish, last = self.never_admitted, self.never_finishes, self.longest
        found = []
        if finish is not None and (admission is None or finish < admission):
            end = last if admission is None else admission - 1
            found.append((Outcome.NEVER_FINISHES, Lengths(finish, end)))
        if admission is not None:
            found.append((Outcome.NEVER_ADMITTED, Lengths(admission, last)))
        return found


def predict(deployment: Deployment, design: Design, blocks: int) -> Predictions:
    """Predict which prompts a pool of so many blocks serves."""
    refused = never_admitted(deployment, design, blocks)
    first_refused = refused[0].first if refused else None
    longest = longest_prompt(deployment)
    last_admitted = longest if first_refused is None else first_refused - 1
    return Predictions(first_refused, _first_stuck(deployment, design, blocks, last_admitted), longest)


def has_aligned_states(deployment: Deployment) -> bool:
    """Say whether what a prompt holds depends on how it is cut into chunks."""
    return any(isinstance(group.cache, MambaAlign) for group in deployment.groups)


def _first_stuck(deployment: Deployment, design: Design, blocks: int, last: int) -> int | None:
    """Find the shortest admitted prompt whose prefill asks for more than the pool has.

    A longer prompt takes the same steps, the last one more, so one pass over the longest one finds the shortest.
    """
    for computed, scheduled in _prefill(deployment, last):
        if _outgrows(deployment, design, blocks, computed, scheduled):
            return computed + least(1, scheduled, partial(_outgrows, deployment, design, blocks, computed))
    return None


def _outgrows(deployment: Deployment, design: Design, blocks: int, computed: int, scheduled: int) -> bool:
    return _alone(deployment, design, computed, scheduled) > known(usable(blocks))


def _prefill(deployment: Deployment, prompt: int) -> Iterator[tuple[int, int]]:
    """Yield the computed and the scheduled tokens of every step of a lone prefill."""
    budget = known(deployment.max_num_batched_tokens)
    if prompt // budget > LONGEST_SEARCH * 10:
        raise UnsupportedError(f"a prefill of {prompt // budget} steps (max_num_batched_tokens = {budget})")
    for computed in range(0, prompt, budget):
        yield computed, min(budget, prompt - computed)


def prefill_peaks(deployment: Deployment, design: Design, prompts: Sequence[int]) -> list[int]:
    """Count, for each of some prompts in rising order, the most blocks that it holds alone while it is prefilled."""
    peaks: list[int] = []
    highest = 0
    for computed, scheduled in _prefill(deployment, prompts[-1]):
        for prompt in prompts[len(peaks) :]:
            if prompt > computed + scheduled:
                break
            peaks.append(max(highest, _alone(deployment, design, computed, prompt - computed)))
        highest = max(highest, _alone(deployment, design, computed, scheduled))
    return peaks


def _alone(deployment: Deployment, design: Design, computed: int, scheduled: int) -> int:
    """Count the blocks that a lone request holds after one step of its prefill."""
    processed = computed - min(computed, in_flight(deployment, design))
    first_step_only = computed == 0 and not design.admission_lookahead
    lookahead = 0 if first_step_only else known(deployment.lookahead)
    return sum(
        known(group.count) * group_held(group, deployment, design, processed, computed, scheduled, lookahead)
        for group in deployment.groups
    )


def in_flight(deployment: Deployment, design: Design) -> int:
    """Count the tokens that may be computed and still keep their predecessors' blocks from being freed."""
    if design.freeing is Freeing.COMPUTED:
        return 0
    return (known(deployment.max_concurrent_batches) - 1) * known(deployment.max_num_batched_tokens)


def group_held(
    group: Group,
    deployment: Deployment,
    design: Design,
    processed: int,
    computed: int,
    scheduled: int,
    lookahead: int,
) -> int:
    """Count the real blocks of one group that a lone request holds after a step; aligned states are listed instead."""
    return known(held_after(group.cache, deployment, design, processed, computed, scheduled, lookahead))


def decode_peak(deployment: Deployment, design: Design) -> int | None:
    """Count the most blocks that a lone request holds while it grows to the greatest length a token at a time.

    Full groups only grow and recycling groups repeat, so that the last period decides (None: it is too long, or what
    is held depends on how the prompt was cut).
    """
    if has_aligned_states(deployment):
        return None
    last = known(deployment.max_model_len) - 1
    period = lcm(*(_period(group) for group in deployment.groups))
    if period > LONGEST_SEARCH // 10:
        return None
    return max(_decoding(deployment, design, computed) for computed in range(max(0, last - period), last + 1))


def _decoding(deployment: Deployment, design: Design, computed: int) -> int:
    # One token per batch in flight keeps blocks back, not a whole budget.
    late = known(deployment.max_concurrent_batches) - 1 if design.freeing is Freeing.PROCESSED else 0
    processed = max(0, computed - late)
    return sum(
        known(group.count) * group_held(group, deployment, design, processed, computed, 1, known(deployment.lookahead))
        for group in deployment.groups
    )


def _period(group: Group) -> int:
    cache = group.cache
    if isinstance(cache, ChunkedLocal):
        return lcm(known(cache.block_size), known(cache.chunk))
    return known(cache.block_size) if cache.recycles or isinstance(cache, MambaAll) else 1
