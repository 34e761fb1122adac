"""The line of free blocks, the counts of owners, and one group's tables."""

from __future__ import annotations

import pytest

from poolproof.oracle.cache import GroupCache, Rules
from poolproof.oracle.pool import BlockPool, PoolError
from poolproof.spec import SOUND, ChunkedLocal, Deployment, FullAttention, Group, SlidingWindow, named


def group(cache: FullAttention | SlidingWindow | ChunkedLocal, blocks: int = 12, design: str = "sound") -> GroupCache:
    deployment = Deployment((Group(cache),), 64, 64)
    return GroupCache(Rules(cache, deployment, named(design)), BlockPool(blocks, freed_first=False))


def test_blocks_are_taken_from_the_head_and_the_null_block_never() -> None:
    pool = BlockPool(5, freed_first=True)
    assert pool.take(3) == [1, 2, 3]
    assert pool.references == [0, 1, 1, 1, 0]
    assert not pool.can_take(2)
    with pytest.raises(PoolError, match="2 blocks asked for, 1 free"):
        pool.take(2)
    assert list(pool.free) == [4]


@pytest.mark.parametrize(("freed_first", "line"), [(True, [3, 1, 4]), (False, [4, 3, 1])])
def test_freed_blocks_return_in_their_order_to_one_end(freed_first: bool, line: list[int]) -> None:
    pool = BlockPool(5, freed_first=freed_first)
    pool.take(3)
    pool.give_back([3, 0, 1])
    assert list(pool.free) == line
    assert pool.references == [0, 0, 1, 0, 0]


def test_a_block_has_to_be_freed_by_each_of_its_owners_and_no_more() -> None:
    pool = BlockPool(3, freed_first=True)
    (block,) = pool.take(1)
    pool.references[block] += 1
    pool.give_back([block])
    assert block not in pool.free
    pool.give_back([block])
    assert list(pool.free) == [1, 2]
    with pytest.raises(PoolError, match="freed twice"):
        pool.give_back([block])


def test_a_copied_pool_shares_nothing() -> None:
    pool = BlockPool(4, freed_first=True)
    twin = pool.copy()
    twin.take(2)
    assert list(pool.free) == [1, 2, 3]
    assert pool.references == [0, 0, 0, 0]


def test_recycling_goes_down_from_the_edge_and_stops_at_the_first_null() -> None:
    window = group(SlidingWindow(2, window=2))
    assert window.allocate("a", 12, 12) == 6
    window.recycle("a", 5)
    assert window.table("a") == (0, 0, 3, 4, 5, 6)
    assert list(window.pool.free)[-2:] == [2, 1]
    window.recycle("a", 9)
    assert window.table("a") == (0, 0, 0, 0, 5, 6)
    assert list(window.pool.free)[-4:] == [2, 1, 4, 3]
    window.recycle("a", 9)
    assert window.table("a") == (0, 0, 0, 0, 5, 6)
    window.release("a")
    assert list(window.pool.free)[-2:] == [6, 5]
    assert window.table("a") == ()


def test_a_chunk_keeps_the_blocks_of_its_own_chunk_only() -> None:
    chunked = group(ChunkedLocal(2, chunk=4))
    chunked.allocate("a", 12, 12)
    chunked.recycle("a", 7)
    assert chunked.table("a")[:3] == (0, 0, 3)
    chunked.recycle("a", 8)
    assert chunked.table("a")[:5] == (0, 0, 0, 0, 5)


def test_full_attention_recycles_nothing() -> None:
    full = group(FullAttention(2))
    full.allocate("a", 12, 12)
    full.recycle("a", 12)
    assert 0 not in full.table("a")


def test_recycling_what_was_never_held_is_an_error() -> None:
    with pytest.raises(PoolError, match="should recycle"):
        group(SlidingWindow(1, window=1)).recycle("a", 3)


def test_a_prediction_counts_null_entries_as_listed_and_is_a_credit_without_the_floor() -> None:
    assert SOUND.prediction_floor
    for design, predicted in (("sound", 0), ("vllm-0.11", -2)):
        full = group(FullAttention(2), design=design)
        full.allocate("a", 12, 12)
        assert full.predicted("a", 8, 8) == predicted
        assert full.predicted("a", 14, 14) == 1
        assert full.allocate("a", 8, 8) == 0
