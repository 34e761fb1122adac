"""What was found out about a fork, and what was assumed, before anything was concluded."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from ..spec.attention import FullAttention, SlidingWindow
from ..spec.deployment import Deployment, Group
from .boot import boot, planning, smallest_pool
from .config import vllm_config
from .inspection import accepts, parameters
from .loader import SHIMS, Core

Gate: TypeAlias = Literal["none", "can_fit_full_sequence", "full_sequence_must_fit"]

_PROBE = Deployment(
    groups=(Group(FullAttention(16)), Group(SlidingWindow(16, 32))), max_model_len=512, max_num_batched_tokens=64
)


@dataclass(frozen=True)
class Findings:
    """Describe a loaded fork.

    Args:
        gate: Where a waiting request is asked to fit whole: nowhere, in a method of its own, or in `allocate_slots`.
        cap: The method that caps a group's blocks at admission, with its parameters; None where there is none.
        boot: The functions of the start-up path that were found, as `module:name`.
        probe: The deployment kind of the next three values, in words.
        requirement: What boot says one longest request needs, in blocks per group.
        smallest_pool: The smallest pool that boot accepts with one batch in flight.
        smallest_pool_async: The same with two batches in flight.
        max_concurrent_batches: What the fork's configuration says with two batches in flight; None: it has no such
            property, and boot does not read it.
        max_in_flight_tokens: Likewise, the tokens of all batches in flight.
        assumed: What poolproof decided where an engine asks its environment.
        shims: The names that poolproof answers instead of the fork or of a package, and why.
        stubs_touched: The stand-ins used at run time, with how often.
        modules: The fork's modules that were read, and whether they ran `eager` or `lazy`.
    """

    gate: Gate
    cap: str | None
    boot: tuple[str, ...]
    probe: str
    requirement: tuple[int, ...]
    smallest_pool: int
    smallest_pool_async: int
    max_concurrent_batches: int | None
    max_in_flight_tokens: int | None
    assumed: Mapping[str, str]
    shims: Mapping[str, str]
    stubs_touched: Mapping[str, int]
    modules: Mapping[str, str]

    @property
    def null_block_reserved(self) -> bool:
        """Tell whether boot keeps a block beyond what one longest request needs."""
        return self.smallest_pool > sum(self.requirement)


def find(core: Core, runner: int) -> Findings:
    """Inspect and probe a loaded fork; `runner` is the generation of its model runner that was chosen."""
    twice = replace(_PROBE, max_concurrent_batches=2)
    config = vllm_config(core, twice)
    return Findings(
        gate=gate(core),
        cap=cap(core),
        boot=boot_path(core),
        probe="full + sliding window, block 16, window 32, budget 64, length 512",
        requirement=boot(core, replace(_PROBE, blocks=512)).requirement,
        smallest_pool=smallest_pool(core, _PROBE),
        smallest_pool_async=smallest_pool(core, twice),
        max_concurrent_batches=getattr(config, "max_concurrent_batches", None),
        max_in_flight_tokens=getattr(config, "max_in_flight_tokens", None),
        assumed=assumed(core, runner),
        shims={s.where: s.why for s in SHIMS},
        stubs_touched=dict(core.stubs_touched),
        modules=dict(core.modules_run),
    )


def gate(core: Core) -> Gate:
    """Find the full-sequence gate."""
    manager = core.module("v1.core.kv_cache_manager").KVCacheManager
    if accepts(manager.allocate_slots, "full_sequence_must_fit"):
        return "full_sequence_must_fit"
    return "can_fit_full_sequence" if hasattr(manager, "can_fit_full_sequence") else "none"


def cap(core: Core) -> str | None:
    """Find the method of a cache spec that caps the blocks of a request, and what it is told."""
    spec = core.module("v1.kv_cache_interface").SlidingWindowSpec
    for name, method in inspect.getmembers(spec, inspect.isfunction):
        if "max_admission_blocks" in name:
            return f"{name}({', '.join(p for p in parameters(method) if p != 'self')})"
    return None


def boot_path(core: Core) -> tuple[str, ...]:
    """Name the start-up functions in the modules where this fork keeps them."""
    names = ("get_global_kv_cache_groups", "get_kv_cache_configs", "get_kv_cache_groups")
    checks = ("_check_enough_kv_cache_memory", "check_enough_kv_cache_memory")
    found = [planning(core, name) for name in (*names, *checks)]
    return tuple(f"{_relative(core, f)}:{f.__name__}" for f in found if f is not None)


def assumed(core: Core, runner: int) -> Mapping[str, str]:
    """List what an engine would ask its environment, and what was answered."""
    answers = chosen(runner)
    layouts = core.find("v1.kv_cache_layout:KVCacheLayout")
    if layouts is not None:
        answers["KV cache layout"] = next(iter(layouts)).name
    return answers


def chosen(runner: int = 1) -> dict[str, str]:
    """List what is answered alike for every fork."""
    return {
        "model": "decoder-only text model, no other modality",
        "model runner": f"generation {runner}",
        "scheduling": "1 batch in flight: Scheduler; 2: AsyncScheduler; more: Scheduler with as many pipeline stages",
        "lookahead": "a drafter of the eagle kind; multi-module MTP where a window retains extra tokens",
    }


def _relative(core: Core, function: Any) -> str:
    return str(function.__module__).removeprefix(f"{core.package}.")
