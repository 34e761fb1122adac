"""Cache groups given on the command line, and the command line that gives a deployment back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from ..spec import Deployment, Group, UsageError

GROUP_SYNTAX = "KIND[:BLOCK_SIZE][:KEY=VALUE,...]"


def groups_from_flags(texts: Iterable[str], block_size: int | None) -> list[dict[str, Any]]:
    """Read groups spelled like `sliding_window:16:window=32,count=5` into what a file would hold."""
    return [_group(text, block_size) for text in texts]


def with_block_size(groups: object, block_size: int) -> object:
    """Give every group of a document one block size; what is no list of groups is left for validation to refuse."""
    if not isinstance(groups, list):
        return groups
    return [{**group, "block_size": block_size} if isinstance(group, dict) else group for group in groups]


def _group(text: str, block_size: int | None) -> dict[str, Any]:
    kind, *rest = text.split(":")
    group: dict[str, Any] = {"kind": kind}
    if block_size is not None:
        group["block_size"] = block_size
    for part in rest:
        if "=" in part:
            group.update(_pair(text, pair) for pair in part.split(","))
        else:
            group["block_size"] = _number(text, part)
    if block_size not in {None, group.get("block_size")}:
        reason = f"--block-size {block_size} says otherwise"
        raise UsageError("--group", text, reason, "leave one of them out (--block-size replaces a file's sizes only)")
    return group


def _pair(text: str, pair: str) -> tuple[str, int]:
    key, equals, value = pair.partition("=")
    if not equals:
        raise UsageError("--group", text, f"{pair!r} has no '='", f"write {GROUP_SYNTAX}")
    return key.strip().replace("-", "_"), _number(text, value)


def _number(text: str, value: str) -> int:
    try:
        return int(value)
    except ValueError as error:
        raise UsageError("--group", text, f"{value!r} is not a whole number", f"write {GROUP_SYNTAX}") from error


def as_flags(deployment: Deployment) -> str:
    """Spell a deployment as command-line flags, those at their default left out."""
    return " ".join([*(f"--group {_spelled(group, deployment)}" for group in deployment.groups), *_options(deployment)])


def _spelled(group: Group, deployment: Deployment) -> str:
    cache, defaults = group.cache, {**_DEFAULTS, AS_DRAFTED: deployment.lookahead}
    sizes = {field.name: getattr(cache, field.name) for field in fields(cache) if field.name != "block_size"}
    pairs = [
        f"{name}={value}" for name, value in {**sizes, "count": group.count}.items() if value != defaults.get(name)
    ]
    return ":".join([cache.kind, str(cache.block_size), *([",".join(pairs)] if pairs else [])])


AS_DRAFTED = "speculative"
"""The size of a cache that is as many as the drafts of a step where nothing else is said, as engines set it."""

_DEFAULTS: dict[str, Any] = {"extra_retained": 0, "checkpoint": 0, "count": 1}

_OPTIONS = {
    "max_model_len": "--max-model-len",
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "max_num_seqs": "--max-num-seqs",
    "lookahead": "--num-speculative-tokens",
    "context_parallel": "--decode-context-parallel-size",
    "watermark": "--watermark",
    "max_concurrent_batches": "--max-concurrent-batches",
    "blocks": "--num-gpu-blocks-override",
}

_SWITCHES = {"chunked_prefill": "--no-enable-chunked-prefill", "prefix_caching": "--enable-prefix-caching"}


def flag_of(field: str) -> str:
    """Name the flag that gives a field; a size of a group is given within its own."""
    return _OPTIONS.get(field, "--group")


def _options(deployment: Deployment) -> Iterator[str]:
    defaults = {field.name: field.default for field in fields(Deployment)}
    changed = {name: value for name in defaults if (value := getattr(deployment, name)) != defaults[name]}
    yield from (f"{flag} {changed[name]}" for name, flag in _OPTIONS.items() if name in changed)
    yield from (flag for name, flag in _SWITCHES.items() if name in changed)
