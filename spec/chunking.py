"""Where a chunk of a prompt ends, where recurrent states are kept at block boundaries (Mamba cache mode `align`).

A state is written where a chunk ends, so that chunks end at boundaries; the end of a prompt is exempt, since decoding
goes on from there to the next boundary. All numbers are known.
"""

from __future__ import annotations

from dataclasses import dataclass

from .deployment import Deployment
from .design import Design, Split
from .states import MambaAlign


@dataclass(frozen=True, slots=True)
class Chunking:
    """Hold what the end of a chunk depends on.

    Args:
        block: The tokens from one boundary to the next.
        widest: The tokens of the largest step.
        drafts: A drafter's block at the end of a prefix is not shared, so that the last boundary is one block earlier.
        split: Where a chunk ends.
        inside: The last boundary lies before the last token.

    Source: vLLM `Scheduler._mamba_block_aligned_split` (0.19.1 and later), prefix caching off; from 0.33.0 the last
    boundary is that of `get_mamba_prefill_checkpoint_position`.
    """

    block: int
    widest: int
    drafts: bool
    split: Split
    inside: bool

    def scheduled(self, start: int, count: int, prompt: int, tokens: int) -> int:
        """Shorten a chunk to where it may end, none where it must wait.

        Args:
            start: The tokens computed before it.
            count: Its tokens, at least one.
            prompt: The tokens of the prompt.
            tokens: Those of prompt and output.
        """
        known_end = max(prompt, tokens - 1)
        if start >= known_end:
            return count
        last = self.last_boundary(tokens)
        if self.split is Split.WHOLE_BLOCKS:
            return self._whole_blocks(start, count, last)
        return self._to_boundary(start, start + count, known_end, last)

    def last_boundary(self, tokens: int) -> int:
        """Find the last boundary at which a chunk must end (0 where there is none)."""
        if self.drafts:
            return max(0, tokens // self.block - 1) * self.block
        return (tokens - 1 if self.inside else tokens) // self.block * self.block

    def _whole_blocks(self, start: int, count: int, last: int) -> int:
        if start + count < last:
            return count // self.block * self.block
        return last - start if start < last < start + count else count

    def _to_boundary(self, start: int, end: int, known_end: int, last: int) -> int:
        if end < known_end:
            aligned = end // self.block * self.block
            if aligned > start or self.block <= self.widest:
                end = aligned
        next_one = (start // self.block + 1) * self.block if start % self.block else 0
        return max(0, min((stop for stop in (next_one, last) if start < stop < end), default=end) - start)


def chunking(deployment: Deployment, design: Design) -> Chunking | None:
    """Say where chunks end in a deployment of known numbers, or None where they may end anywhere.

    Boundaries are those of the smallest block of any group (vLLM `EngineCore._initialize_kv_caches`).
    """
    caches = list(deployment.caches())
    if not any(isinstance(cache, MambaAlign) for cache in caches):
        return None
    return Chunking(
        block=min(_known(cache.block_size) for cache in caches),
        widest=_known(deployment.max_num_batched_tokens),
        drafts=_known(deployment.lookahead) > 0,
        split=design.split,
        inside=design.last_boundary_inside,
    )


def _known(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("chunks are cut for known numbers only")
    return value
