"""Bytes: what a pool block takes, what one request of the greatest length needs, and how many blocks memory gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .arithmetic import Term, fdiv, maximum, minimum, total
from .deployment import Deployment
from .design import Design
from .errors import Reason, RefusedError
from .layers import Layer, known_page, page_bytes
from .planning import Check, Planning, Strip
from .shared import LayerGroup, blocks_required, own_page, page_counts, pages_held
from .sizing import group_requirement


def block_bytes(groups: Sequence[LayerGroup], design: Design) -> Term:
    """Count the bytes of one pool block on one worker: whichever group takes the id, its pages lie there.

    Source: vLLM `_pool_bytes_per_block` (0.20.2 and later), `get_num_blocks` before.
    """
    if not groups:
        return 0
    if one_mixed(groups) and design.planning.check is not Check.BLOCKS:
        return own_page(groups[0])
    if _all_mixed(groups) and design.planning.strip is not Strip.WIDEST:
        return _strip_bytes(groups, design.planning)
    return widest(groups)


def carved_bytes(groups: Sequence[LayerGroup], design: Design) -> Term:
    """Count the bytes by which memory is divided: a block's, but that tuples are counted on the layers present.

    Source: vLLM `_get_kv_cache_config_deepseek_v4` (0.20.2 to 0.22.1), which differs where a stage lacks a group.
    """
    if design.planning.strip is Strip.TUPLES and _all_mixed(groups) and not one_mixed(groups):
        repeats = max(max(_present_counts(group).values(), default=0) for group in groups)
        return sum(page_counts(groups[0])) * repeats
    return block_bytes(groups, design)


def widest(groups: Sequence[LayerGroup]) -> Term:
    """Count the bytes of the group that has most; with pages of one size, the page times the layers of a group.

    Source: vLLM `_get_kv_cache_bytes_per_block` (0.30.0 and later).
    """
    result: Term = 0
    for group in groups:
        result = maximum(result, pages_held(group))
    return result


def blocks_from(available: Term, block: Term, lent: Term = 0) -> Term:
    """Count the blocks that so many bytes give (vLLM `get_num_blocks`); what is lent out first gives none."""
    return maximum(0, fdiv(available - lent, block))


def pool_blocks(available: Sequence[Term], blocks: Sequence[Term]) -> Term:
    """Count the blocks of every worker's pool: as many as the worker with fewest can have.

    Source: vLLM `get_kv_cache_configs`, last step: one scheduler serves all workers.
    """
    counts = [blocks_from(bytes_, block) for bytes_, block in zip(available, blocks, strict=True)]
    result = counts[0]
    for count in counts[1:]:
        result = minimum(result, count)
    return result


def bytes_required(groups: Sequence[LayerGroup], deployment: Deployment, design: Design) -> Term:
    """Count the bytes that the startup check demands of one worker for one request of the greatest length.

    Source: vLLM `_max_memory_usage_bytes_from_groups` (0.19.1 and later). The null block is not among them.
    """
    if not groups:
        return 0
    if design.planning.check is Check.GROUPS and one_mixed(groups):
        return layers_required(groups[0].members, deployment, design)
    blocks = total(blocks_required(group, deployment, design) for group in groups)
    if design.planning.check is Check.GROUPS and _all_mixed(groups):
        return _tuple_bytes(groups) * blocks
    return _checked_block(groups, design) * blocks


def layers_required(layers: Sequence[Layer], deployment: Deployment, design: Design) -> Term:
    """Add up what layers need, each by itself (vLLM `max_memory_usage_bytes`; the whole check of 0.11.0)."""
    return total(group_requirement(layer.cache, deployment, design) * page_bytes(layer) for layer in layers)


def refuse_sharded_window(layers: Sequence[Layer], deployment: Deployment) -> None:
    """Refuse a sliding window under context parallelism, as its boot formula does in every release.

    Raises:
        RefusedError: There is one.
    """
    kinds = ("sliding_window", "sliding_window_mla")
    if deployment.context_parallel != 1 and any(layer.cache.kind in kinds for layer in layers):
        raise RefusedError(Reason.SHARDED_WINDOW, f"over {deployment.context_parallel} ranks")


def one_mixed(groups: Sequence[LayerGroup]) -> bool:
    """Tell whether there is one group, whose pages may differ."""
    return len(groups) == 1 and groups[0].mixed


def own_pages_block(groups: Sequence[LayerGroup], own: Mapping[str, Layer]) -> Term:
    """Count the bytes of a block from a worker's own layers, as they were before any promotion.

    Source: vLLM 0.11.0, `get_kv_cache_config_from_groups`.

    Raises:
        RefusedError: They have not exactly one page size; a worker without a layer has none.
    """
    if one_mixed(groups):
        return own_page(groups[0])
    pages = {known_page(layer) for layer in own.values()}
    if len(pages) != 1:
        raise RefusedError(Reason.PAGES, f"pages of {sorted(pages)} bytes")
    return pages.pop() * max(len(group.names) for group in groups)


def _all_mixed(groups: Sequence[LayerGroup]) -> bool:
    return all(group.mixed for group in groups)


def _checked_block(groups: Sequence[LayerGroup], design: Design) -> Term:
    return block_bytes(groups, design) if design.planning.check is Check.BLOCKS else widest(groups)


def _strip_bytes(groups: Sequence[LayerGroup], planning: Planning) -> Term:
    """Count the bytes of a block that holds pages of several sizes, each size in its own strips."""
    return _tuple_bytes(groups) if planning.strip is Strip.TUPLES else _bucket_bytes(groups)


def _tuple_bytes(groups: Sequence[LayerGroup]) -> int:
    """Multiply the first group's page sizes by the repeats of the fullest group."""
    repeats = max(max(page_counts(group).values()) for group in groups)
    return sum(page_counts(groups[0])) * repeats


def _bucket_bytes(groups: Sequence[LayerGroup]) -> int:
    """Add up each page size as often as the group with most such pages of present layers has it."""
    slots: dict[int, int] = {}
    for group in groups:
        for page, count in _present_counts(group).items():
            slots[page] = max(slots.get(page, 0), count)
    return sum(page * count for page, count in slots.items())


def _present_counts(group: LayerGroup) -> dict[int, int]:
    counts: dict[int, int] = {}
    for name in group.names:
        page = known_page(group.layer_of(name))
        counts[page] = counts.get(page, 0) + 1
    return counts
