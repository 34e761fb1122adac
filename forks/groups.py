"""Make a fork's own cache specs and groups for the caches of a deployment."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

from ..spec.attention import Attention
from ..spec.deployment import Deployment
from ..spec.errors import UnsupportedError
from ..spec.layers import Layer, StateStorage
from .config import is_recurrent, known, token_block_sizes
from .inspection import call, has_field
from .layer_specs import make_spec
from .loader import Core

_CLASSES = {
    "full": "FullAttentionSpec",
    "mla": "MLAAttentionSpec",
    "sliding_window": "SlidingWindowSpec",
    "chunked_local": "ChunkedLocalAttentionSpec",
}
_SIZES = {"window": "sliding_window", "chunk": "attention_chunk_size", "extra_retained": "extra_retained_tokens"}


def layer_specs(core: Core, deployment: Deployment) -> dict[str, Any]:
    """Make one layer per group, all pages of one size, no two layers alike.

    Alike layers would be merged into one group by the fork; layers that differ in the split of the page into heads
    and head size stay apart, and their formulas do not.
    """
    caches = list(deployment.caches())
    sizes = token_block_sizes(deployment)
    page = (sizes[0] if len(sizes) == 1 else math.lcm(*sizes)) * 64 * 2 ** len(caches)
    return {f"layer.{i}": _spec(core, cache, page, i) for i, cache in enumerate(caches)}


def kv_cache_config(core: Core, deployment: Deployment) -> Any:
    """Hand-build the scheduler's cache configuration: exactly the groups asked for, and so many blocks."""
    interface = core.module("v1.kv_cache_interface")
    group_class = interface.KVCacheGroupSpec
    offered = {"num_blocks": known(deployment.blocks, "blocks"), "kv_cache_tensors": []}
    specs = layer_specs(core, deployment)
    groups = [call(group_class, {"layer_names": [n], "kv_cache_spec": s}) for n, s in specs.items()]
    return call(interface.KVCacheConfig, {**offered, "kv_cache_groups": groups})


def same_groups(groups: list[Any], specs: dict[str, Any]) -> bool:
    """Tell whether a fork's grouping is the one asked for: each layer alone, with its own sizes, in order."""
    found = [(list(g.layer_names), _relevant(g.kv_cache_spec)) for g in groups]
    return found == [([name], _relevant(spec)) for name, spec in specs.items()]


def layer_spec(core: Core, cache: Attention, heads: int = 1, head_size: int = 1) -> Any:
    """Make the fork's spec of one layer.

    Raises:
        UnsupportedError: The fork has no such kind of cache.
    """
    name = _CLASSES.get(cache.kind)
    if name is None:
        raise UnsupportedError(f"poolproof does not build {cache.kind} caches in an implementation yet")
    cls = getattr(core.module("v1.kv_cache_interface"), name, None)
    if cls is None:
        raise UnsupportedError(f"the fork has no {name}")
    return call(cls, _fields(core, cls, cache, heads=heads, head_size=head_size))


def _spec(core: Core, cache: Attention, page: int, index: int) -> Any:
    """Make one layer's spec whose page has exactly `page` bytes."""
    if is_recurrent(cache):
        # A state of one element, its page padded: what a state holds changes no block count.
        return make_spec(core, Layer(cache, StateStorage(((1, "bfloat16"),), padded=page)))
    unit = layer_spec(core, cache).page_size_bytes
    heads = 2**index if cache.kind != "mla" else 1
    return layer_spec(core, cache, heads, page // unit // heads)


def _fields(core: Core, cls: type, cache: Attention, heads: int, head_size: int) -> dict[str, Any]:
    torch_dtype = core.torch_dtype("bfloat16")
    offered: dict[str, Any] = {"num_kv_heads": heads, "head_size": head_size, "dtype": torch_dtype, "use_mla": False}
    for name in (f.name for f in fields(cache)):
        value, theirs = known(getattr(cache, name), name), _SIZES.get(name, name)
        if name == "extra_retained" and not value:
            continue
        if is_dataclass(cls) and not has_field(cls, theirs):
            raise UnsupportedError(f"{cls.__name__} has no {theirs}")
        offered[theirs] = value
    return offered


def _relevant(spec: Any) -> tuple[str, int, dict[str, Any]]:
    sizes = {name: getattr(spec, name) for name in _SIZES.values() if getattr(spec, name, None) is not None}
    return type(spec).__name__, spec.block_size, sizes
