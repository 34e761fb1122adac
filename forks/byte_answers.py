"""Start a fork with layers and bytes, in the process where it is loaded, and describe what came of it."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import replace
from traceback import walk_tb
from types import SimpleNamespace
from typing import Any

from ..spec.deployment import Group
from ..spec.design import named
from ..spec.errors import PoolproofError, Reason, UnsupportedError
from ..spec.fitting import Start
from ..spec.layers import Layer
from ..spec.states import CrossAttention
from .boot import planning
from .byte_cases import drawn
from .config import set_known, vllm_config
from .inspection import accepts, call, has_field
from .layer_specs import make_spec
from .loader import Core

REASONS: Mapping[tuple[str, str], Reason] = {
    ("ValueError", "_auto_fit_max_model_len"): Reason.NO_LENGTH,
    ("NotImplementedError", "unify_kv_cache_spec_page_size"): Reason.PAGES,
    ("AssertionError", "unify_kv_cache_spec_page_size"): Reason.PAGES,
    ("AssertionError", "get_uniform_page_size"): Reason.PAGES,
    ("NotImplementedError", "get_kv_cache_groups"): Reason.PAGES,
    ("AssertionError", "page_size_bytes"): Reason.PADDING,
    ("ValueError", "merge_window_sizes"): Reason.WINDOWS,
    ("ValueError", "unify_hybrid_kv_cache_specs"): Reason.PROMOTION,
    ("AssertionError", "unify_hybrid_kv_cache_specs"): Reason.PROMOTION,
    ("ValueError", "_promote_local_kv_cache_specs"): Reason.PROMOTION,
    ("TypeError", "replace_as"): Reason.PROMOTION_CRASH,
    ("AssertionError", "max_memory_usage_bytes"): Reason.SHARDED_WINDOW,
    ("AssertionError", "group_and_unify_kv_cache_specs"): Reason.TUPLES,
    ("AssertionError", "_get_kv_cache_groups_uniform_groups"): Reason.TUPLES,
    ("ValueError", "_get_kv_cache_groups_uniform_page_size"): Reason.HIDDEN_ALONE,
    ("AssertionError", "merge"): Reason.MERGE,
    ("ValueError", "validate_kv_cache_layout"): Reason.LAYOUT,
    ("AssertionError", "compute_layout_strides"): Reason.LAYOUT,
    ("AssertionError", "get_kv_cache_config_from_groups"): Reason.EMPTY_STAGE,
    ("AssertionError", "_get_kv_cache_bytes_per_block"): Reason.EMPTY_STAGE,
    ("ZeroDivisionError", "get_kv_cache_configs"): Reason.EMPTY_STAGE,
    ("ZeroDivisionError", "_get_kv_cache_config_packed"): Reason.EMPTY_STAGE,
    ("ZeroDivisionError", "get_kv_cache_config_from_groups"): Reason.EMPTY_STAGE,
    ("AssertionError", "_get_packed_kv_cache_layout"): Reason.EMPTY_STAGE,
    ("ValueError", "_get_kv_cache_config_deepseek_v4"): Reason.EMPTY_STAGE,
    ("ZeroDivisionError", "cdiv"): Reason.EMPTY_STAGE,
    ("AssertionError", "get_kv_cache_configs"): Reason.PARTITION,
    ("AssertionError", "_check_exact_partition"): Reason.PARTITION,
    ("StopIteration", "is_uniform_type"): Reason.PARTITION,
}
"""What a fork's refusal means, by the error and the function that raised it."""

_LOGGED = re.compile(r"KV cache size: ([\d,]+) tokens")
_CHECKS = {"No available memory": Reason.NO_MEMORY, "To serve at least one request": Reason.TOO_SMALL}


def answer_drawn(core: Core, design: str, seed: int, case: int) -> dict[str, Any]:
    """Start the fork on a case that is drawn for a design; the caller draws the same one."""
    return answer(core, drawn(named(design), seed, case))


def answer(core: Core, asked: Start) -> dict[str, Any]:
    """Start the fork once, and say what came of it in the terms of `boot_bytes.expected`.

    Raises:
        UnsupportedError: The fork cannot describe a layer, or refuses in a way that is not known.
    """
    config, specs = _config(core, asked), {name: make_spec(core, x) for name, x in asked.model.layers.items()}
    workers = [{name: copy.copy(specs[name]) for name in worker.layers} for worker in asked.workers]
    try:
        planned = _planned(core, config, workers, [worker.available for worker in asked.workers])
    except PoolproofError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the fork raises is its refusal, and an unknown one is an error
        return {"refused": reason_of(error).name}
    return _described(core, config, planned)


def _config(core: Core, asked: Start) -> Any:
    """Build the fork's configuration, with what the deployment does not say."""
    groups = tuple(Group(layer.cache) for layer in asked.model.layers.values())
    config = vllm_config(core, replace(asked.deployment, groups=groups))
    if asked.auto_fit:
        config.model_config.original_max_model_len = -1
    config.model_config.hf_config = SimpleNamespace(model_type="")
    object.__setattr__(config.device_config, "device_type", "cuda")
    set_known(config.scheduler_config, "disable_hybrid_kv_cache_manager", not asked.model.hybrid)
    cache = config.cache_config
    set_known(cache, "num_gpu_blocks_override", asked.override)
    if has_field(type(cache), "kv_cache_layout"):
        set_known(cache, "kv_cache_layout", asked.model.layout.value)
    _set_modes(config, list(asked.model.layers.values()))
    return config


def _set_modes(config: Any, layers: list[Layer]) -> None:
    for layer in layers:
        kind = layer.cache.kind
        if kind.startswith("mamba_") and has_field(type(config.cache_config), "mamba_cache_mode"):
            set_known(config.cache_config, "mamba_cache_mode", kind.removeprefix("mamba_"))
        if isinstance(layer.cache, CrossAttention):
            set_known(config.scheduler_config, "max_num_encoder_input_tokens", layer.cache.encoder_tokens)


def _planned(core: Core, config: Any, workers: list[dict[str, Any]], available: list[int]) -> list[Any]:
    offered: dict[str, Any] = {"vllm_config": config, "kv_cache_specs": workers, "available_memory": available}
    get_configs = planning(core, "get_kv_cache_configs")
    if accepts(get_configs, "global_kv_cache_groups"):
        offered["global_kv_cache_groups"] = call(planning(core, "get_global_kv_cache_groups"), offered)
    planned: list[Any] = call(get_configs, offered)
    return planned


def _described(core: Core, config: Any, planned: list[Any]) -> dict[str, Any]:
    if not planned[0].kv_cache_groups:
        return {"groups": (), "blocks": planned[0].num_blocks}
    concurrency = planning(core, "get_max_concurrency_for_kv_cache_config")
    return {
        "groups": tuple(tuple(_fork_group(group) for group in plan.kv_cache_groups) for plan in planned),
        "blocks": planned[0].num_blocks,
        "max_model_len": config.model_config.max_model_len,
        "concurrency": concurrency(config, planned[0]),
        "tokens": _tokens(core, config, planned),
    }


def _fork_group(group: Any) -> tuple[Any, ...]:
    spec = group.kv_cache_spec
    name = type(spec).__name__
    kind = "mixed" if name == "UniformTypeKVCacheSpecs" else name
    return (tuple(group.layer_names), kind, spec.block_size, spec.page_size_bytes)


def _tokens(core: Core, config: Any, planned: list[Any]) -> int:
    """Ask the fork for the tokens that the first worker reports, or read them from its boot log.

    Raises:
        UnsupportedError: It does neither.
    """
    capacity = planning(core, "get_kv_cache_capacity")
    if capacity is not None:
        return int(capacity(config, planned[0])[0])
    logged = [found[1] for m in core.logger.messages if (found := _LOGGED.search(m))]
    if len(logged) < len(planned):
        raise UnsupportedError("the fork reports no number of tokens")
    return int(logged[-len(planned)].replace(",", ""))


def reason_of(error: Exception) -> Reason:
    """Tell what a refusal means.

    Raises:
        UnsupportedError: Nobody has said what this error from this function means.
    """
    for words, reason in _CHECKS.items():
        if isinstance(error, ValueError) and str(error).startswith(words):
            return reason
    function = [frame.f_code.co_name for frame, _ in walk_tb(error.__traceback__)][-1]
    known = REASONS.get((type(error).__name__, function))
    if known is None:
        raise UnsupportedError(f"{type(error).__name__} in {function}: {error}") from error
    return known
