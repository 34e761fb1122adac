"""Build a fork's own VllmConfig from a deployment: the fork's field defaults, the deployment's numbers.

`__init__` and `__post_init__` are bypassed (they look for models and devices), so every property such as
`max_in_flight_tokens` is computed by the fork. Only the model's own configuration is a stand-in.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

from ..spec.attention import Attention
from ..spec.deployment import Deployment
from ..spec.errors import UnsupportedError, UsageError
from .inspection import bare, has_field
from .loader import Core


class StandInAskedError(AttributeError):
    """Raised when a fork reads something of its model that poolproof does not make up."""


class StandInModel:
    """What the KV core reads of a text-only decoder model; reading anything else is an error."""

    is_encoder_decoder = False
    is_multimodal_model = False
    is_multimodal_raw_input_only_model = False
    is_attention_free = False
    is_hybrid = False
    is_moe = False
    is_diffusion = False
    uses_mrope = False
    use_mla = False
    supports_multimodal_inputs = False
    supports_kv_cache_grouping = False
    enable_return_routed_experts = False
    return_sampling_mask = False
    multimodal_config = None
    skip_tokenizer_init = True
    runner_type = "generate"
    max_logprobs = 0

    def __init__(self, max_model_len: int) -> None:
        self.max_model_len = max_model_len
        self.original_max_model_len = max_model_len

    def __getattr__(self, name: str) -> Any:
        raise StandInAskedError(f"poolproof's stand-in model says nothing about {name!r}")


def vllm_config(core: Core, deployment: Deployment, *, priority: bool = False) -> Any:
    """Build the configuration that a deployment describes.

    Raises:
        UnsupportedError: The fork has no field for something that the deployment sets.
    """
    config_class = core.module("config").VllmConfig
    config = bare(config_class, {"model_config": StandInModel(known(deployment.max_model_len, "max_model_len"))})
    if config.observability_config is None:
        config.observability_config = bare(core.module("config").ObservabilityConfig)
    _set_scheduler(config.scheduler_config, deployment, priority)
    _set_cache(config.cache_config, deployment)
    _set_parallel(config.parallel_config, deployment)
    if deployment.lookahead:
        config.speculative_config = _speculative(core, deployment)
    return config


def is_async(deployment: Deployment) -> bool:
    """Tell whether a deployment means asynchronous scheduling: exactly two batches in flight."""
    return deployment.max_concurrent_batches == 2


def known(value: Any, field: str) -> int:
    """Return a number of a deployment.

    Raises:
        UsageError: It was not given.
        UnsupportedError: It is symbolic, and an implementation runs on numbers.
    """
    if value is None:
        raise UsageError(field, "none", "an implementation is asked about a known number", "set it")
    if not isinstance(value, int):
        raise UnsupportedError(f"{field} is symbolic; an implementation runs on numbers")
    return value


def _set_scheduler(scheduler: Any, deployment: Deployment, priority: bool) -> None:
    set_known(scheduler, "max_num_batched_tokens", known(deployment.max_num_batched_tokens, "max_num_batched_tokens"))
    set_known(scheduler, "max_num_seqs", known(deployment.max_num_seqs, "max_num_seqs"))
    set_known(scheduler, "async_scheduling", is_async(deployment))
    set_known(scheduler, "policy", "priority" if priority else "fcfs")
    set_known(scheduler, "enable_chunked_prefill", deployment.chunked_prefill)
    for derived, value in _derived_by_post_init(deployment).items():
        if has_field(type(scheduler), derived):
            set_known(scheduler, derived, value)
    if deployment.watermark:
        if not has_field(type(scheduler), "watermark"):
            raise UnsupportedError("this release has no watermark")
        set_known(scheduler, "watermark", _fraction(deployment))


def _derived_by_post_init(deployment: Deployment) -> dict[str, Any]:
    """Give the values that some releases keep in fields which their `__post_init__` fills."""
    return {
        "max_model_len": deployment.max_model_len,
        "chunked_prefill_enabled": deployment.chunked_prefill,
        "max_num_encoder_input_tokens": deployment.max_num_batched_tokens,
        "encoder_cache_size": deployment.max_num_batched_tokens,
        "disable_hybrid_kv_cache_manager": False,
    }


def _fraction(deployment: Deployment) -> float:
    """Turn a watermark in blocks into the fraction of the pool that truncates to it."""
    if deployment.blocks is None:
        raise UnsupportedError("a watermark needs a known number of blocks")
    return (known(deployment.watermark, "watermark") + 0.5) / known(deployment.blocks, "blocks")


def is_recurrent(cache: Attention) -> bool:
    """Tell whether a cache keeps states instead of tokens."""
    return cache.kind.startswith("mamba_")


def token_block_sizes(deployment: Deployment) -> list[int]:
    """List the block sizes of the groups that keep tokens; a state's block size says when it is kept, not its size."""
    caches = list(deployment.caches())
    keeping_tokens = [cache for cache in caches if not is_recurrent(cache)] or caches
    return [known(cache.block_size, "block_size") for cache in keeping_tokens]


def _set_cache(cache: Any, deployment: Deployment) -> None:
    sizes = token_block_sizes(deployment)
    # A size alone may be symbolic: it is its own divisor, and C code would ask for its value.
    set_known(cache, "block_size", sizes[0] if len(sizes) == 1 else math.gcd(*sizes))
    _set_cache_mode(cache, deployment)
    set_known(cache, "enable_prefix_caching", deployment.prefix_caching)
    if deployment.blocks is not None:
        set_known(cache, "num_gpu_blocks", known(deployment.blocks, "blocks"))


def _set_cache_mode(cache: Any, deployment: Deployment) -> None:
    """Set how states are kept, which is one way for a whole model.

    Raises:
        UnsupportedError: Groups differ in it, or the release has no such mode.
    """
    modes = sorted({c.kind.removeprefix("mamba_") for c in deployment.caches() if is_recurrent(c)})
    if len(modes) > 1:
        raise UnsupportedError(f"recurrent layers of several cache modes in one model ({', '.join(modes)})")
    for mode in modes:
        if mode not in _cache_modes(type(cache)):
            raise UnsupportedError(f"this release has no Mamba cache mode {mode}")
        if mode != "none":
            set_known(cache, "mamba_cache_mode", mode)


def _cache_modes(cls: type) -> tuple[str, ...]:
    """List the modes that a release declares; one that declares none keeps one state per sequence."""
    declared = get_type_hints(cls).get("mamba_cache_mode") if has_field(cls, "mamba_cache_mode") else None
    return get_args(declared) or ("none",)


def _set_parallel(parallel: Any, deployment: Deployment) -> None:
    """Set the parallel sizes; more than two batches in flight mean that many pipeline stages."""
    for derived in ("data_parallel_index", "data_parallel_rank", "rank"):
        if has_field(type(parallel), derived):
            set_known(parallel, derived, 0)
    if deployment.context_parallel != 1:
        set_known(parallel, "decode_context_parallel_size", known(deployment.context_parallel, "context_parallel"))
    batches = known(deployment.max_concurrent_batches, "max_concurrent_batches")
    if batches > 2:
        set_known(parallel, "pipeline_parallel_size", batches)


def _speculative(core: Core, deployment: Deployment) -> Any:
    """Build an eagle drafter of `lookahead` tokens, or multi-module MTP where windows retain extra tokens for it."""
    lookahead = known(deployment.lookahead, "lookahead")
    if known(deployment.max_concurrent_batches, "max_concurrent_batches") > 2:
        raise UnsupportedError("drafting with pipeline stages, which engines refuse before they schedule")
    extra = max((known(getattr(c, "extra_retained", 0), "extra_retained") for c in deployment.caches()), default=0)
    if extra and extra != lookahead - 1:
        raise UnsupportedError(f"extra_retained = {extra} needs lookahead = {extra + 1} (multi-module drafting)")
    layers = SimpleNamespace(num_nextn_predict_layers=extra + 1, sample_from_anchor=True)
    given = {"num_speculative_tokens": lookahead, "method": "mtp" if extra else "eagle"}
    speculative = bare(core.module("config").SpeculativeConfig, given)
    set_known(speculative, "draft_model_config", SimpleNamespace(hf_config=layers))
    return speculative


def set_known(config: Any, name: str, value: Any) -> None:
    """Set a field that the configuration class declares.

    Raises:
        UnsupportedError: There is no such field: the setting would silently do nothing.
    """
    if not has_field(type(config), name):
        raise UnsupportedError(f"{type(config).__name__} has no field {name}")
    object.__setattr__(config, name, value)
