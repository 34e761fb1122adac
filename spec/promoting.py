"""Hybrid-off: layers with a window or a chunk become full attention, so that one group holds all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .arithmetic import Term, fdiv
from .attention import ChunkedLocal, FullAttention, MLAAttention, SlidingWindow, SlidingWindowMLA
from .errors import Reason, RefusedError
from .layers import Layer, Storage, is_latent, settled, unpadded_bytes
from .merging import merged, one_type
from .planning import Planning


def promoted(layers: Mapping[str, Layer], planning: Planning) -> dict[str, Layer]:
    """Turn windowed and chunked layers into full ones where there is a full one; the engine computes as before.

    Source: vLLM `unify_hybrid_kv_cache_specs`; from 0.28.0 `_promote_local_kv_cache_specs`.

    Raises:
        RefusedError: The layers are still not of one type, or the release crashes on one.
    """
    if not layers or _uniform(layers, planning):
        return dict(layers)
    full = [layer for layer in layers.values() if isinstance(layer.cache, FullAttention)]
    _refuse_latent_alone(layers, full, planning)
    result = {name: _full(layer, full, planning) if full else layer for name, layer in layers.items()}
    if not _uniform(result, planning):
        raise RefusedError(Reason.PROMOTION, f"{_kinds(result)} remain")
    return result


def _uniform(layers: Mapping[str, Layer], planning: Planning) -> bool:
    listed = list(layers.values())
    return merged(listed, planning) is not None or one_type(listed, planning)


def _refuse_latent_alone(layers: Mapping[str, Layer], full: list[Layer], planning: Planning) -> None:
    """Refuse windowed latent layers without a full one, as the releases do whose promotion asks for it."""
    latent = any(isinstance(layer.cache, SlidingWindowMLA) for layer in layers.values())
    if latent and not full and not planning.promoted_takes_block:
        raise RefusedError(Reason.PROMOTION, "windowed latent layers without a full one")


def _full(layer: Layer, full: list[Layer], planning: Planning) -> Layer:
    """Turn one layer into full attention that remembers what it computes."""
    cache = layer.cache
    if not isinstance(cache, SlidingWindow | ChunkedLocal):
        return layer
    if cache.kind not in planning.promotes:
        raise RefusedError(Reason.PROMOTION_CRASH, f"a {cache.kind} layer has a field that full attention lacks")
    if planning.promoted_takes_block:
        return _resized_full(layer, full)
    return _plain_full(layer, full, planning)


def _resized_full(layer: Layer, full: list[Layer]) -> Layer:
    """Keep all sizes, take the full layers' block size where they have one, and grow a padding to what is held."""
    sizes = {other.cache.block_size for other in full}
    block_size = next(iter(sizes)) if len(sizes) == 1 else layer.cache.block_size
    storage = replace(layer.storage, padded=_grown(layer, block_size))
    return _as_full(replace(layer, storage=storage), block_size)


def _grown(layer: Layer, block_size: Term) -> Term | None:
    if layer.storage.padded is None:
        return None
    held = fdiv(unpadded_bytes(layer) * block_size, layer.cache.block_size)
    return max(layer.storage.padded, held)


def _plain_full(layer: Layer, full: list[Layer], planning: Planning) -> Layer:
    """Rebuild the layer as the earlier releases do, which forget some of its sizes."""
    if is_latent(layer):
        latent = _as_full(_stripped(layer, ("values", "scales")), full[0].cache.block_size)
        return replace(latent, computed_window=None)
    chunked = isinstance(layer.cache, ChunkedLocal)
    kept = () if chunked and "chunked" not in planning.promoted_keeps else planning.promoted_keeps
    return _as_full(_stripped(layer, kept), layer.cache.block_size)


def _stripped(layer: Layer, kept: tuple[str, ...]) -> Layer:
    storage = layer.storage
    if not isinstance(storage, Storage):
        return layer
    return replace(
        layer,
        storage=replace(
            storage,
            value_size=storage.value_size if "values" in kept else storage.head_size,
            scale_bytes=storage.scale_bytes if "scales" in kept else 0,
            strided=storage.strided and "stride" in kept,
        ),
    )


def _as_full(layer: Layer, block_size: Term) -> Layer:
    cache = layer.cache
    latent = isinstance(cache, SlidingWindowMLA)
    target = MLAAttention(block_size) if latent else FullAttention(block_size)
    return settled(
        replace(
            layer,
            cache=target,
            computed_window=cache.window if isinstance(cache, SlidingWindow) else None,
            computed_chunk=cache.chunk if isinstance(cache, ChunkedLocal) else None,
        )
    )


def _kinds(layers: Mapping[str, Layer]) -> str:
    return ", ".join(sorted({layer.cache.kind for layer in layers.values()}))
