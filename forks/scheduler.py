"""Construct a fork's real scheduler for a deployment."""

# ruff: noqa: ARG002 - a stand-in takes what the real one takes

from __future__ import annotations

import hashlib
import pickle
from typing import Any

from ..spec.deployment import Deployment
from ..spec.errors import UnsupportedError
from .config import is_async, is_recurrent, known, set_known, vllm_config
from .groups import kv_cache_config
from .inspection import call, has_field
from .loader import Core


class NoStructuredOutput:
    """A manager of structured output for requests that have none; anything else asked of it is an error."""

    def should_advance(self, request: Any, **details: Any) -> bool:
        """Answer no."""
        return False

    def accept_tokens(self, request: Any, tokens: list[int], **details: Any) -> bool:
        """Accept any token."""
        return True

    def validate_tokens(self, request: Any, tokens: list[int]) -> list[int]:
        """Find every draft valid."""
        return tokens


def make_scheduler(core: Core, deployment: Deployment, *, priority: bool, gate: bool) -> tuple[Any, Any]:
    """Make the scheduler, and the function that hashes a request's blocks (None without prefix caching)."""
    config = vllm_config(core, deployment, priority=priority)
    _set_gate(config, gate)
    cache = kv_cache_config(core, deployment)
    _set_block_size(config, deployment)
    scheduler_block, hash_block = _block_sizes(core, cache, config)
    offered = {
        "vllm_config": config,
        "kv_cache_config": cache,
        "structured_output_manager": NoStructuredOutput(),
        "block_size": scheduler_block,
        "hash_block_size": hash_block,
        "log_stats": False,
    }
    scheduler = _construct(scheduler_class(core, deployment), offered)
    return scheduler, _hasher(core, config, hash_block) if deployment.prefix_caching else None


def _construct(cls: Any, offered: dict[str, Any]) -> Any:
    """Construct the scheduler; what its constructor refuses is a deployment that this release does not serve."""
    try:
        return call(cls, offered)
    except (AssertionError, ValueError, NotImplementedError) as refusal:
        raise UnsupportedError(f"the fork refuses this deployment: {refusal}") from refusal


def scheduler_class(core: Core, deployment: Deployment) -> Any:
    """Choose the asynchronous scheduler for exactly two batches in flight, as the engine does."""
    if is_async(deployment):
        return core.module("v1.core.sched.async_scheduler").AsyncScheduler
    return core.module("v1.core.sched.scheduler").Scheduler


def _set_gate(config: Any, gate: bool) -> None:
    """Turn the full-sequence gate off; it is on by default in every release that has one."""
    scheduler = config.scheduler_config
    if gate:
        return
    if not has_field(type(scheduler), "scheduler_reserve_full_isl"):
        raise UnsupportedError("the fork has no full-sequence gate to turn off")
    set_known(scheduler, "scheduler_reserve_full_isl", False)


def _set_block_size(config: Any, deployment: Deployment) -> None:
    """Set the configured block size to the smallest of any group, which cuts the chunks of recurrent layers.

    Source: vLLM `EngineCore._initialize_kv_caches`, between boot and the scheduler's construction (0.19.1 and later).
    """
    caches = list(deployment.caches())
    if any(is_recurrent(cache) for cache in caches):
        set_known(config.cache_config, "block_size", min(known(cache.block_size, "block_size") for cache in caches))


def _block_sizes(core: Core, cache: Any, config: Any) -> tuple[int, int]:
    """Resolve the scheduler's and the hash block size by the fork's own rule.

    Releases without such a rule use the configured block size for both, per rank (0.19.1, `EngineCore.__init__`).
    """
    resolve = core.find("v1.core.kv_cache_utils:resolve_kv_cache_block_sizes")
    if resolve is not None:
        scheduler_block, hash_block = call(resolve, {"kv_cache_config": cache, "vllm_config": config})
        return scheduler_block, hash_block
    ranks = config.parallel_config.decode_context_parallel_size
    size = known(config.cache_config.block_size, "block_size") * ranks
    return size, size


def _hasher(core: Core, config: Any, hash_block: int) -> Any:
    utils = core.module("v1.core.kv_cache_utils")
    call(utils.init_none_hash, {"hash_fn": _digest})
    offered = {
        "block_size": hash_block,
        "hash_block_size": hash_block,
        "caching_hash_fn": _digest,
        "hash_fn": _digest,
        "num_hash_lookahead_tokens": getattr(config, "num_hash_lookahead_tokens", 0),
        "num_lookahead_tokens": getattr(config, "num_hash_lookahead_tokens", 0),
    }
    return call(utils.get_request_block_hasher, offered)


def _digest(value: object) -> bytes:
    """Hash a block's content as the fork's default does: SHA-256 over a pickle."""
    return hashlib.sha256(pickle.dumps(value, protocol=5)).digest()
