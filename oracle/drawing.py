"""Random deployments, for comparisons: any kind that the oracle serves, pools around what boot demands."""

from __future__ import annotations

import random
from dataclasses import replace

from ..spec.attention import Attention, ChunkedLocal, FullAttention, MLAAttention, SlidingWindow
from ..spec.deployment import Deployment, Group
from ..spec.design import Design
from ..spec.sizing import boot_requirement
from ..spec.states import MambaAlign, MambaAll, MambaNone

BLOCK_SIZES = (1, 2, 3, 4, 8)
STATES: dict[str, type[MambaNone]] = {kind.kind: kind for kind in (MambaNone, MambaAll, MambaAlign)}
"""The kinds of recurrent groups; those of one model are of one kind."""

GROUPS = (1, 1, 2, 2, 3, 3, 4, 4, 6)
"""How many groups there are; more than four are no kind of their own, and slow."""

RECURRENT = 1 / 5
"""How many of the deployments have recurrent groups."""


def random_deployment(
    draw: random.Random, design: Design, *, wild: bool, batches: int, pressing: bool = False
) -> Deployment:
    """Draw a deployment of one to six groups, some recurrent, lookahead 0 to 5, chunked prefill on and off.

    Where requests are to press each other, many may run at once, and a few of them use up a step.
    """
    length = draw.choice((8, 12, 16, 24, 32, 40))
    slots = (0, 1, 2, 3) if pressing else (0, 0, 0, 1, 2, 3, 4, 5)
    lookahead = draw.choice(slots) if batches == 1 or design.drafts_in_flight else 0
    chunked = draw.random() < 0.75 or pressing
    most = min(length, 2 * lookahead + 6) if pressing else length
    budget = draw.randint(lookahead + 1, most) if chunked else draw.randint(length, 2 * length)
    deployment = Deployment(
        groups=_groups(draw, length, lookahead, design),
        max_model_len=length,
        max_num_batched_tokens=budget,
        max_num_seqs=8 if pressing else draw.choice((1, 2, 3, 8)),
        max_concurrent_batches=batches,
        lookahead=lookahead,
        chunked_prefill=chunked,
        watermark=draw.choice((0, 0, 1, 2)) if design.watermark else 0,
    )
    least = boot_requirement(deployment, design)
    factor = draw.choice((0.5, 0.8, 1.0, 1.0, 1.2, 1.5, 2.0)) if wild else draw.choice((1.0, 1.0, 1.0, 1.2, 1.5, 2.0))
    # The exact minimum, one block less and one more are where a gate and a boot that disagree by one show it.
    return replace(deployment, blocks=max(2, int(least * factor) + draw.choice((-1, 0, 0, 1))))


def _groups(draw: random.Random, length: int, lookahead: int, design: Design) -> tuple[Group, ...]:
    """Draw groups, recurrent ones among them in a third of the draws, and now and then nothing else."""
    others = [_cache(draw, length) for _ in range(draw.choice(GROUPS))]
    if draw.random() > RECURRENT:
        return tuple(map(Group, others))
    kinds = [kind for kind in STATES if kind in design.planning.kinds]
    state = _state(draw, draw.choice(kinds), length, lookahead, min(int(cache.block_size) for cache in others))
    alone = draw.random() < 0.2
    return tuple(Group(cache) for cache in (*([] if alone else others[:3]), *([state] * draw.choice((1, 1, 2)))))


def _state(draw: random.Random, kind: str, length: int, lookahead: int, block: int) -> MambaNone:
    """Draw a recurrent cache: as many states as drafts, blocks as an engine sets them, and sometimes neither."""
    speculative = draw.choice((lookahead, lookahead, 0, draw.randint(0, 4)))
    usual = length if kind == MambaNone.kind else block
    return STATES[kind](draw.choice((usual, usual, draw.choice(BLOCK_SIZES))), speculative)


def _cache(draw: random.Random, length: int) -> Attention:
    size, reach = draw.choice(BLOCK_SIZES), draw.randint(1, length)
    kinds = (FullAttention(size), MLAAttention(size), SlidingWindow(size, reach), ChunkedLocal(size, reach))
    return draw.choice(kinds)
