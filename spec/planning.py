"""What an engine's authors decided about bytes: how layers become groups, and how memory becomes blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Widening(StrEnum):
    """What becomes of a layer whose page is smaller than the largest and does not divide it."""

    REFUSED = "refused"
    """The engine does not start."""
    STRIDED = "strided"
    """Its page is padded where its backend reads blocks by a stride."""
    ATTENTION = "attention"
    """Its page is padded, unless it is full latent attention."""


class Tuples(StrEnum):
    """Whether full and windowed latent layers of several page sizes are grouped in tuples of one layer per size."""

    NONE = "none"
    """They are not."""
    PADDED = "padded"
    """Always, and a windowed layer's page is padded to one of the full layers' pages."""
    UNEQUAL = "unequal"
    """Where page sizes differ, and nothing is padded."""


class Strip(StrEnum):
    """How many bytes one block id takes where every group holds pages of several sizes."""

    TUPLES = "tuples"
    """The first group's page sizes, as often as the fullest group repeats one."""
    BUCKETS = "buckets"
    """Each page size, as often as the group with most such pages has it."""
    WIDEST = "widest"
    """The pages of the widest group."""


class Hidden(StrEnum):
    """How layers that keep hidden states join groups of one page size."""

    ABSENT = "absent"
    """There is no such kind."""
    FILLING = "filling"
    """Each fills the common page with as many tokens as fit."""
    DIVIDING = "dividing"
    """Each takes the largest block that divides every other group's and fits the common page."""
    ENLARGING = "enlarging"
    """As before, and every block is enlarged first where the page cannot hold one token."""


class Check(StrEnum):
    """What the startup check compares with the memory."""

    LAYERS = "layers"
    """What all layers of a worker need, each by itself."""
    GROUPS = "groups"
    """What all groups need, as the release lays their pages out."""
    BLOCKS = "blocks"
    """The blocks that all groups need, times the bytes of a block."""


_ATTENTION = ("full", "mla", "sliding_window", "chunked_local", "cross", "mamba_none")
_LATER = (*_ATTENTION, "sink", "mamba_align", "sliding_window_mla", "hidden", "request_window", "circular")

_VALUED = ("full", "sink", "request_window", "sliding_window")


@dataclass(frozen=True, slots=True)
class Planning:
    """Describe one way to lay out pages and to turn memory into blocks.

    Args:
        kinds: The kinds of cache that a layer may have.
        value_sizes: The kinds whose values may be of another size than their keys.
        scales: Keys and values may be stored with scales per token and head.
        compressed: A latent layer may keep one state for several tokens, aligned pages included.
        strided: A layer may say that its backend reads blocks by a stride.
        padded: An attention layer may be given a padded page.
        speculated_states: The kinds whose boot counts speculated states.
        latent_sizes_compared: Full latent layers are alike only if their sizes are.
        value_sizes_compared: Full layers are alike only if their value sizes are.
        states_compared: State layers are of one type only if checkpoints and pages are equal.
        promotes: The kinds that hybrid-off turns into full attention; any other windowed kind ends in a crash.
        promoted_takes_block: A promoted layer takes the block size of the full layers, and a padding that fits it.
        promoted_keeps: What a promoted windowed layer keeps of its sizes.
        balanced: Groups may be as large as the largest bucket, where that is less than half larger than the smallest.
        merged_buckets: Layers that can be merged share a bucket; otherwise only identical ones do.
        unifies_pages: Pages are made equal by larger blocks; otherwise unequal pages are refused.
        widening: What becomes of a page that larger blocks cannot make equal.
        pads_states: A state's page is padded; otherwise it is treated as attention is.
        full_fallback: Windowed layers beside full latent ones become full where pages cannot be made equal.
        tuples: How latent layers of several page sizes are grouped.
        packs: Layers of several page sizes are packed where the memory layout puts blocks outermost.
        packs_by_name: Compressed latent layers beside states have a layout of their own.
        hidden: How hidden-state layers join.
        strip: The bytes of a block where groups hold several page sizes.
        layouts: The memory layout is chosen, and not every one can hold pages of several sizes.
        layout_first: The layout is tried before memory is looked at.
        empty_strip_refused: A worker without a layer is refused before its memory is checked.
        partition_first: A layer in no group is refused before memory is looked at.
        check: What the startup check compares.
        projects: A group of several page sizes is cut down to a worker's own layers.
        checks_pages: A worker's own layers must have one page size, as they were before any promotion.
        auto_fits: The greatest length can be fitted to the memory.
        concurrency_in_bytes: The reported concurrency divides bytes by the first group's page.
        cuts_pools: Every pool is cut to the smallest, which fails where that has no block.
        worker_logs: The first worker logs what its own memory gives, not what the pool has.
        tokens_in_blocks: The logged tokens are blocks per group times the smallest block.
    """

    kinds: tuple[str, ...] = _LATER
    value_sizes: tuple[str, ...] = (*_VALUED, "chunked_local", "cross", "circular")
    scales: bool = True
    compressed: bool = True
    strided: bool = False
    padded: bool = True
    speculated_states: tuple[str, ...] = ("mamba_none", "mamba_align", "mamba_all")
    latent_sizes_compared: bool = True
    value_sizes_compared: bool = True
    states_compared: bool = True
    promotes: tuple[str, ...] = ("sliding_window", "chunked_local")
    promoted_takes_block: bool = True
    promoted_keeps: tuple[str, ...] = ("values", "scales", "stride", "chunked")
    balanced: bool = True
    merged_buckets: bool = True
    unifies_pages: bool = True
    widening: Widening = Widening.ATTENTION
    pads_states: bool = True
    full_fallback: bool = True
    tuples: Tuples = Tuples.NONE
    packs: bool = True
    packs_by_name: bool = False
    hidden: Hidden = Hidden.ENLARGING
    strip: Strip = Strip.WIDEST
    layouts: bool = True
    layout_first: bool = True
    empty_strip_refused: bool = True
    partition_first: bool = True
    check: Check = Check.BLOCKS
    projects: bool = True
    checks_pages: bool = False
    auto_fits: bool = True
    concurrency_in_bytes: bool = False
    cuts_pools: bool = False
    worker_logs: bool = False
    tokens_in_blocks: bool = False


PLANNING_033 = Planning()

PLANNING_030 = replace(
    PLANNING_033,
    kinds=(*_LATER, "mamba_all"),
    promotes=("sliding_window", "chunked_local", "sliding_window_mla"),
    packs_by_name=True,
    layout_first=False,
    partition_first=False,
)

PLANNING_028 = replace(
    PLANNING_030,
    kinds=tuple(kind for kind in PLANNING_030.kinds if kind != "circular"),
    strided=True,
    states_compared=False,
    widening=Widening.STRIDED,
    tuples=Tuples.UNEQUAL,
    packs=False,
    packs_by_name=False,
    hidden=Hidden.DIVIDING,
    layouts=False,
    empty_strip_refused=False,
    check=Check.GROUPS,
    cuts_pools=True,
)

PLANNING_025 = replace(
    PLANNING_028,
    value_sizes=_VALUED,
    latent_sizes_compared=False,
    value_sizes_compared=False,
    promoted_takes_block=False,
    promoted_keeps=("values", "scales"),
    merged_buckets=False,
    pads_states=False,
    full_fallback=False,
    tuples=Tuples.PADDED,
    hidden=Hidden.FILLING,
    strip=Strip.BUCKETS,
    concurrency_in_bytes=True,
)

PLANNING_022 = replace(
    PLANNING_025,
    kinds=tuple(kind for kind in PLANNING_025.kinds if kind != "request_window"),
    value_sizes=("full", "sink", "sliding_window"),
    strided=False,
    widening=Widening.REFUSED,
    strip=Strip.TUPLES,
)

PLANNING_021 = replace(
    PLANNING_022,
    kinds=tuple(kind for kind in PLANNING_022.kinds if kind != "hidden"),
    speculated_states=("mamba_none", "mamba_align"),
    hidden=Hidden.ABSENT,
)

PLANNING_020 = replace(PLANNING_021, promoted_keeps=())

PLANNING_019 = replace(
    PLANNING_020,
    kinds=tuple(kind for kind in PLANNING_020.kinds if kind != "sliding_window_mla"),
    value_sizes=("full", "sink"),
    scales=False,
    compressed=False,
    promotes=("sliding_window", "chunked_local"),
    tuples=Tuples.NONE,
    tokens_in_blocks=True,
)

PLANNING_011 = replace(
    PLANNING_019,
    kinds=_ATTENTION,
    value_sizes=(),
    padded=False,
    speculated_states=(),
    balanced=False,
    unifies_pages=False,
    check=Check.LAYERS,
    projects=False,
    checks_pages=True,
    auto_fits=False,
    cuts_pools=False,
    worker_logs=True,
)
