"""Bytes become blocks as the releases published them; the formulas are the same on integers and on terms."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from poolproof.spec.arithmetic import Term
from poolproof.spec.attention import (
    Attention,
    ChunkedLocal,
    FullAttention,
    HiddenState,
    MLAAttention,
    SlidingWindow,
    SlidingWindowMLA,
)
from poolproof.spec.bucketing import group_size
from poolproof.spec.deployment import Deployment
from poolproof.spec.design import DESIGNS, SOUND, Design, named
from poolproof.spec.errors import Reason, RefusedError, UnsupportedError
from poolproof.spec.fitting import Start, Worker, fits, longest_fitting, start
from poolproof.spec.grouping import Model, grouped
from poolproof.spec.layers import Layer, StateStorage, Storage, page_bytes, settled, unpadded_bytes
from poolproof.spec.layouts import Layout
from poolproof.spec.memory import blocks_from, bytes_required, pool_blocks
from poolproof.spec.packing import near_divisor
from poolproof.spec.shared import alike, block_tables
from poolproof.spec.sizing import group_requirement
from poolproof.spec.states import CircularBuffer, CrossAttention, MambaAlign, MambaAll, MambaNone

STORAGE = Storage(heads=8, head_size=128, value_size=128, dtype="bfloat16")
PAGE = 16 * 8 * 256 * 2
LENGTHS = Deployment(groups=(), max_model_len=1024, max_num_batched_tokens=256)
FULL, WINDOW = FullAttention(16), SlidingWindow(16, 128)


def model(*sorts: tuple[Attention, int], storage: Storage = STORAGE, hybrid: bool = True) -> Model:
    caches = [cache for cache, count in sorts for _ in range(count)]
    return Model({f"layers.{i}": Layer(cache, storage) for i, cache in enumerate(caches)}, hybrid)


def begun(asked: Model, available: int, **more: Any) -> Start:
    deployment = more.pop("deployment", LENGTHS)
    return Start(asked, (Worker(tuple(asked.layers), available),), deployment, **more)


def smallest_pool(asked: Model, design: Design) -> int:
    """Find the least memory, in pages, with which the model starts, and the blocks that it gives."""

    def refused(pages: int) -> bool:
        return outcome(asked, pages, design) in {Reason.TOO_SMALL, Reason.NO_MEMORY}

    blocks = outcome(asked, longest_fitting(refused, 5000) + 1, design)
    assert isinstance(blocks, int)
    return blocks


def outcome(asked: Model, pages: int, design: Design) -> int | Reason:
    try:
        return start(begun(asked, pages * PAGE), design).blocks
    except RefusedError as refusal:
        return refusal.reason


@pytest.mark.parametrize(
    ("asked", "pools"),
    [
        (model((FULL, 4)), {"0.11": 64, "0.19": 64, "0.28": 64, "0.30": 65, "0.33": 65}),
        (model((FULL, 12), (WINDOW, 13)), {"0.11": 91, "0.19": 89, "0.28": 89, "0.30": 90, "0.33": 90}),
        (model((FULL, 2), (WINDOW, 5)), {"0.11": 126, "0.19": 139, "0.28": 139, "0.30": 140, "0.33": 140}),
        (model((FULL, 2), (WINDOW, 5), hybrid=False), {"0.11": 36, "0.19": 64, "0.28": 64, "0.30": 65, "0.33": 65}),
    ],
    ids=["one-kind", "near-equal-buckets", "three-groups", "hybrid-off"],
)
def test_smallest_accepted_pools_are_the_published_ones(asked: Model, pools: dict[str, int]) -> None:
    found = {version: smallest_pool(asked, named(f"vllm-{version}")) for version in pools}
    assert found == pools


@pytest.mark.parametrize(("design", "length"), [("vllm-0.19", 1040), ("vllm-0.28", 1040), ("vllm-0.30", 1024)])
def test_the_fitted_length_saturates_the_pool_or_leaves_the_null_block(design: str, length: int) -> None:
    longest = replace(LENGTHS, max_model_len=131072)
    fitted = start(begun(model((FULL, 4)), 65 * 4 * PAGE, deployment=longest, auto_fit=True), named(design))
    assert (fitted.blocks, fitted.max_model_len) == (65, length)


@pytest.mark.parametrize(
    ("design", "override", "refused"),
    [("vllm-0.19", 10, False), ("vllm-0.20", 10, True), ("vllm-0.28", 64, False), ("vllm-0.30", 64, True)],
)
def test_a_block_count_set_by_hand_is_checked_from_020(design: str, override: int, refused: bool) -> None:
    asked = begun(model((FULL, 4)), 1000 * 4 * PAGE, override=override)
    if refused:
        with pytest.raises(RefusedError, match="more memory"):
            start(asked, named(design))
    else:
        assert start(asked, named(design)).blocks == override


def test_the_poorest_worker_decides() -> None:
    asked = model((FULL, 4))
    names = tuple(asked.layers)
    workers = (Worker(names, 90 * 4 * PAGE), Worker(names, 70 * 4 * PAGE + 5))
    assert start(Start(asked, workers, LENGTHS), SOUND).blocks == 70


def test_stages_are_checked_against_their_own_layers() -> None:
    asked = model((FULL, 4))
    first, second = tuple(asked.layers)[:3], tuple(asked.layers)[3:]
    workers = (Worker(first, 80 * 3 * PAGE), Worker(second, 75 * PAGE))
    assert start(Start(asked, workers, LENGTHS), SOUND).blocks == 75


def test_layers_are_interleaved_so_that_stages_share_groups() -> None:
    groups = grouped(model((FULL, 2), (WINDOW, 5)), SOUND)
    assert [group.names for group in groups] == [
        ("layers.0", "layers.1"),
        ("layers.2", "layers.5"),
        ("layers.3", "layers.6"),
        ("layers.4",),
    ]
    assert [group.cache for group in block_tables(groups)] == [FULL, WINDOW, WINDOW, WINDOW]


def test_a_smaller_page_takes_more_tokens() -> None:
    half = Layer(WINDOW, replace(STORAGE, heads=4))
    groups = grouped(Model({"a": Layer(FULL, STORAGE), "b": half}), SOUND)
    assert [(g.layer.cache.block_size, page_bytes(g.layer)) for g in groups] == [(16, PAGE), (32, PAGE)]


@pytest.mark.parametrize(
    ("design", "heads", "outcome"),
    [("vllm-0.11", 4, Reason.PAGES), ("vllm-0.22", 3, Reason.PAGES), ("vllm-0.28", 3, Reason.PAGES), ("sound", 3, 16)],
)
def test_pages_that_do_not_divide_are_padded_or_refused(design: str, heads: int, outcome: object) -> None:
    asked = Model({"a": Layer(FULL, STORAGE), "b": Layer(WINDOW, replace(STORAGE, heads=heads))})
    try:
        found: object = grouped(asked, named(design))[1].layer.cache.block_size
    except RefusedError as refusal:
        found = refusal.reason
    assert found == outcome


def test_windowed_latent_layers_crash_the_promotion_of_033_only() -> None:
    latent = Storage(1, 512, 0, "bfloat16")
    asked = Model({"a": Layer(MLAAttention(64), latent), "b": Layer(SlidingWindowMLA(64, 128), latent)}, hybrid=False)
    assert len(grouped(asked, named("vllm-0.30"))) == 1
    with pytest.raises(RefusedError, match="crashes"):
        grouped(asked, named("vllm-0.33"))


def test_full_layers_with_two_windows_are_refused_not_split() -> None:
    asked = Model({n: Layer(FULL, STORAGE, computed_window=w) for n, w in (("a", 128), ("b", 256))})
    with pytest.raises(RefusedError, match="different windows"):
        grouped(asked, SOUND)


def test_a_kind_that_a_release_lacks_is_unsupported() -> None:
    asked = Model({"a": Layer(SlidingWindowMLA(16, 32), Storage(1, 512, 0, "bfloat16"))})
    with pytest.raises(UnsupportedError, match="sliding_window_mla"):
        grouped(asked, named("vllm-0.19"))


def test_a_latent_merge_that_ignores_sizes_counts_the_first_page() -> None:
    """Before 0.28.0 layers of two head sizes were one group with the page of the first; then they became two pages."""
    asked = Model({n: Layer(MLAAttention(16), Storage(1, size, 0, "bfloat16")) for n, size in (("a", 64), ("b", 576))})
    early, late = (grouped(asked, named(design))[0] for design in ("vllm-0.25", "vllm-0.28"))
    assert (early.mixed, late.mixed) == (False, True)
    assert [page_bytes(early.layer_of(n)) for n in "ab"] == [2048, 2048]
    assert [page_bytes(late.layer_of(n)) for n in "ab"] == [2048, 18432]


def test_layouts_that_cannot_hold_two_page_sizes_are_refused() -> None:
    hidden = Layer(HiddenState(16), Storage(1, 64, 0, "bfloat16"))
    asked = Model({"a": Layer(FULL, STORAGE), "b": Layer(FullAttention(16), replace(STORAGE, heads=4)), "c": hidden})
    with pytest.raises(RefusedError, match="LHBNC"):
        start(begun(replace(asked, layout=Layout.LHBNC), 10**9), SOUND)


@pytest.mark.parametrize(
    ("cache", "design", "blocks"),
    [
        (MambaNone(1024, 3), "vllm-0.11", 1),
        (MambaNone(1024, 3), "vllm-0.19", 4),
        (MambaAlign(528, 3), "vllm-0.19", 5),
        (MambaAlign(528, 3, 1), "vllm-0.30", 6),
        (MambaAll(256, 3), "vllm-0.21", 4),
        (MambaAll(256, 3), "vllm-0.22", 7),
        (CrossAttention(16, 1500), "vllm-0.33", 94),
        (CircularBuffer(16), "vllm-0.30", 1),
    ],
)
def test_kinds_that_do_not_grow_with_the_sequence(cache: Attention, design: str, blocks: int) -> None:
    assert group_requirement(cache, LENGTHS, named(design)) == blocks


@pytest.mark.parametrize(
    ("buckets", "size"), [((20, 30), 20), ((20, 29), 29), ((12, 13), 13), ((5,), 5), ((1, 1), 1), ((2, 3), 2)]
)
def test_groups_are_as_large_as_the_largest_bucket_where_that_is_near(buckets: tuple[int, ...], size: int) -> None:
    assert group_size(buckets, SOUND.planning) == size
    assert group_size(buckets, named("vllm-0.11").planning) == min(buckets)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(1, 40))
def test_near_divisor_wastes_least(values: list[int], least: int) -> None:
    found = near_divisor(values, least)
    waste = {d: sum(-v % d for v in values) for d in range(least, max(values) + 1)}
    assert found == max((d for d in waste if waste[d] == min(waste.values())), default=least)


@given(st.integers(0, 400), st.integers(1, 400))
def test_the_fitted_length_is_the_greatest_that_fits(limit: int, last: int) -> None:
    assert longest_fitting(lambda length: length <= limit, last) == min(limit, last)


def test_an_aligned_page_keeps_a_padding_it_once_had() -> None:
    """Doubling the block makes the page a multiple again, and the padding of the smaller page stays: it is refused."""
    stale = settled(Layer(MLAAttention(1), Storage(1, 96, 0, "bfloat16", alignment=128)))
    assert page_bytes(stale) == 256
    doubled = replace(stale, cache=MLAAttention(2))
    assert unpadded_bytes(doubled) == 384
    with pytest.raises(RefusedError, match="padded to 256"):
        page_bytes(settled(doubled))


# -- the same on terms -----------------------------------------------------------------------------------------------

sizes = st.integers(1, 200)
caches = st.one_of(
    st.builds(FullAttention, sizes),
    st.builds(SlidingWindow, sizes, sizes),
    st.builds(ChunkedLocal, sizes, sizes),
    st.builds(MambaAlign, sizes, sizes, sizes),
    st.builds(MambaAll, sizes, sizes),
    st.builds(CrossAttention, sizes, sizes),
)
storages = st.builds(Storage, sizes, sizes, sizes, st.sampled_from(("float32", "bfloat16", "uint8")), sizes)


def value(term: Term) -> int:
    return term if isinstance(term, int) else z3.simplify(term).as_long()


def on_terms(layer: Layer) -> Layer:
    sizes = {f.name: z3.IntVal(getattr(layer.cache, f.name)) for f in fields(layer.cache)}
    storage = replace(layer.storage, heads=z3.IntVal(layer.storage.heads), head_size=z3.IntVal(layer.storage.head_size))
    return replace(layer, cache=replace(layer.cache, **sizes), storage=storage)


@given(caches, storages)
def test_pages_agree_on_integers_and_terms(cache: Attention, storage: Storage) -> None:
    layer = Layer(cache, storage)
    assert value(page_bytes(on_terms(layer))) == page_bytes(layer)


@given(st.lists(st.tuples(caches, storages), min_size=1, max_size=3), st.sampled_from(DESIGNS), sizes, sizes)
def test_bytes_and_verdict_agree_on_integers_and_terms(
    sorts: list[tuple[Attention, Storage]], design: Design, length: int, available: int
) -> None:
    deployment = Deployment((), length, 64)
    known = [alike([f"{i}"], Layer(*sort)) for i, sort in enumerate(sorts)]
    terms = [replace(group, members=(on_terms(group.layer),)) for group in known]
    needed = bytes_required(known, deployment, design)
    symbolic = replace(deployment, max_model_len=z3.IntVal(length))
    assert value(bytes_required(terms, symbolic, design)) == needed
    memory = available * needed // 100
    assert z3.is_true(z3.simplify(fits(z3.IntVal(memory), terms, symbolic, design))) is fits(
        memory, known, deployment, design
    )


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=3), sizes)
def test_blocks_agree_on_integers_and_terms(available: list[int], block: int) -> None:
    expected = min(bytes_ // block for bytes_ in available)
    assert pool_blocks(available, [block] * len(available)) == expected
    assert value(pool_blocks([z3.IntVal(b) for b in available], [z3.IntVal(block)] * len(available))) == expected
    assert blocks_from(block, block, lent=block) == 0


def test_a_state_page_does_not_depend_on_the_block() -> None:
    states = StateStorage(((1000, "bfloat16"), (10, "float32")))
    assert {page_bytes(Layer(MambaNone(block), states)) for block in (1, 16, 1024)} == {2040}
