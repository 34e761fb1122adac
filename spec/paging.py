"""Layers of several types get pages of one size, so that they can share a pool."""

from __future__ import annotations

from collections.abc import Mapping

from .attention import ChunkedLocal, HiddenState, MLAAttention, SlidingWindow, SlidingWindowMLA
from .errors import Reason, RefusedError
from .layers import Layer, Storage, known_page, padded_to, resized
from .merging import one_type
from .planning import Planning, Widening
from .promoting import promoted
from .shared import LayerGroup, mixed
from .states import MambaNone


def page_sizes(layers: Mapping[str, Layer]) -> set[int]:
    """Collect the page sizes of layers, in bytes."""
    return {known_page(layer) for layer in layers.values()}


def one_page(layers: dict[str, Layer], planning: Planning) -> dict[str, Layer]:
    """Give every layer the largest page: more tokens per block where that divides, padding where it is allowed.

    Source: vLLM `unify_kv_cache_spec_page_size` (0.19.1 and later).
    """
    largest = max(page_sizes(layers))
    return {name: _widened(layer, largest, planning) for name, layer in layers.items()}


def _widened(layer: Layer, largest: int, planning: Planning) -> Layer:
    page = known_page(layer)
    if page == largest:
        return layer
    if isinstance(layer.cache, MambaNone) and planning.pads_states:
        wide = padded_to(layer, largest)
    elif largest % page == 0:
        wide = resized(layer, layer.cache.block_size * (largest // page))
    elif _may_pad(layer, planning):
        wide = padded_to(layer, largest)
    else:
        raise RefusedError(Reason.PAGES, f"a page of {page} bytes does not divide {largest}")
    if known_page(wide) != largest:
        raise CorneredError(f"a page of {page} bytes becomes {known_page(wide)}, not {largest}")
    return wide


class CorneredError(RefusedError):
    """Say that a page was changed and still is not as large as it should be, which no fallback mends."""

    def __init__(self, detail: str) -> None:
        super().__init__(Reason.PAGES, detail)


def _may_pad(layer: Layer, planning: Planning) -> bool:
    storage = layer.storage
    if not isinstance(storage, Storage) or planning.widening is Widening.REFUSED:
        return False
    if planning.widening is Widening.STRIDED:
        return storage.strided
    return not isinstance(layer.cache, MLAAttention)


def all_full(layers: dict[str, Layer], planning: Planning, refusal: RefusedError) -> list[LayerGroup]:
    """Turn windowed layers beside full latent ones into full ones, or repeat the refusal.

    Source: vLLM `_try_get_full_allocation_fallback_groups` (0.28.0 and later).
    """
    caches = [layer.cache for layer in layers.values()]
    latent = any(isinstance(cache, MLAAttention) for cache in caches)
    window = any(isinstance(cache, SlidingWindow) for cache in caches)
    other = any(isinstance(cache, HiddenState | SlidingWindowMLA | ChunkedLocal) for cache in caches)
    mended = refusal.reason is Reason.PAGES and not isinstance(refusal, CorneredError)
    if not (planning.full_fallback and mended and latent and window) or other:
        raise refusal
    return _fallback(layers, planning, refusal)


def _fallback(layers: dict[str, Layer], planning: Planning, refusal: RefusedError) -> list[LayerGroup]:
    try:
        full = promoted(layers, planning)
    except RefusedError as other:
        if other.reason is not Reason.PROMOTION and other.reason is not Reason.WINDOWS:
            raise
        raise refusal from other
    if not one_type(list(full.values()), planning):
        raise refusal
    return [mixed(full)]
