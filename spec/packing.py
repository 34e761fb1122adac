"""Layers whose pages stay unequal: tuples of latent layers, and buckets packed into blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .arithmetic import cdiv
from .attention import MLAAttention, SlidingWindow, SlidingWindowMLA
from .errors import Reason, RefusedError
from .layers import Layer, known_page
from .merging import one_type
from .planning import Planning, Tuples
from .shared import LayerGroup, mixed
from .states import CircularBuffer, MambaNone


def tupled(layers: Mapping[str, Layer], planning: Planning) -> list[LayerGroup]:
    """Form one group of the full latent layers, and groups of tuples of the windowed ones; others are left out.

    Source: vLLM `group_and_unify_kv_cache_specs` and `_get_kv_cache_groups_uniform_groups` (0.20.2 to 0.28.0).

    Raises:
        RefusedError: There is no full latent layer, or sizes do not form tuples.
    """
    full = {name: layer for name, layer in layers.items() if isinstance(layer.cache, MLAAttention)}
    if not full or not one_type(list(full.values()), planning):
        raise RefusedError(Reason.TUPLES, f"{len(full)} full latent layers of one block size are needed")
    windows = _by_window(layers)
    repeats = [Bucket(bucket).repeats for bucket in (full, *windows)]
    size = near_divisor(repeats, repeats[0])
    if planning.tuples is Tuples.PADDED:
        windows = [_padded(bucket, full) for bucket in windows]
    return [mixed(full), *(group for bucket in windows for group in _tuple_groups(Bucket(bucket), size))]


def packed(layers: Mapping[str, Layer], planning: Planning) -> list[LayerGroup]:
    """Form groups of one type each, and split buckets of states so that no group is much wider than the others.

    Source: vLLM `_get_packed_kv_cache_groups` (0.30.0 and later).

    Raises:
        RefusedError: A bucket is split into more groups than it has repeats, which leaves one empty.
    """
    buckets = [Bucket(bucket) for bucket in _by_type(layers, planning)]
    size = _repeats_per_group(buckets)
    anchor = max((bucket.widest(_narrowest(bucket, size)) for bucket in buckets), default=0)
    return [group for bucket in buckets for group in _split(bucket, _groups_wanted(bucket, size, anchor))]


def near_divisor(values: Sequence[int], least: int) -> int:
    """Find the number from `least` up that divides all values with the least padding, the larger one on a tie.

    Source: vLLM `_approximate_gcd`.
    """
    if least > max(values):
        return least
    return min(range(least, max(values) + 1), key=lambda d: (sum(-value % d for value in values), -d))


@dataclass(frozen=True)
class Bucket:
    """Hold layers of one type, by name.

    Args:
        layers: The layers, in order.
    """

    layers: Mapping[str, Layer]

    @property
    def first(self) -> Layer:
        """Return the first layer, whose kind is that of all."""
        return next(iter(self.layers.values()))

    @property
    def by_page(self) -> dict[int, list[str]]:
        """List the names of each page size, sizes in order of appearance."""
        found: dict[int, list[str]] = {}
        for name, layer in self.layers.items():
            found.setdefault(known_page(layer), []).append(name)
        return found

    @property
    def repeats(self) -> int:
        """Count the layers of the most frequent page size."""
        return max(map(len, self.by_page.values()))

    @property
    def balanced(self) -> bool:
        """Tell whether every page size is equally frequent."""
        return len(set(map(len, self.by_page.values()))) == 1

    def widest(self, groups: int) -> int:
        """Count the bytes of the widest of so many groups."""
        return sum(cdiv(len(names), groups) * page for page, names in self.by_page.items())

    def part(self, tuples: Sequence[tuple[str, ...]]) -> dict[str, Layer]:
        """Take the layers of some tuples, tuple by tuple."""
        return {name: self.layers[name] for names in tuples for name in names}

    def tuples(self) -> list[tuple[str, ...]]:
        """Form tuples of one layer per page size, as many as the rarest size allows."""
        return list(zip(*self.by_page.values(), strict=False))


def _by_window(layers: Mapping[str, Layer]) -> list[dict[str, Layer]]:
    found: dict[tuple[object, object], dict[str, Layer]] = {}
    for name, layer in layers.items():
        if isinstance(layer.cache, SlidingWindowMLA):
            found.setdefault((layer.cache.block_size, layer.cache.window), {})[name] = layer
    return list(found.values())


def _padded(bucket: Mapping[str, Layer], full: Mapping[str, Layer]) -> dict[str, Layer]:
    """Pad windowed pages, each to the next page size of the full layers."""
    targets = sorted({known_page(layer) for layer in full.values()})
    if max(known_page(layer) for layer in bucket.values()) > targets[-1]:
        raise RefusedError(Reason.TUPLES, f"a windowed page is larger than {targets[-1]} bytes")
    return {name: _next_larger(layer, targets) for name, layer in bucket.items()}


def _next_larger(layer: Layer, targets: Sequence[int]) -> Layer:
    page = known_page(layer)
    target = next(size for size in targets if size >= page)
    return layer if target == page else replace(layer, storage=replace(layer.storage, padded=target))


def _tuple_groups(bucket: Bucket, size: int) -> list[LayerGroup]:
    if not bucket.balanced:
        counts = {page: len(names) for page, names in bucket.by_page.items()}
        raise RefusedError(Reason.TUPLES, f"windowed layers per page size: {counts}")
    return _split(bucket, cdiv(bucket.repeats, size), always=True)


def _split(bucket: Bucket, count: int, *, always: bool = False) -> list[LayerGroup]:
    """Split a bucket into groups of every n-th tuple."""
    if count == 1 and not always:
        return [mixed(bucket.layers)]
    tuples = bucket.tuples()
    if count > len(tuples):
        raise RefusedError(Reason.PARTITION, f"{len(tuples)} tuples are split into {count} groups")
    return [mixed(bucket.part(tuples[i::count])) for i in range(count)]


def _by_type(layers: Mapping[str, Layer], planning: Planning) -> list[dict[str, Layer]]:
    buckets: list[dict[str, Layer]] = []
    for name, layer in layers.items():
        home = next((b for b in buckets if one_type([*b.values(), layer], planning)), None)
        if home is None:
            buckets.append({name: layer})
        else:
            home[name] = layer
    return buckets


def _repeats_per_group(buckets: Sequence[Bucket]) -> int | None:
    """Choose how many tuples a group has, where a bucket has several page sizes in equal numbers; else None."""
    balanced = [bucket for bucket in buckets if bucket.balanced]
    least = max((bucket.repeats for bucket in balanced if len(bucket.by_page) > 1), default=0)
    return near_divisor([bucket.repeats for bucket in balanced], least) if least else None


def _groups_for(bucket: Bucket, size: int | None) -> int:
    return cdiv(bucket.repeats, size) if bucket.balanced and size is not None else 1


def _is_state(bucket: Bucket, size: int | None) -> bool:
    cache = bucket.first.cache
    return isinstance(cache, MambaNone | CircularBuffer) or (size is None and isinstance(cache, SlidingWindow))


def _narrowest(bucket: Bucket, size: int | None) -> int:
    """Count the groups at which a bucket is narrowest: states can be split to the last layer."""
    return len(bucket.layers) if _is_state(bucket, size) else _groups_for(bucket, size)


def _groups_wanted(bucket: Bucket, size: int | None, anchor: int) -> int:
    count = _groups_for(bucket, size)
    if not _is_state(bucket, size):
        return count
    per_block = max(anchor // known_page(bucket.first), 1)
    return max(count, cdiv(len(bucket.layers), per_block))
