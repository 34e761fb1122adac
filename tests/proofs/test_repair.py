"""The nearest repair is the nearest: compared with every change of one field, one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from poolproof.proofs.repair import BLOCK_SIZES, Change, Repair, nearest
from poolproof.spec import ChunkedLocal, Deployment, FullAttention, Group, SlidingWindow
from poolproof.spec.admission import admitted
from poolproof.spec.design import VLLM_028
from poolproof.spec.sizing import boot_accepts

PAIR = Deployment(
    groups=(Group(FullAttention(4)), Group(SlidingWindow(4, 9))),
    max_model_len=60,
    max_num_batched_tokens=24,
    lookahead=5,
    blocks=20,
)


def admits_the_longest(deployment: Deployment) -> bool:
    blocks, length = deployment.blocks, deployment.max_model_len
    assert blocks is not None
    return bool(
        boot_accepts(blocks, deployment, VLLM_028)
        and all(admitted(tokens, blocks, deployment, VLLM_028) for tokens in range(1, int(length)))
    )


def changed(repair: Repair) -> dict[str, tuple[int, int]]:
    return {change.field: (change.before, change.after) for change in repair.changes}


@pytest.mark.parametrize("deployment", [PAIR, replace(PAIR, blocks=24), replace(PAIR, max_num_batched_tokens=60)])
def test_one_field_is_changed_as_little_as_possible(deployment: Deployment) -> None:
    found = {next(iter(changed(repair))): repair for repair in nearest(deployment, admits_the_longest)}
    assert all(admits_the_longest(repair.deployment) and len(repair.changes) == 1 for repair in found.values())
    for field in ("blocks", "max_model_len", "max_num_batched_tokens", "lookahead"):
        before: Any = getattr(deployment, field)
        last = {"blocks": 200, "max_model_len": 1, "max_num_batched_tokens": 0, "lookahead": -1}[field]
        span = range(before + 1, last) if field == "blocks" else range(before - 1, last, -1)
        passing = (value for value in span if admits_the_longest(replace(deployment, **{field: value})))
        least = next(passing, None)
        assert (changed(found[field])[field][1] if field in found else None) == least


def test_the_nearest_comes_first() -> None:
    found = nearest(PAIR, admits_the_longest)
    assert [repair.distance for repair in found] == sorted(repair.distance for repair in found)


def test_what_is_accepted_needs_no_repair() -> None:
    assert nearest(replace(PAIR, blocks=60), admits_the_longest) == []


def test_an_illegal_deployment_is_no_repair() -> None:
    whole = replace(PAIR, chunked_prefill=False, max_num_batched_tokens=60)
    fields = {field for repair in nearest(whole, admits_the_longest) for field in changed(repair)}
    assert "max_num_batched_tokens" not in fields
    assert "blocks" in fields


def blocks_divide_chunks(deployment: Deployment) -> bool:
    (cache,) = (group.cache for group in deployment.groups)
    assert isinstance(cache, ChunkedLocal)
    return not int(cache.chunk) % int(cache.block_size) and int(deployment.blocks or 0) >= 10


def test_another_block_size_keeps_the_tokens_of_the_pool() -> None:
    deployment = Deployment((Group(ChunkedLocal(16, 40)),), 64, 32, blocks=10)
    found = nearest(deployment, blocks_divide_chunks)
    assert {changed(repair)["block_size"][1] for repair in found} == {size for size in BLOCK_SIZES if not 40 % size}
    assert changed(found[0]) == {"block_size": (16, 8), "blocks": (10, 20)}


def needs_two(deployment: Deployment) -> bool:
    return int(deployment.lookahead) <= 1 and int(deployment.max_model_len) <= 40


def test_two_fields_are_changed_only_where_one_does_not_suffice() -> None:
    one: Callable[[Deployment], bool] = lambda deployment: needs_two(replace(deployment, max_model_len=40))  # noqa: E731
    assert [changed(repair) for repair in nearest(PAIR, one)] == [{"lookahead": (5, 1)}]
    assert changed(nearest(PAIR, needs_two)[0]) == {"max_model_len": (60, 40), "lookahead": (5, 1)}


def test_nothing_is_proposed_where_nothing_helps() -> None:
    assert nearest(PAIR, lambda _: False) == []


def test_distance_is_in_relation_to_what_was_there() -> None:
    assert Change("blocks", 40, 50).distance == Change("lookahead", 4, 5).distance == 0.25
