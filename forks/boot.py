"""Ask a fork's own start-up code whether it accepts a pool, and how small a pool it accepts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..spec.deployment import Deployment
from ..spec.errors import UnsupportedError
from .config import known, vllm_config
from .groups import layer_specs, same_groups
from .inspection import accepts, call
from .loader import Core

PLANNING = ("v1.core.kv_cache_planning", "v1.core.kv_cache_utils")


@dataclass(frozen=True)
class Boot:
    """Tell how start-up answered.

    Args:
        accepted: The pool passed the fork's startup check.
        blocks: The blocks of the pool that was asked for, null block included.
        requirement: What the fork says one request of the longest length needs, in blocks per group.
        message: The fork's own words when it refused.
    """

    accepted: bool
    blocks: int
    requirement: tuple[int, ...]
    message: str = ""


def planning(core: Core, name: str) -> Any:
    """Find a boot function in whichever module this fork keeps it."""
    return core.find(*(f"{module}:{name}" for module in PLANNING))


def boot(core: Core, deployment: Deployment) -> Boot:
    """Boot with memory for exactly `deployment.blocks` blocks; every call starts from a fresh configuration.

    Raises:
        UnsupportedError: The fork lays the groups out otherwise, so that its answer would be about another deployment.
    """
    blocks = known(deployment.blocks, "blocks")
    config, specs = vllm_config(core, deployment), layer_specs(core, deployment)
    requirement = tuple(-(-s.max_memory_usage_bytes(config) // s.page_size_bytes) for s in specs.values())
    memory = blocks * next(iter(specs.values())).page_size_bytes
    try:
        planned = _kv_cache_configs(core, config, specs, memory)
    except ValueError as refusal:
        return Boot(False, blocks, requirement, str(refusal))
    _check_plan(planned, specs, blocks)
    return Boot(True, blocks, requirement)


def smallest_pool(core: Core, deployment: Deployment) -> int:
    """Find by bisection the smallest number of blocks that start-up accepts; it accepts every larger one.

    Raises:
        UnsupportedError: It refuses even twice what it says one longest request needs, so that blocks are not why.
    """
    low, high = 0, _plenty(core, deployment)
    while high - low > 1:
        middle = (low + high) // 2
        if boot(core, replace(deployment, blocks=middle)).accepted:
            high = middle
        else:
            low = middle
    return high


def _plenty(core: Core, deployment: Deployment) -> int:
    """Return a number of blocks that start-up accepts."""
    needed = sum(boot(core, replace(deployment, blocks=1)).requirement)
    ample = boot(core, replace(deployment, blocks=2 * needed + 2))
    if not ample.accepted:
        raise UnsupportedError(f"the fork refuses this deployment at any size: {ample.message}")
    return ample.blocks


def _kv_cache_configs(core: Core, config: Any, specs: dict[str, Any], memory: int) -> list[Any]:
    get_configs = planning(core, "get_kv_cache_configs")
    if get_configs is None:
        raise UnsupportedError("the fork has no get_kv_cache_configs")
    _resolve_layout(core, config)
    offered: dict[str, Any] = {
        "vllm_config": config,
        "kv_cache_specs": [dict(specs)],
        "available_memory": [memory],
    }
    if accepts(get_configs, "global_kv_cache_groups"):
        grouping = planning(core, "get_global_kv_cache_groups")
        offered["global_kv_cache_groups"] = call(grouping, offered)
    configs: list[Any] = call(get_configs, offered)
    return configs


def _resolve_layout(core: Core, config: Any) -> None:
    """Choose the fork's default memory layout where it has several; the engine asks its devices for it."""
    layouts = core.find("v1.kv_cache_layout:KVCacheLayout")
    if layouts is not None and hasattr(config.cache_config, "kv_cache_layout"):
        config.cache_config.kv_cache_layout = next(iter(layouts)).name


def _check_plan(planned: list[Any], specs: dict[str, Any], blocks: int) -> None:
    found = planned[0]
    if not same_groups(found.kv_cache_groups, specs):
        got = ", ".join(f"{'+'.join(g.layer_names)}: {type(g.kv_cache_spec).__name__}" for g in found.kv_cache_groups)
        raise UnsupportedError(f"the fork groups the layers of this deployment otherwise ({got})")
    if found.num_blocks != blocks:
        raise UnsupportedError(f"the fork makes {found.num_blocks} blocks of memory for {blocks}")
