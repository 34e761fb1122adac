"""Buckets of like layers become groups of one size; hidden-state layers join them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from .arithmetic import cdiv
from .attention import HiddenState
from .errors import Reason, RefusedError
from .layers import Layer, known_block, known_page, resized
from .merging import can_merge, merged
from .planning import Hidden, Planning
from .shared import LayerGroup, alike


def interleaved(layers: dict[str, Layer], planning: Planning) -> list[LayerGroup]:
    """Split buckets of like layers into groups of one size, taking every n-th layer so that stages share evenly.

    Source: vLLM `_get_kv_cache_groups_uniform_page_size`.
    """
    buckets = _buckets(layers, planning)
    size = group_size([len(bucket) for bucket in buckets], planning)
    groups = []
    for bucket in buckets:
        count = -(-len(bucket) // size)
        groups += [_one_group(bucket[i::count], layers, planning) for i in range(count)]
    return groups


def group_size(buckets: Sequence[int], planning: Planning) -> int:
    """Choose how many layers a group has: as many as the smallest bucket, or as the largest if that is near.

    Source: vLLM `_get_kv_cache_groups_uniform_page_size` (near: less than half larger, 0.19.1 and later).
    """
    least, most = min(buckets), max(buckets)
    return most if planning.balanced and 2 * most < 3 * least else least


def _buckets(layers: dict[str, Layer], planning: Planning) -> list[list[str]]:
    """Collect like layers; what is alike is asked once for each distinct layer."""
    distinct: dict[Layer, list[str]] = {}
    for name, layer in layers.items():
        distinct.setdefault(layer, []).append(name)
    if not planning.merged_buckets:
        return list(distinct.values())
    kinds: list[tuple[list[Layer], list[str]]] = []
    for layer, names in distinct.items():
        home = next((b for b in kinds if can_merge([*b[0], layer], planning)), None)
        if home is None:
            kinds.append(([layer], list(names)))
        else:
            home[0].append(layer)
            home[1].extend(names)
    return [names for _, names in kinds]


def _one_group(names: list[str], layers: dict[str, Layer], planning: Planning) -> LayerGroup:
    one = merged([layers[name] for name in names], planning)
    if one is None:
        raise RefusedError(Reason.MERGE, f"{', '.join(names)} were put in one group")
    return alike(names, one)


def with_hidden(groups: list[LayerGroup], hidden: dict[str, Layer], planning: Planning) -> list[LayerGroup]:
    """Append hidden-state layers, each a group of its own whose page is the common one.

    Source: vLLM `get_kv_cache_groups` (0.22.1 and later), `_ensure_min_page_size` (0.30.0 and later).
    """
    if not hidden:
        return groups
    page = known_page(groups[0].layer)
    if planning.hidden is Hidden.ENLARGING:
        factor = max(cdiv(_token_bytes(layer), page) for layer in hidden.values())
        groups, page = [_enlarged(group, factor) for group in groups], page * factor
    common = math.gcd(*(known_block(group.layer) for group in groups))
    for name, layer in hidden.items():
        fitting = max(page // _token_bytes(layer), 1)
        block = fitting if planning.hidden is Hidden.FILLING else _largest_divisor(common, fitting)
        sized = resized(replace(layer, storage=replace(layer.storage, padded=page)), block)
        groups = [*groups, alike((name,), sized)]
    return groups


def _enlarged(group: LayerGroup, factor: int) -> LayerGroup:
    """Multiply a block so that a page holds at least one token of the hidden states; a state's page stays as it is."""
    return replace(group, members=(_scaled(group.layer, factor),))


def _scaled(layer: Layer, factor: int) -> Layer:
    padded = layer.storage.padded
    storage = replace(layer.storage, padded=None if padded is None else padded * factor)
    return resized(replace(layer, storage=storage), layer.cache.block_size * factor)


def _token_bytes(layer: Layer) -> int:
    """Count the bytes of one token of a hidden-state layer, as if in a page of one token without padding."""
    return known_page(replace(layer, cache=HiddenState(1), storage=replace(layer.storage, padded=None)))


def _largest_divisor(value: int, limit: int) -> int:
    return next((n for n in range(min(value, limit), 0, -1) if value % n == 0), 1)
