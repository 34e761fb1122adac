"""What the boot log says about a pool: for reading only, nothing is gated on it."""

from __future__ import annotations

from collections.abc import Sequence

from .arithmetic import Term, cdiv, fdiv, total
from .deployment import Deployment
from .design import Design
from .layers import known_block
from .shared import LayerGroup, blocks_required, own_page
from .sizing import request_requirement


def concurrency(groups: Sequence[LayerGroup], blocks: int, deployment: Deployment, design: Design) -> float:
    """Compute the concurrency that the boot log reports.

    Source: vLLM `get_max_concurrency_for_kv_cache_config`: until 0.25.1 bytes are divided by the first group's page.
    """
    needed = [blocks_required(group, deployment, design) for group in groups]
    per_request = total(needed)
    if design.planning.concurrency_in_bytes:
        needed_bytes = total(n * own_page(group) for n, group in zip(needed, groups, strict=True))
        per_request = cdiv(needed_bytes, own_page(groups[0]))
    return blocks / known_number(per_request)


def tokens_in_blocks(groups: Sequence[LayerGroup], blocks: int, deployment: Deployment) -> int:
    """Count the tokens that the log of early releases reports: a share of the blocks, times the smallest block.

    Source: vLLM `_report_kv_cache_config` (0.11.0, 0.19.1).
    """
    smallest = min(known_block(group.layer) for group in groups)
    return known_number(shared_tokens(blocks, len(groups), smallest) * deployment.context_parallel)


def shared_tokens(blocks: Term, groups: Term, block_size: Term) -> Term:
    """Count the tokens that one group's share of the blocks holds, as if all groups shared alike."""
    return fdiv(blocks, groups) * block_size


def logged_tokens(blocks: Term, deployment: Deployment, design: Design) -> Term:
    """Count the tokens that the log of later releases reports: the concurrency times the greatest length.

    Source: vLLM `_report_kv_cache_config` (0.20.2 and later), which multiplies before it rounds down.
    """
    return fdiv(blocks * deployment.max_model_len, request_requirement(deployment, design))


def known_number(term: Term) -> int:
    """Return a number that must be known.

    Raises:
        TypeError: It is symbolic; an engine starts with known numbers only.
    """
    if not isinstance(term, int):
        raise TypeError("an engine starts with known numbers only")
    return term
