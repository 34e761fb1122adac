"""Layers become groups: each group has one block table, and all groups draw from one pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .attention import HiddenState, SlidingWindowMLA
from .bucketing import interleaved, with_hidden
from .design import Design
from .errors import Reason, RefusedError, UnsupportedError
from .layers import Layer, Storage, expressible
from .layouts import Layout
from .merging import merged, one_type
from .packing import packed, tupled
from .paging import all_full, one_page, page_sizes
from .planning import Planning, Tuples
from .promoting import promoted
from .shared import LayerGroup, alike, mixed
from .states import MambaNone


@dataclass(frozen=True, slots=True)
class Model:
    """Name the layers of a model and how its memory is managed.

    Args:
        layers: Each layer by its name, in the order in which the engine lists them.
        hybrid: Layers of several kinds may have groups of their own.
        layout: The order of the dimensions of the cache, where a release has a choice.
    """

    layers: Mapping[str, Layer]
    hybrid: bool = True
    layout: Layout = Layout.LBHNC


def grouped(model: Model, design: Design) -> list[LayerGroup]:
    """Group the layers of a model as a design does.

    Source: vLLM `get_kv_cache_groups`.

    Raises:
        RefusedError: The engine does not start with these layers.
        UnsupportedError: The release cannot describe a layer, or lays this model out in a way that is not modelled.
    """
    planning = design.planning
    layers = {name: expressible(layer, planning) for name, layer in model.layers.items()}
    if not model.hybrid:
        layers = promoted(layers, planning)
    if not layers:
        return []
    if (one := merged(list(layers.values()), planning)) is not None:
        return [alike(tuple(layers), one)]
    if one_type(list(layers.values()), planning):
        return [mixed(layers)]
    _refuse_layout_by_name(layers, planning)
    return _several(layers, model.layout, planning)


def _several(layers: dict[str, Layer], layout: Layout, planning: Planning) -> list[LayerGroup]:
    """Group layers of several types."""
    if (tuples := _tuples(layers, planning)) is not None:
        return tuples
    hidden = {name: layer for name, layer in layers.items() if isinstance(layer.cache, HiddenState)}
    others = {name: layer for name, layer in layers.items() if name not in hidden}
    if not others:
        raise RefusedError(Reason.HIDDEN_ALONE, ", ".join(hidden))
    if planning.packs and layout.block_outermost and len(page_sizes(others)) > 1:
        return [*packed(others, planning), *(alike((name,), layer) for name, layer in hidden.items())]
    if not planning.unifies_pages and len(page_sizes(others)) > 1:
        raise RefusedError(Reason.PAGES, f"pages of {sorted(page_sizes(others))} bytes")
    try:
        others = one_page(others, planning)
    except RefusedError as refusal:
        return all_full(layers, planning, refusal)
    return with_hidden(interleaved(others, planning), hidden, planning)


def _tuples(layers: dict[str, Layer], planning: Planning) -> list[LayerGroup] | None:
    """Group latent layers in tuples, where a design does so and a latent layer has a window."""
    latent = any(isinstance(layer.cache, SlidingWindowMLA) for layer in layers.values())
    if not latent or planning.tuples is Tuples.NONE:
        return None
    if planning.tuples is Tuples.UNEQUAL and len(page_sizes(layers)) <= 1:
        return None
    return tupled(layers, planning)


def _refuse_layout_by_name(layers: dict[str, Layer], planning: Planning) -> None:
    """Stop at the one layout that is made for a named model family (vLLM 0.30.0, `_get_kv_cache_groups_glm5_next`)."""
    states = any(isinstance(layer.cache, MambaNone) for layer in layers.values())
    compressed = any(
        isinstance(layer.storage, Storage) and layer.storage.tokens_per_state != 1 for layer in layers.values()
    )
    if planning.packs_by_name and states and compressed:
        raise UnsupportedError("compressed latent layers beside recurrent states in this release")
