"""The options that describe a deployment, spelled like vLLM's, for every verb that takes one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from ..spec import Deployment


def _option(help_text: str, *names: str, metavar: str | None = None) -> Any:
    panel = "Deployment (these replace what the file says)"
    return typer.Option(*names, help=help_text, rich_help_panel=panel, metavar=metavar)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentOptions:
    """Hold what a command line says of a deployment; each field is an argument or an option of the same name."""

    deployment: Annotated[
        Path | None, typer.Argument(help="A deployment file (.yaml, .toml, .json); flags alone will do.")
    ] = None
    group: Annotated[
        list[str] | None,
        _option(
            "A cache group (repeatable; replaces the file's groups): KIND[:BLOCK_SIZE][:KEY=VALUE,...]. Kinds and "
            "keys: full; mla; sliding_window (window, extra_retained); chunked_local (chunk); mamba_none, mamba_align "
            "and mamba_all (speculative, the states beside the running one, if not as many as the drafts); any of "
            "them takes count, the number of groups that are alike. For example full:16, or "
            "sliding_window:16:window=1024,count=5.",
            metavar="GROUP",
        ),
    ] = None
    block_size: Annotated[int | None, _option("Tokens per block, of every group; no --group may say otherwise.")] = None
    max_model_len: Annotated[int | None, _option("The longest sequence, prompt and output, in tokens.")] = None
    max_num_batched_tokens: Annotated[int | None, _option("The tokens of one step, over all requests.")] = None
    max_num_seqs: Annotated[int | None, _option("The requests of one step.")] = None
    num_gpu_blocks_override: Annotated[
        int | None, _option("Blocks of the pool, null block included.", "--num-gpu-blocks-override", "--blocks")
    ] = None
    async_scheduling: Annotated[bool | None, _option("Two batches in flight, or one.")] = None
    max_concurrent_batches: Annotated[int | None, _option("Batches in flight, as a number.")] = None
    enable_chunked_prefill: Annotated[bool | None, _option("A prompt may be split over steps.")] = None
    enable_prefix_caching: Annotated[
        bool | None, _option("Equal prefixes share their full blocks; check judges it as off.")
    ] = None
    num_speculative_tokens: Annotated[int | None, _option("Slots that a step takes beyond its tokens.")] = None
    decode_context_parallel_size: Annotated[int | None, _option("Ranks over which a sequence is sharded.")] = None
    watermark: Annotated[int | None, _option("Blocks that an admission leaves free while others run.")] = None

    def described(self) -> Deployment:
        """Read the file, put what the options say in its place, and check the whole.

        Raises:
            UsageError: The file cannot be read, or something in it or in an option is not legal.
        """
        from .deployment_file import deployment_of

        flags = {
            "max_model_len": self.max_model_len,
            "max_num_batched_tokens": self.max_num_batched_tokens,
            "max_num_seqs": self.max_num_seqs,
            "num_gpu_blocks_override": self.num_gpu_blocks_override,
            "async_scheduling": self.async_scheduling,
            "max_concurrent_batches": self.max_concurrent_batches,
            "chunked_prefill": self.enable_chunked_prefill,
            "prefix_caching": self.enable_prefix_caching,
            "num_speculative_tokens": self.num_speculative_tokens,
            "decode_context_parallel_size": self.decode_context_parallel_size,
            "watermark": self.watermark,
        }
        return deployment_of(self.deployment, flags, self.group or [], self.block_size)


def describing_a_deployment(verb: Callable[..., int]) -> Callable[..., int]:
    """Let a verb take the options that describe a deployment, around its own; they are its first argument, as one."""
    named = [field.name for field in fields(DeploymentOptions)]

    @wraps(verb)
    def run(**given: Any) -> int:
        return verb(DeploymentOptions(**{name: given.pop(name) for name in named}), **given)

    # The reader of command lines looks at both; the wrapped signature names neither.
    run.__signature__ = _joined(verb)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in _joined(verb).parameters.values()}
    return run


def _joined(verb: Callable[..., int]) -> Signature:
    """Put the deployment's file first, then the verb's own options, then those that describe a deployment."""
    hints = get_type_hints(DeploymentOptions, include_extras=True)
    file, *flags = (
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
        for field in fields(DeploymentOptions)
    )
    _, *own = inspect.signature(verb, eval_str=True).parameters.values()
    return Signature([each.replace(kind=Parameter.KEYWORD_ONLY) for each in (file, *own, *flags)])
