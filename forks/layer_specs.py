"""Make a fork's own cache spec for a layer, every size of it; what the fork has no field for is never dropped."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..spec.errors import UnsupportedError
from ..spec.layers import Layer, StateStorage, Storage, content_bytes
from .config import known
from .inspection import accepts, call
from .loader import Core

CLASSES = {
    "full": "FullAttentionSpec",
    "mla": "MLAAttentionSpec",
    "hidden": "HiddenStateCacheSpec",
    "sink": "SinkFullAttentionSpec",
    "request_window": "RSWASpec",
    "sliding_window": "SlidingWindowSpec",
    "sliding_window_mla": "SlidingWindowMLASpec",
    "chunked_local": "ChunkedLocalAttentionSpec",
    "cross": "CrossAttentionSpec",
    "circular": "CircularBufferSpec",
    "mamba_none": "MambaSpec",
    "mamba_align": "MambaSpec",
    "mamba_all": "MambaSpec",
}
"""The fork's class for each kind of cache."""

_CACHE_FIELDS = {
    "chunk": "attention_chunk_size",
    "sink": "sink_len",
    "speculative": "num_speculative_blocks",
    "checkpoint": "num_prefill_checkpoint_blocks",
}
_ELSEWHERE = ("encoder_tokens", "extra_retained")
_PACKED_LATENT = "fp8_ds_mla"
_COMPRESSED_TOKEN = 584


def make_spec(core: Core, layer: Layer) -> Any:
    """Make the fork's spec of one layer.

    Raises:
        UnsupportedError: The fork has no such class, or no field for one of the layer's sizes.
    """
    name = CLASSES[layer.cache.kind]
    cls = getattr(core.module("v1.kv_cache_interface"), name, None)
    if cls is None:
        raise UnsupportedError(f"the fork has no {name}")
    offered = {"block_size": known(layer.cache.block_size, "block_size"), **_cache(layer)}
    storage = layer.storage
    offered |= _states(core, layer, storage) if isinstance(storage, StateStorage) else _tokens(core, cls, storage)
    lacking = [field for field in offered if not accepts(cls, field)]
    if lacking:
        raise UnsupportedError(f"{name} has no {', '.join(lacking)}")
    return call(cls, offered)


def _cache(layer: Layer) -> dict[str, Any]:
    """Spell the cache's own sizes as the fork does; a size that the configuration carries is left to it."""
    cache = layer.cache
    window = "rswa_window" if cache.kind == "request_window" else "sliding_window"
    names = {**_CACHE_FIELDS, "window": window}
    given = {
        names[field.name]: value
        for field in fields(cache)
        if field.name != "block_size" and field.name not in _ELSEWHERE and (value := getattr(cache, field.name))
    }
    computed = {"sliding_window": layer.computed_window, "attention_chunk_size": layer.computed_chunk}
    return given | {field: value for field, value in computed.items() if value is not None}


def _states(core: Core, layer: Layer, storage: StateStorage) -> dict[str, Any]:
    mode = layer.cache.kind.removeprefix("mamba_")
    given: dict[str, Any] = {
        "shapes": tuple((elements,) for elements, _ in storage.states),
        "dtypes": tuple(core.torch_dtype(dtype) for _, dtype in storage.states),
    }
    optional = {"page_size_padded": storage.padded, "mamba_cache_mode": None if mode == "none" else mode}
    return given | {field: value for field, value in optional.items() if value is not None}


def _tokens(core: Core, cls: type, storage: Storage) -> dict[str, Any]:
    given = {
        "num_kv_heads": storage.heads,
        "head_size": storage.head_size,
        "dtype": core.torch_dtype(storage.dtype),
    }
    optional: dict[str, Any] = {"page_size_padded": storage.padded, "alignment": storage.alignment}
    if storage.value_size not in (0, storage.head_size):
        optional["head_size_v"] = storage.value_size
    if storage.strided:
        optional["indexes_kv_by_block_stride"] = True
    if storage.tokens_per_state != 1:
        field = "tokens_per_state" if accepts(cls, "tokens_per_state") else "compress_ratio"
        optional[field] = storage.tokens_per_state
    optional |= _formats(core, cls, storage)
    return given | {field: value for field, value in optional.items() if value is not None}


def _formats(core: Core, cls: type, storage: Storage) -> dict[str, Any]:
    """Spell scales and packed formats: as bytes per token where the fork takes those, else by their names."""
    explicit = accepts(cls, "state_content_bytes")
    given: dict[str, Any] = {}
    if storage.token_bytes is not None:
        given["cache_dtype_str"] = _PACKED_LATENT
        if storage.token_bytes == _COMPRESSED_TOKEN:
            given["model_version"] = "deepseek_v4"
    if explicit and (storage.token_bytes is not None or storage.scale_bytes):
        given["state_content_bytes"] = content_bytes(storage)
    elif storage.scale_bytes:
        given["kv_quant_mode"] = core.module("v1.kv_cache_interface").KVQuantMode.INT8_PER_TOKEN_HEAD
    return given
