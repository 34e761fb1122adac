"""The options that describe a deployment, spelled like vLLM's, for every verb that takes one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer


def _option(help_text: str, *names: str, metavar: str | None = None) -> Any:
    panel = "Deployment (these replace what the file says)"
    return typer.Option(*names, help=help_text, rich_help_panel=panel, metavar=metavar)


DeploymentFile: TypeAlias = Annotated[
    Path | None, typer.Argument(help="A deployment file (.yaml, .toml, .json); flags alone will do.")
]
Groups: TypeAlias = Annotated[
    list[str] | None,
    _option(
        "A cache group (repeatable; replaces the file's groups): KIND[:BLOCK_SIZE][:KEY=VALUE,...]. Kinds and keys: "
        "full; mla; sliding_window (window, extra_retained); chunked_local (chunk); mamba_none, mamba_align and "
        "mamba_all (speculative, the states beside the running one); any of them takes count, the "
        "number of groups that are alike. For example full:16, or sliding_window:16:window=1024,count=5.",
        "--group",
        metavar="GROUP",
    ),
]
BlockSize: TypeAlias = Annotated[int | None, _option("Tokens per block, of every group; no --group may say otherwise.")]
MaxModelLen: TypeAlias = Annotated[int | None, _option("The longest sequence, prompt and output, in tokens.")]
MaxNumBatchedTokens: TypeAlias = Annotated[int | None, _option("The tokens of one step, over all requests.")]
MaxNumSeqs: TypeAlias = Annotated[int | None, _option("The requests of one step.")]
Blocks: TypeAlias = Annotated[
    int | None, _option("Blocks of the pool, null block included.", "--num-gpu-blocks-override", "--blocks")
]
AsyncScheduling: TypeAlias = Annotated[bool | None, _option("Two batches in flight, or one.")]
MaxConcurrentBatches: TypeAlias = Annotated[int | None, _option("Batches in flight, as a number.")]
EnableChunkedPrefill: TypeAlias = Annotated[bool | None, _option("A prompt may be split over steps.")]
EnablePrefixCaching: TypeAlias = Annotated[
    bool | None, _option("Equal prefixes share their full blocks; check judges it as off.")
]
NumSpeculativeTokens: TypeAlias = Annotated[int | None, _option("Slots that a step takes beyond its tokens.")]
DecodeContextParallelSize: TypeAlias = Annotated[int | None, _option("Ranks over which a sequence is sharded.")]
Watermark: TypeAlias = Annotated[int | None, _option("Blocks that an admission leaves free while others run.")]
