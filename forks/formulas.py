"""A loaded fork's own formulas as callables over the records of `spec`; every number may be symbolic.

The code that drives a fork on numbers (`config`, `groups`, `boot`, `scheduler`) is the code that runs here: a symbolic
integer passes through it as a number does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from ..oracle.engine import Submission
from ..spec.attention import Attention
from ..spec.deployment import Deployment, Group
from ..spec.errors import UnsupportedError
from .boot import boot
from .config import vllm_config
from .findings import gate
from .groups import layer_spec, layer_specs
from .inspection import call, parameters
from .loader import Core
from .requests import IN_FLIGHT, counted_request, make_request
from .scheduler import make_scheduler

_SMALL = {"block_size": 16, "window": 32, "chunk": 32}
_ENOUGH = 64


class Admitted(BaseException):
    """Leave the scheduler when it takes the first block for a request; the fork's `except Exception` lets it pass."""


class Formulas:
    """Answer from one loaded fork: cap, skipped tokens, startup check and gate."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._managers: dict[str, Any] = {}

    def cap(self, deployment: Deployment) -> Any:
        """Return the most blocks that one request is charged in the only group; boot's bound where there is no cap.

        Raises:
            UnsupportedError: The method requires an argument that poolproof does not know.
        """
        (group,) = deployment.groups
        spec = layer_spec(self._core, group.cache)
        method = cap_method(spec)
        if method is None:
            return self._boot_bound(spec, deployment)
        lengths = {
            "max_num_batched_tokens": deployment.max_num_batched_tokens,
            "max_in_flight_tokens": deployment.max_in_flight_tokens,
            "max_model_len": deployment.max_model_len,
        }
        config = {"vllm_config": self._config(deployment)} if "vllm_config" in parameters(method) else {}
        return call(method, {**lengths, **config})

    def reserves(self, deployment: Deployment) -> Any:
        """Return the blocks that boot reserves for one request of the only group."""
        (spec,) = layer_specs(self._core, deployment).values()
        return self._boot_bound(spec, deployment)

    def skipped(self, cache: Attention, computed: Any) -> Any:
        """Return the leading tokens that the fork's manager of a cache gives up.

        Raises:
            UnsupportedError: The manager has no method that says so.
        """
        manager = self._manager(cache)
        method = getattr(manager, "get_num_skipped_tokens", None)
        if method is None:
            raise UnsupportedError(f"{type(manager).__name__} has no get_num_skipped_tokens")
        return call(method, {"num_computed_tokens": computed, "num_tokens": computed})

    def boots(self, deployment: Deployment) -> bool:
        """Tell whether the fork's own start-up accepts `deployment.blocks` blocks."""
        return boot(self._core, deployment).accepted

    def admits(self, deployment: Deployment, tokens: Any) -> bool:
        """Tell whether the fork's real scheduler takes blocks for a request of so many tokens, all blocks being free.

        Raises:
            UnsupportedError: The fork has no gate, so that its scheduler admits by the first step alone.
        """
        if gate(self._core) == "none":
            raise UnsupportedError("the fork has no full-sequence gate")
        scheduler, _ = make_scheduler(self._core, deployment, priority=False, gate=True)
        scheduler.add_request(self._request(tokens))
        scheduler.kv_cache_manager.block_pool.get_new_blocks = _admitted
        try:
            scheduler.schedule()
        except Admitted:
            return True
        return False

    def budget_counts(self) -> str:
        """Tell what the budget in the cap counts: one batch, or all batches in flight."""
        method = cap_method(layer_spec(self._core, _small("sliding_window")))
        named = "max_in_flight_tokens" if method is None else next(iter(parameters(method)))
        config = self._core.module("config").VllmConfig
        return "any" if named == "max_in_flight_tokens" and hasattr(config, named) else "1"

    def counts_in_flight(self) -> bool:
        """Tell whether a request of the fork counts its tokens in flight, so that blocks may wait for them."""
        return hasattr(self._request(1), IN_FLIGHT)

    def assumed(self) -> tuple[str, ...]:
        """List the optional parameters of the fork's own formulas that were left at their defaults."""
        method = cap_method(layer_spec(self._core, _small("sliding_window")))
        if method is None:
            return ("the fork has no admission cap: boot's bound stands for it",)
        ours = {"max_num_batched_tokens", "max_in_flight_tokens", "max_model_len", "vllm_config"}
        return tuple(f"{method.__qualname__}: {p} is left at its default" for p in parameters(method) if p not in ours)

    # -- parts of the fork ---------------------------------------------------------------------------------------

    def _boot_bound(self, spec: Any, deployment: Deployment) -> Any:
        """Return the blocks that boot reserves, from the bytes that it computes with pages of one byte."""
        one_byte = type(spec.__class__.__name__, (type(spec),), {"page_size_bytes": property(lambda _: 1)})
        object.__setattr__(spec, "__class__", one_byte)
        return call(spec.max_memory_usage_bytes, {"vllm_config": self._config(deployment)})

    def _config(self, deployment: Deployment) -> Any:
        """Build the fork's configuration; no formula reads its block size, which may be symbolic in the spec only."""
        groups = tuple(Group(replace(group.cache, block_size=16)) for group in deployment.groups)
        return vllm_config(self._core, replace(deployment, groups=groups))

    def _manager(self, cache: Attention) -> Any:
        """Make a manager for a cache, of the class and in the pool that the fork's own wiring chooses for its kind."""
        if cache.kind not in self._managers:
            deployment = Deployment((Group(_small(cache.kind)),), 64, 32, blocks=_ENOUGH)
            scheduler, _ = make_scheduler(self._core, deployment, priority=False, gate=True)
            self._managers[cache.kind] = scheduler.kv_cache_manager.coordinator.single_type_managers[0]
        wired = self._managers[cache.kind]
        return call(type(wired), {**_construction(wired, cache), "kv_cache_spec": layer_spec(self._core, cache)})

    def _request(self, tokens: Any) -> Any:
        """Make the fork's own request, of which only the number of tokens is symbolic."""
        if type(tokens) is int:
            return make_request(self._core, Submission("request", tokens), 0, None)
        return counted_request(self._core, "request", lambda: tokens)


def cap_method(spec: Any) -> Callable[..., Any] | None:
    """Find the method of a spec that caps the blocks of a request at admission."""
    names = sorted(
        name for name, _ in inspect.getmembers(type(spec), inspect.isfunction) if "max_admission_blocks" in name
    )
    return getattr(spec, names[0]) if names else None


def _small(kind: str) -> Attention:
    """Make a cache of a kind with known sizes."""
    from ..spec.attention import ChunkedLocal, FullAttention, SlidingWindow

    kinds = {c.kind: c for c in (FullAttention, SlidingWindow, ChunkedLocal)}
    cls = kinds[kind]
    return cls(**{name: size for name, size in _SMALL.items() if name in cls.__dataclass_fields__})


def _construction(manager: Any, cache: Attention) -> dict[str, Any]:
    """Offer a manager's constructor what the fork's own wiring passed, and the block size of the cache."""
    return {
        "block_pool": manager.block_pool,
        "enable_caching": False,
        "kv_cache_group_id": 0,
        "scheduler_block_size": cache.block_size,
    }


def _admitted(*_: Any, **__: Any) -> NoReturn:
    raise Admitted
