"""Start-up with so many bytes: accept or refuse, fit the greatest length, count the blocks, report the capacity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from .arithmetic import Term, Truth
from .deployment import Deployment
from .design import Design
from .errors import Reason, RefusedError
from .grouping import Model, grouped
from .layers import Layer, page_bytes
from .layouts import Layout
from .memory import (
    block_bytes,
    blocks_from,
    bytes_required,
    carved_bytes,
    layers_required,
    one_mixed,
    own_pages_block,
    refuse_sharded_window,
)
from .planning import Check
from .reporting import concurrency, known_number, tokens_in_blocks
from .shared import LayerGroup, projected


@dataclass(frozen=True, slots=True)
class Worker:
    """Describe one worker.

    Args:
        layers: The names of the layers that it computes.
        available: The bytes that it can give to the cache.
    """

    layers: tuple[str, ...]
    available: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """Tell how an engine starts.

    Args:
        groups: The groups of the whole model.
        stages: The groups of each worker, cut down to its layers.
        blocks: The blocks of the pool, null block included.
        max_model_len: The greatest length, fitted to the memory where that was asked for.
        concurrency: The requests of the greatest length that the boot log reports per pool.
        logged_tokens: The tokens that the boot log reports.
    """

    groups: tuple[LayerGroup, ...]
    stages: tuple[tuple[LayerGroup, ...], ...]
    blocks: int
    max_model_len: int
    concurrency: float
    logged_tokens: int


@dataclass(frozen=True, slots=True)
class Start:
    """Hold what a start-up is asked to do.

    Args:
        model: The layers.
        workers: The workers, with their own layers and memory.
        deployment: The lengths and budgets; its groups and blocks are not read.
        override: The blocks that the operator sets by hand, else None.
        auto_fit: The greatest length is fitted to the memory; the deployment's is the most that the model allows.
    """

    model: Model
    workers: tuple[Worker, ...]
    deployment: Deployment
    override: int | None = None
    auto_fit: bool = False


def start(asked: Start, design: Design) -> Fitted:
    """Start an engine as a design does.

    Source: vLLM `get_kv_cache_configs`.

    Raises:
        RefusedError: It does not start.
        UnsupportedError: The release cannot describe a layer, or lays this model out in a way that is not modelled.
    """
    if design.planning.check is Check.LAYERS:
        _check_layers(asked, design)
    groups = grouped(asked.model, design)
    if design.planning.partition_first:
        _check_partition(groups, asked.model.layers)
    if not groups:
        return Fitted((), (), 1, known_number(asked.deployment.max_model_len), 0.0, 0)
    stages = [[projected(group, frozenset(worker.layers), design) for group in groups] for worker in asked.workers]
    memory = _lent(asked, stages, design)
    deployment = _fitted(asked, stages, memory, design)
    if design.planning.check is not Check.LAYERS:
        for stage, available in zip(stages, _checked(asked.model, stages, memory, design), strict=True):
            _check(available, _required(stage, deployment, design))
    blocks = [_blocks(asked, *pair, design) for pair in zip(asked.workers, stages, memory, strict=True)]
    return _report(groups, stages, blocks, deployment, design)


def fits(available: Term, groups: Sequence[LayerGroup], deployment: Deployment, design: Design) -> Truth:
    """Say whether a worker's memory passes the startup check, the bytes of a reserved null block being lent."""
    lent = block_bytes(groups, design) if design.boot_reserves_null else 0
    return bytes_required(groups, deployment, design) <= available - lent


def longest_fitting(condition: Callable[[int], bool], last: int) -> int:
    """Find the greatest number of 1..last that meets a condition which, once failed, stays failed; 0 where none does.

    Source: vLLM `_estimate_max_model_len_from_groups`.
    """
    if not condition(1):
        return 0
    low, high = 1, last
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if condition(middle) else (low, middle - 1)
    return low


def _check_layers(asked: Start, design: Design) -> None:
    """Check each worker's own layers before anything is grouped (vLLM 0.11.0)."""
    for worker in asked.workers:
        own = list(_own(asked, worker).values())
        if not own:
            continue
        _refuse_nothing(worker.available)
        refuse_sharded_window(own, asked.deployment)
        _check(worker.available, known_number(layers_required(own, asked.deployment, design)))


def _own(asked: Start, worker: Worker) -> Mapping[str, Layer]:
    return {name: asked.model.layers[name] for name in worker.layers}


def _check(available: int, required: int | Callable[[], int]) -> None:
    _refuse_nothing(available)
    needed = required if isinstance(required, int) else required()
    if needed > available:
        raise RefusedError(Reason.TOO_SMALL, f"{needed} bytes are needed and {available} are there")


def _refuse_nothing(available: int) -> None:
    if available <= 0:
        raise RefusedError(Reason.NO_MEMORY, f"{available} bytes")


def _required(stage: Sequence[LayerGroup], deployment: Deployment, design: Design) -> Callable[[], int]:
    """Defer the bytes that one worker needs: memory that is not there is refused before a formula is asked."""

    members = [member for group in stage for member in group.members]

    def required() -> int:
        if design.planning.check is Check.GROUPS and one_mixed(stage):
            refuse_sharded_window(members, deployment)
        needed = known_number(bytes_required(stage, deployment, design))
        refuse_sharded_window(members, deployment)
        return needed

    return required


def _check_partition(groups: Sequence[LayerGroup], layers: Mapping[str, Layer]) -> None:
    missing = set(layers) - {name for group in groups for name in group.names}
    if missing:
        raise RefusedError(Reason.PARTITION, f"{', '.join(sorted(missing))} in no group")


def _lent(asked: Start, stages: Sequence[Sequence[LayerGroup]], design: Design) -> list[int]:
    """Take each worker's memory, or what an override makes of it where the check looks at overrides."""
    if asked.override is None or not design.boot_checks_override:
        return [worker.available for worker in asked.workers]
    return [asked.override * _some(_block(asked.model, stage, design)) for stage in stages]


def _checked(model: Model, stages: Sequence[Sequence[LayerGroup]], memory: Sequence[int], design: Design) -> list[int]:
    """Take off the block that the null block takes, where boot counts it."""
    if not design.boot_reserves_null:
        return list(memory)
    return [available - _block(model, stage, design) for stage, available in zip(stages, memory, strict=True)]


def _block(model: Model, stage: Sequence[LayerGroup], design: Design) -> int:
    """Count the bytes of a block on one worker, and try the layout where a design does so for that."""
    block = known_number(block_bytes(stage, design))
    if design.planning.layout_first and (block or not model.layout.block_outermost):
        _check_layout(model.layout, stage, design)
    return _some(block) if design.planning.empty_strip_refused else block


def _some(block: int) -> int:
    if block == 0:
        raise RefusedError(Reason.EMPTY_STAGE, "a block has no bytes")
    return block


def _fitted(asked: Start, stages: Sequence[Sequence[LayerGroup]], memory: Sequence[int], design: Design) -> Deployment:
    """Fit the greatest length to the worker with least room, where that is asked for.

    Source: vLLM `_auto_fit_max_model_len` (0.19.1 and later).
    """
    if not (asked.auto_fit and design.planning.auto_fits):
        _checked(asked.model, stages, memory, design)
        return asked.deployment
    most = known_number(asked.deployment.max_model_len)
    rooms = zip(stages, _checked(asked.model, stages, memory, design), strict=True)
    length = min(most, *(_longest(stage, room, asked.deployment, design) for stage, room in rooms))
    if length <= 0:
        raise RefusedError(Reason.NO_LENGTH, "one token does not fit")
    return replace(asked.deployment, max_model_len=length)


def _longest(stage: Sequence[LayerGroup], room: int, deployment: Deployment, design: Design) -> int:
    def fit(length: int) -> bool:
        return _required(stage, replace(deployment, max_model_len=length), design)() <= room

    return longest_fitting(fit, known_number(deployment.max_model_len))


def _blocks(asked: Start, worker: Worker, stage: Sequence[LayerGroup], available: int, design: Design) -> int:
    """Count the blocks that one worker's memory gives, or those set by hand."""
    own = _own(asked, worker)
    if sum(len(group.names) for group in stage) != len(own):
        raise RefusedError(Reason.PARTITION, "a worker's layers are in no group")
    block = own_pages_block(stage, own) if design.planning.checks_pages else carved_bytes(stage, design)
    _check_layout(asked.model.layout, stage, design)
    given = known_number(blocks_from(available, _some(known_number(block))))
    return given if asked.override is None else asked.override


def _check_layout(layout: Layout, stage: Sequence[LayerGroup], design: Design) -> None:
    """Refuse a memory layout that cannot hold pages of several sizes, or padded ones.

    Source: vLLM `validate_kv_cache_layout` and `compute_layout_strides` (0.30.0 and later).
    """
    if not design.planning.layouts:
        return
    layers = [group.layer_of(name) for group in stage for name in group.names]
    several = len({page_bytes(layer) for layer in layers}) != 1
    if several and (not layout.page_compact or (len(stage) > 1 and layout.layer_outermost)):
        raise RefusedError(Reason.LAYOUT, f"{layout} holds pages of one size only")
    if not layout.page_compact and any(map(_padded_heads, layers)):
        raise RefusedError(Reason.LAYOUT, f"{layout} cannot pad a page of several heads")


def _padded_heads(layer: Layer) -> bool:
    return layer.storage.padded is not None and getattr(layer.storage, "heads", 1) != 1


def _report(
    groups: Sequence[LayerGroup],
    stages: Sequence[Sequence[LayerGroup]],
    own: Sequence[int],
    deployment: Deployment,
    design: Design,
) -> Fitted:
    blocks = min(own)
    if design.planning.cuts_pools and 0 in own:
        raise RefusedError(Reason.EMPTY_STAGE, "a worker's memory gives no block")
    if design.planning.concurrency_in_bytes and not all(any(group.names for group in stage) for stage in stages):
        raise RefusedError(Reason.EMPTY_STAGE, "a concurrency is reported for a worker without a layer")
    rate = concurrency(stages[0], blocks, deployment, design)
    length = known_number(deployment.max_model_len)
    logged = own[0] if design.planning.worker_logs else blocks
    in_blocks = design.planning.tokens_in_blocks
    tokens = tokens_in_blocks(stages[0], logged, deployment) if in_blocks else int(rate * length)
    return Fitted(tuple(groups), tuple(map(tuple, stages)), blocks, length, rate, tokens)
