"""One layer of a model: what kind of cache it has, what a page of it holds, and how many bytes that is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .arithmetic import Term, cdiv, fdiv, total
from .attention import Attention, MLAAttention, SlidingWindowMLA
from .errors import Reason, RefusedError, UnsupportedError
from .planning import Planning

DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "uint8": 1, "int8": 1}
"""The element types of caches, in bytes."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Describe what an attention layer stores for each token.

    Args:
        heads: The key-value heads of this worker.
        head_size: The elements of a key, or of a latent vector.
        value_size: The elements of a value; none in a latent vector.
        dtype: The element type, a key of DTYPE_BYTES.
        scale_bytes: The bytes of scales per token and head.
        token_bytes: The bytes per token and head where a packed format fixes them, else None.
        tokens_per_state: The tokens that share one latent vector.
        alignment: The multiple of bytes to which a page is padded, else None.
        padded: The bytes to which a page is padded, else None.
        strided: The backend reads blocks by a stride.
    """

    heads: Term
    head_size: Term
    value_size: Term
    dtype: str
    scale_bytes: Term = 0
    token_bytes: Term | None = None
    tokens_per_state: Term = 1
    alignment: int | None = None
    padded: Term | None = None
    strided: bool = False


@dataclass(frozen=True, slots=True)
class StateStorage:
    """Describe the states that a recurrent layer stores for each block.

    Args:
        states: The elements and the element type of each state.
        padded: The bytes to which a page is padded, else None.
    """

    states: tuple[tuple[Term, str], ...]
    padded: Term | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """Describe one layer of a model.

    Args:
        cache: The kind of cache, and its sizes in tokens.
        storage: What a page holds.
        computed_window: The window within which a full layer computes, else None.
        computed_chunk: The chunk within which a full layer computes, else None.
    """

    cache: Attention
    storage: Storage | StateStorage
    computed_window: Term | None = None
    computed_chunk: Term | None = None


def content_bytes(storage: Storage) -> Term:
    """Count the bytes of one token in one head.

    Source: vLLM `AttentionSpec.real_page_size_bytes`; from 0.28.0 `state_content_size_bytes`.
    """
    if storage.token_bytes is not None:
        return storage.token_bytes
    return (storage.head_size + storage.value_size) * DTYPE_BYTES[storage.dtype] + storage.scale_bytes


def unpadded_bytes(layer: Layer) -> Term:
    """Count the bytes that a page of a layer holds, padding left out.

    Source: vLLM `<Spec>.real_page_size_bytes`, `MambaSpec.page_size_bytes`.
    """
    storage = layer.storage
    if isinstance(storage, StateStorage):
        return total(elements * DTYPE_BYTES[dtype] for elements, dtype in storage.states)
    return storage.heads * fdiv(layer.cache.block_size, storage.tokens_per_state) * content_bytes(storage)


def page_bytes(layer: Layer) -> Term:
    """Count the bytes of one page of a layer.

    Source: vLLM `<Spec>.page_size_bytes`.

    Raises:
        RefusedError: The page was padded to less than it holds.
    """
    held, padded = unpadded_bytes(layer), layer.storage.padded
    if padded is None:
        return held
    if isinstance(held, int) and isinstance(padded, int) and padded < held:
        raise RefusedError(Reason.PADDING, f"a page of {held} bytes is padded to {padded}")
    return padded


def known_page(layer: Layer) -> int:
    """Count the bytes of a page whose sizes are known numbers.

    Raises:
        TypeError: A size is symbolic; groups can be formed of known pages only.
    """
    page = page_bytes(layer)
    if not isinstance(page, int):
        raise TypeError("layers are grouped by pages of known size only")
    return page


def known_block(layer: Layer) -> int:
    """Return the tokens of a block, which must be a known number.

    Raises:
        TypeError: It is symbolic.
    """
    size = layer.cache.block_size
    if not isinstance(size, int):
        raise TypeError("layers are grouped by blocks of known size only")
    return size


def settled(layer: Layer) -> Layer:
    """Pad the page of a layer that asks for alignment, as every change of it does again.

    Source: vLLM `_apply_alignment_padding` (0.20.2 and later). An aligned page keeps whatever padding it had.
    """
    storage = layer.storage
    if isinstance(storage, StateStorage) or storage.alignment is None:
        return layer
    held = unpadded_bytes(layer)
    aligned = cdiv(held, storage.alignment) * storage.alignment
    return layer if aligned == held else replace(layer, storage=replace(storage, padded=aligned))


def resized(layer: Layer, block_size: Term) -> Layer:
    """Change the tokens of a block."""
    return settled(replace(layer, cache=replace(layer.cache, block_size=block_size)))


def padded_to(layer: Layer, page: Term) -> Layer:
    """Pad the page of a layer to so many bytes; an alignment of its own prevails."""
    return settled(replace(layer, storage=replace(layer.storage, padded=page)))


def is_latent(layer: Layer) -> bool:
    """Tell whether a layer stores latent vectors, without values."""
    return isinstance(layer.cache, MLAAttention | SlidingWindowMLA)


def expressible(layer: Layer, planning: Planning) -> Layer:
    """Return a layer unchanged if a release can describe it.

    Raises:
        UnsupportedError: The release has no such kind of cache, or no such field.
    """
    if layer.cache.kind not in planning.kinds:
        raise UnsupportedError(f"a layer of kind {layer.cache.kind} in this release")
    storage = layer.storage
    if isinstance(storage, Storage):
        for what, allowed in _fields_used(layer, storage, planning):
            if not allowed:
                raise UnsupportedError(f"{what} of a {layer.cache.kind} layer in this release")
    return layer


def _fields_used(layer: Layer, storage: Storage, planning: Planning) -> list[tuple[str, bool]]:
    """List what a layer makes use of, and whether a release knows it."""
    kind = layer.cache.kind
    plain = is_latent(layer) or storage.value_size == storage.head_size
    return [
        ("a value size", plain or kind in planning.value_sizes),
        ("scales", storage.scale_bytes == 0 or planning.scales),
        ("tokens per state", storage.tokens_per_state == 1 or planning.compressed),
        ("an alignment", storage.alignment is None or planning.compressed),
        ("a padded page", storage.padded is None or planning.padded),
        ("a block stride", not storage.strided or planning.strided),
    ]
