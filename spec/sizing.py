"""Boot: how many blocks the pool must have before the engine starts."""

from __future__ import annotations

from dataclasses import replace

from .arithmetic import Term, Truth, cdiv, maximum, total
from .attention import Attention
from .deployment import Deployment
from .design import Design
from .states import MambaAlign, MambaNone


def budget(deployment: Deployment, design: Design) -> Term:
    """Count the tokens beside the window that boot and cap allow for.

    Source: vLLM `max_num_batched_tokens`; from 0.28.0 `max_in_flight_tokens`. No release pays for lookahead; all but
    one lookahead token is the least that keeps a request within its bound.
    """
    tokens = deployment.max_in_flight_tokens if design.in_flight_budget else deployment.max_num_batched_tokens
    return tokens + maximum(0, deployment.lookahead - 1) if design.lookahead_budget else tokens


def group_requirement(cache: Attention, deployment: Deployment, design: Design) -> Term:
    """Count the blocks that boot reserves in one group for one request of the greatest length.

    Source: vLLM `<Spec>.max_memory_usage_bytes` over the page size. Only kinds that keep every token are sharded by
    context parallelism; the engine refuses it for a sliding window.
    """
    length = deployment.max_model_len
    if cache.sharded:
        length = cdiv(length, deployment.context_parallel)
    return _as_counted(cache, design).bound(budget(deployment, design), length) + _in_flight(cache, deployment, design)


def _as_counted(cache: Attention, design: Design) -> Attention:
    """Leave out the speculated states that a design's boot forgets."""
    if isinstance(cache, MambaNone) and cache.kind not in design.planning.speculated_states:
        return replace(cache, speculative=0)
    return cache


def _in_flight(cache: Attention, deployment: Deployment, design: Design) -> Term:
    """Count the copies of aligned states beyond the first that may wait to go back, where a design pays for them.

    Each batch in flight may leave one behind in a prompt, and one in every block that its drafts reach.
    """
    if not (isinstance(cache, MambaAlign) and design.state_in_flight_budget):
        return 0
    batches, lookahead = deployment.max_concurrent_batches, deployment.lookahead
    if isinstance(lookahead, int) and lookahead == 0:
        return batches - 1
    return maximum(batches, cdiv(batches * (1 + lookahead), cache.block_size)) - 1


def request_requirement(deployment: Deployment, design: Design) -> Term:
    """Count the blocks that boot reserves for one request of the greatest length, over all groups."""
    return total(group.count * group_requirement(group.cache, deployment, design) for group in deployment.groups)


def boot_requirement(deployment: Deployment, design: Design) -> Term:
    """Count the blocks that the startup check demands of the pool.

    Source: vLLM `get_kv_cache_configs`; the null block is counted from 0.30.0 (`check_memory = available - one block`).
    """
    return request_requirement(deployment, design) + (1 if design.boot_reserves_null else 0)


def boot_accepts(blocks: Term, deployment: Deployment, design: Design) -> Truth:
    """Say whether a pool of so many blocks, null block included, passes the startup check."""
    return blocks >= boot_requirement(deployment, design)


def usable(blocks: Term) -> Term:
    """Count the blocks that requests can have: all but the null block (vLLM `BlockPool.__init__`, all releases)."""
    return blocks - 1


def reported_concurrency(blocks: int, deployment: Deployment, design: Design) -> float:
    """Compute the concurrency that the boot log prints: requests of the greatest length per pool, null block included.

    Source: vLLM `get_max_concurrency_for_kv_cache_config`. For reading only: nothing is gated on it.
    """
    requirement = request_requirement(deployment, design)
    if not isinstance(requirement, int):
        raise TypeError("a concurrency is reported for known numbers only")
    return blocks / requirement
