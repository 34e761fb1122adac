"""Prepare a loaded fork for symbolic integers: what is replaced in it, and why nothing depends on that.

On plain integers every replacement does what it replaces, so that counterexamples are replayed in the same process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from ..proofs.proxy import InterpretedInt, SymbolicInt
from .boot import PLANNING
from .loader import Core

_KNOWN_SIZES = (64, 256)
_SEARCHES = ("estimate_max_model_len", "_estimate_max_model_len_from_groups")

ASSUMED = (
    "int(x) in the KV core leaves a symbolic x as it is",
    "the result of a true division is printed, never decided upon",
    "the search for the greatest length that fits, made for a refusal's message, may return any number",
    "log messages are not formatted",
    "the text of a number is printed, never compared",
    "a pool of unknown size keeps back as many blocks as two pools of known sizes do",
)
"""What holds of every symbolic execution of a fork."""


@contextmanager
def interpreted(core: Core) -> Iterator[None]:
    """Make the fork's modules accept symbolic integers for a while."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(core.logger, "_keep", _unheard))
        for name, how in core.modules_run.items():
            if how == "eager":
                stack.enter_context(patch.object(core.module(name), "int", InterpretedInt, create=True))
        pool = core.find("v1.core.block_pool:BlockPool")
        if pool is not None:
            stack.enter_context(patch.object(pool, "__init__", _of_any_size(pool.__init__)))
        for module, search in _searches(core):
            stack.enter_context(patch.object(module, search.__name__, _unknown_on_symbols(search)))
        yield


def _unheard(level: str, arguments: tuple[Any, ...]) -> None:
    """Drop a message: `%d` would ask a symbolic integer for its value."""


def _searches(core: Core) -> Iterator[tuple[Any, Callable[..., Any]]]:
    for module in (core.module(name) for name in PLANNING if core.has_module(name)):
        for name in _SEARCHES:
            search = vars(module).get(name)
            # A module may import what another one defines; each is replaced where it is looked up.
            if search is not None:
                yield module, search


def _unknown_on_symbols(search: Callable[..., Any]) -> Callable[..., Any]:
    """Follow a search on plain numbers only: on a symbolic one it would branch for ever."""

    def replaced(*arguments: Any, **named: Any) -> Any:
        symbol = next((a for a in (*arguments, *named.values()) if type(a) is SymbolicInt), None)
        return search(*arguments, **named) if symbol is None else symbol.run.unknown(search.__name__)

    replaced.__name__ = search.__name__
    return replaced


def _of_any_size(construct: Callable[..., None]) -> Callable[..., None]:
    """Construct a pool of symbolic size with a known number of blocks, which it lists, and give it the size then.

    What it keeps back must not depend on its size: the known sizes are compared.
    """

    def replaced(pool: Any, num_gpu_blocks: Any, *arguments: Any, **named: Any) -> None:
        if type(num_gpu_blocks) is not SymbolicInt:
            return construct(pool, num_gpu_blocks, *arguments, **named)
        kept = set()
        for size in _KNOWN_SIZES:
            construct(pool, size, *arguments, **named)
            kept.add(size - pool.get_num_free_blocks())
        if len(kept) > 1:
            num_gpu_blocks.run.refuse("the size of the pool, of which it keeps a share back,")
        pool.num_gpu_blocks = num_gpu_blocks
        pool.free_block_queue.num_free_blocks = num_gpu_blocks - kept.pop()
        if type(pool.get_num_free_blocks()) is not SymbolicInt:
            num_gpu_blocks.run.refuse("the size of the pool, whose free blocks are counted elsewhere,")
        return None

    return replaced
