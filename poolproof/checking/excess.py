"""Steps after which a request holds more blocks of a group than boot and gate count for it, found without a sweep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from ..inputs.numbers import known, least
from ..spec import ChunkedLocal, Deployment, Design, Group, SlidingWindow, UnsupportedError, group_requirement
from .predictions import LONGEST_SEARCH, group_held, in_flight


@dataclass(frozen=True, slots=True)
class Excess:
    """Show a step after which a request holds more blocks of a group than boot and gate count for it.

    Args:
        group: The position of the group in the deployment.
        processed: The tokens whose steps have settled.
        computed: The tokens that are computed or being computed when the step starts.
        scheduled: The tokens of the step.
        lookahead: The slots that it takes beyond them.
        held: The blocks that the request then holds.
        cap: The blocks that boot and gate count.
    """

    group: int
    processed: int
    computed: int
    scheduled: int
    lookahead: int
    held: int
    cap: int


def first_excess(deployment: Deployment, design: Design) -> Excess | None:
    """Find the earliest step after which some group holds more than its cap, or None where no step does."""
    searches = (
        _Search(index, group, deployment, design)
        for index, group in enumerate(deployment.groups)
        if group.cache.recycles
    )
    return next((excess for search in searches if (excess := search.first()) is not None), None)


@dataclass(frozen=True)
class _Search:
    """Look through the steps of one group."""

    index: int
    group: Group
    deployment: Deployment
    design: Design

    @cached_property
    def cap(self) -> int:
        return known(group_requirement(self.group.cache, self.deployment, self.design))

    @cached_property
    def late(self) -> int:
        return in_flight(self.deployment, self.design)

    def first(self) -> Excess | None:
        """Find the earliest step, and of that one the fewest tokens."""
        exceeding = (ends for ends in self.rising() if self.exceeds(ends[1]))
        ends = next(exceeding, None)
        if ends is None:
            return None
        computed = least(*ends, self.exceeds)
        scheduled = least(1, self.largest_step(computed), lambda size: self.held(computed, size) > self.cap)
        return self.excess(computed, scheduled)

    def exceeds(self, computed: int) -> bool:
        """Say whether the largest step at a position leads beyond the cap."""
        return self.held(computed, self.largest_step(computed)) > self.cap

    def rising(self) -> Iterator[tuple[int, int]]:
        """Yield position ranges in which no further block is recycled, so that what is held rises with the position.

        Beyond them everything repeats, but for the end of the sequence, where less is held.
        """
        cache, last = self.group.cache, known(self.deployment.max_model_len) - 1
        if isinstance(cache, ChunkedLocal):
            yield from self.chunks(known(cache.block_size), known(cache.chunk), last)
        elif isinstance(cache, SlidingWindow):
            yield 0, min(self.late + known(cache.retained()) + known(cache.block_size) - 1, last)
        else:
            raise UnsupportedError(f"what a {cache.kind} group holds")

    def chunks(self, block: int, chunk: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the position range of each chunk until chunks meet block boundaries as the first one did."""
        period = block // gcd(block, chunk)
        if period > LONGEST_SEARCH:
            raise UnsupportedError(f"a block size and a chunk that meet only every {period} chunks")
        for number in range(min(period, last // chunk + 1)):
            low = self.late + number * chunk if number else 0
            if low <= last:
                yield low, min(self.late + (number + 1) * chunk - 1, last)

    def largest_step(self, computed: int) -> int:
        """Count the tokens of the largest step at a position."""
        return min(known(self.deployment.max_num_batched_tokens), known(self.deployment.max_model_len) - computed)

    def held(self, computed: int, scheduled: int) -> int:
        """Count the blocks held after a step, as few tokens as possible having settled."""
        lookahead = known(self.deployment.lookahead)
        processed = max(0, computed - self.late)
        return group_held(self.group, self.deployment, self.design, processed, computed, scheduled, lookahead)

    def excess(self, computed: int, scheduled: int) -> Excess:
        """Record a step."""
        return Excess(
            group=self.index,
            processed=max(0, computed - self.late),
            computed=computed,
            scheduled=scheduled,
            lookahead=known(self.deployment.lookahead),
            held=self.held(computed, scheduled),
            cap=self.cap,
        )
