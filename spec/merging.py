"""Which layers are alike: those that merge into one, and those that are of one type though their pages differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .attention import Attention, ChunkedLocal, FullAttention, MLAAttention, RequestWindow, SlidingWindow
from .attention import SlidingWindowMLA as WindowMLA
from .errors import Reason, RefusedError
from .layers import Layer, Storage, page_bytes
from .planning import Planning
from .states import CircularBuffer, CrossAttention, MambaAlign, MambaNone


def merged(layers: Sequence[Layer], planning: Planning) -> Layer | None:
    """Merge layers into the one that stands for their group, or say None where they are not alike.

    Source: vLLM `<Spec>.merge`; the first layer's class decides which rule is used.

    Raises:
        RefusedError: Full layers compute within different windows, which the engine does not take for a difference.
    """
    first = layers[0].cache
    if isinstance(first, MLAAttention):
        return _merged_latent(layers, planning)
    if isinstance(first, WindowMLA):
        return _merged_windowed_latent(layers)
    if isinstance(first, RequestWindow) and any(layer.cache != first for layer in layers):
        return None
    if isinstance(first, FullAttention):
        return _merged_full(layers, planning)
    return layers[0] if all(layer == layers[0] for layer in layers) else None


def can_merge(layers: Sequence[Layer], planning: Planning) -> bool:
    """Tell whether layers may share a bucket; different windows are a difference here."""
    try:
        return merged(layers, planning) is not None
    except RefusedError as refusal:
        if refusal.reason is not Reason.WINDOWS:
            raise
        return False


def one_type(layers: Sequence[Layer], planning: Planning) -> bool:
    """Tell whether layers need equally many blocks, whatever their pages are.

    Source: vLLM `UniformTypeKVCacheSpecs.is_uniform_type`.
    """
    if len({layer.cache.block_size for layer in layers}) > 1:
        return False
    first = layers[0]
    return all(_same_type(first, layer, planning) for layer in layers)


def _merged_latent(layers: Sequence[Layer], planning: Planning) -> Layer | None:
    """Merge full latent layers, which before 0.28.0 need not have the same sizes."""
    first = layers[0]
    alike = all(
        isinstance(layer.cache, MLAAttention)
        and _format(layer) == _format(first)
        and (not planning.latent_sizes_compared or _sizes(layer, planning) == _sizes(first, planning))
        for layer in layers
    )
    return _without_alignment(replace(first, computed_window=None, computed_chunk=None)) if alike else None


def _merged_windowed_latent(layers: Sequence[Layer]) -> Layer | None:
    """Merge windowed latent layers, which no release asks to have the same sizes."""
    first = layers[0]
    alike = all(
        isinstance(layer.cache, WindowMLA)
        and (layer.cache.window, layer.cache.extra_retained) == (first.cache.window, first.cache.extra_retained)
        and _format(layer) == _format(first)
        for layer in layers
        if isinstance(first.cache, WindowMLA)
    )
    return _without_alignment(first) if alike else None


def _merged_full(layers: Sequence[Layer], planning: Planning) -> Layer | None:
    """Merge full layers that agree in their sizes and compute within at most one window or chunk."""
    if not all(isinstance(layer.cache, FullAttention) for layer in layers):
        return None
    if any(isinstance(layer.cache, MLAAttention) for layer in layers):
        return None
    window = _only(layers, lambda layer: layer.computed_window)
    chunk = _only(layers, lambda layer: layer.computed_chunk)
    if any(_sizes(layer, planning) != _sizes(layers[0], planning) for layer in layers):
        return None
    if window is not None and chunk is not None:
        return None
    return replace(layers[0], computed_window=window, computed_chunk=chunk)


def _only(layers: Sequence[Layer], of: Callable[[Layer], object]) -> int | None:
    found = {value for layer in layers if isinstance(value := of(layer), int)}
    if len(found) > 1:
        raise RefusedError(Reason.WINDOWS, f"windows or chunks {sorted(found)} in one group")
    return found.pop() if found else None


def _sizes(layer: Layer, planning: Planning) -> tuple[object, ...]:
    """List the sizes in which merged layers must agree (vLLM: the fields of `AttentionSpec`)."""
    storage = layer.storage
    if not isinstance(storage, Storage):
        return (layer.cache.block_size, storage)
    compared = replace(storage, alignment=None)
    if not planning.value_sizes_compared:
        compared = replace(compared, value_size=0)
    return (layer.cache.block_size, compared)


def _format(layer: Layer) -> tuple[object, ...]:
    storage = layer.storage
    if not isinstance(storage, Storage):
        return (storage,)
    return (storage.token_bytes, storage.tokens_per_state, storage.strided)


def _without_alignment(layer: Layer) -> Layer:
    """Drop the alignment, which a merged latent layer does not keep; the padding stays."""
    storage = layer.storage
    return replace(layer, storage=replace(storage, alignment=None)) if isinstance(storage, Storage) else layer


def _same_type(first: Layer, layer: Layer, planning: Planning) -> bool:
    mine, other = first.cache, layer.cache
    if isinstance(mine, SlidingWindow):
        return isinstance(other, type(mine)) and other.window == mine.window
    if isinstance(mine, ChunkedLocal):
        return isinstance(other, ChunkedLocal) and other.chunk == mine.chunk
    if isinstance(mine, MambaNone):
        return isinstance(other, MambaNone) and _same_states(first, layer, planning)
    return isinstance(other, _family(mine))


def _family(cache: Attention) -> type[Attention]:
    for family in (FullAttention, CrossAttention, CircularBuffer):
        if isinstance(cache, family):
            return family
    return type(cache)


def _same_states(first: Layer, layer: Layer, planning: Planning) -> bool:
    mine, other = first.cache, layer.cache
    if not (isinstance(mine, MambaNone) and isinstance(other, MambaNone)) or mine.speculative != other.speculative:
        return False
    if not planning.states_compared:
        return True
    return _checkpoint(mine) == _checkpoint(other) and page_bytes(first) == page_bytes(layer)


def _checkpoint(cache: MambaNone) -> object:
    return cache.checkpoint if isinstance(cache, MambaAlign) else 0
