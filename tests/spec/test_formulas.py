"""The formulas keep their published values and the relations that the engines rely on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolproof.spec import (
    DESIGNS,
    SOUND,
    Attention,
    ChunkedLocal,
    Deployment,
    Design,
    FullAttention,
    Group,
    Lengths,
    MLAAttention,
    SlidingWindow,
    UsageError,
    admitted,
    boot_accepts,
    boot_requirement,
    gate_requirement,
    group_requirement,
    held,
    legal,
    named,
    never_admitted,
    reported_concurrency,
    validate,
)

SCALED = Deployment(
    (Group(FullAttention(16)), Group(SlidingWindow(16, 32))), max_model_len=512, max_num_batched_tokens=64, blocks=39
)

blocks = st.integers(1, 40)
caches = st.one_of(
    st.builds(FullAttention, blocks),
    st.builds(MLAAttention, blocks),
    st.builds(SlidingWindow, blocks, st.integers(1, 200), st.integers(0, 4)),
    st.builds(ChunkedLocal, blocks, st.integers(1, 200)),
)
deployments = st.builds(
    Deployment,
    st.lists(st.builds(Group, caches, st.integers(1, 5)), min_size=1, max_size=4).map(tuple),
    max_model_len=st.integers(2, 400),
    max_num_batched_tokens=st.integers(1, 200),
    max_concurrent_batches=st.integers(1, 3),
    lookahead=st.integers(0, 5),
)
designs = st.sampled_from(DESIGNS)


@pytest.mark.parametrize(
    ("design", "pool", "requirement", "ranges"),
    [
        ("vllm-0.19", 39, 39, [Lengths(305, 511)]),
        ("vllm-0.20", 39, 39, [Lengths(497, 511)]),
        ("vllm-0.28", 40, 39, []),
        ("vllm-0.30", 40, 40, []),
        ("sound", 40, 40, []),
    ],
)
def test_swa_gate_scaled(design: str, pool: int, requirement: int, ranges: list[Lengths]) -> None:
    assert boot_requirement(SCALED, named(design)) == requirement
    assert never_admitted(SCALED, named(design), pool) == ranges


@pytest.mark.parametrize(("design", "requirement"), [("vllm-0.25", 39), ("vllm-0.28", 43), ("vllm-0.30", 44)])
def test_two_batches_in_flight_widen_the_window(design: str, requirement: int) -> None:
    assert boot_requirement(replace(SCALED, max_concurrent_batches=2), named(design)) == requirement


@pytest.mark.parametrize(
    ("pool", "budget", "requirement", "concurrency", "longest"),
    [(14022, 2048, 9157, 1.531, 40784), (29346, 16384, 13637, 2.152, 85360)],
    ids=["swa-gate-field-h100", "swa-gate-field-5090"],
)
def test_swa_gate_field(pool: int, budget: int, requirement: int, concurrency: float, longest: int) -> None:
    deployment = Deployment(
        (Group(FullAttention(32)), Group(SlidingWindow(16, 1024), 5)),
        max_model_len=262144,
        max_num_batched_tokens=budget,
    )
    faulty, fixed = named("vllm-0.19"), named("vllm-0.20")
    assert boot_requirement(deployment, faulty) == requirement
    assert round(reported_concurrency(pool, deployment, faulty), 3) == concurrency
    assert never_admitted(deployment, faulty, pool) == [Lengths(longest + 1, 262143)]
    assert never_admitted(deployment, fixed, pool) == []


def test_single_shot_prefill() -> None:
    deployment = Deployment(
        (Group(FullAttention(64)), Group(SlidingWindow(64, 1024), 5)),
        max_model_len=65536,
        max_num_batched_tokens=65536,
    )
    assert never_admitted(deployment, SOUND, 2048) == [Lengths(21825, 65535)]


def test_null_block_boundary() -> None:
    deployment = Deployment((Group(FullAttention(16)),), max_model_len=1024, max_num_batched_tokens=256)
    assert boot_accepts(64, deployment, named("vllm-0.28"))
    assert not boot_accepts(64, deployment, named("vllm-0.30"))
    assert never_admitted(deployment, named("vllm-0.28"), 64) == [Lengths(1009, 1023)]


def test_in_flight_collapse() -> None:
    deployment = Deployment(
        (Group(FullAttention(32)), Group(SlidingWindow(32, 512), 5), Group(SlidingWindow(4, 4), 6)),
        max_model_len=131072,
        max_num_batched_tokens=16384,
        max_concurrent_batches=2,
    )
    assert boot_requirement(deployment, named("vllm-0.28")) == 58465
    assert round(reported_concurrency(535530, deployment, named("vllm-0.28")), 2) == 9.16
    tiny = 6 * group_requirement(SlidingWindow(4, 4), deployment, named("vllm-0.28"))
    assert round(100 * tiny / 58465, 1) == 84.1


@pytest.mark.parametrize(
    ("cache", "arguments", "expected_held", "budget", "length", "expected_cap"),
    [
        (SlidingWindow(1, 1), (0, 0, 1, 2), 3, 1, 3, 2),
        (SlidingWindow(16, 1024), (1038, 1038, 2048, 3), 194, 2048, 131072, 193),
        (ChunkedLocal(3, 1), (2, 2, 2, 0), 2, 2, 4, 1),
    ],
    ids=["lookahead-small", "lookahead-realistic", "chunk-misaligned"],
)
def test_held_above_cap(
    cache: Attention, arguments: tuple[int, ...], expected_held: int, budget: int, length: int, expected_cap: int
) -> None:
    assert held(cache, *arguments, length) == expected_held
    assert cache.bound(budget, length) == expected_cap


@given(deployments, designs, st.integers(1, 300))
def test_never_admitted_is_exact(deployment: Deployment, design: Design, pool: int) -> None:
    """The ranges name a length if and only if the gate or the first step refuses it."""
    named_lengths = {n for r in never_admitted(deployment, design, pool) for n in range(r.first, r.last + 1)}
    refused = {n for n in range(1, deployment.max_model_len) if not admitted(n, pool, deployment, design)}
    assert named_lengths == refused


@given(deployments, designs, st.integers(1, 399))
def test_requirements_grow_with_the_length(deployment: Deployment, design: Design, tokens: int) -> None:
    """Bisection for the border rests on this."""
    assert gate_requirement(tokens, deployment, design) <= gate_requirement(tokens + 1, deployment, design)


@given(deployments, st.integers(1, 400))
def test_sound_boot_covers_the_gate(deployment: Deployment, tokens: int) -> None:
    assert gate_requirement(tokens, deployment, SOUND) <= boot_requirement(deployment, SOUND) - 1


@given(deployments)
def test_generated_deployments_are_legal(deployment: Deployment) -> None:
    assert validate(deployment) is deployment


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"max_model_len": 0}, "max_model_len"),
        ({"max_num_batched_tokens": -1}, "max_num_batched_tokens"),
        ({"lookahead": -1}, "lookahead"),
        ({"blocks": 0}, "blocks"),
        ({"groups": ()}, "groups"),
        ({"groups": (Group(SlidingWindow(16, 0)),)}, "groups[0].window"),
        ({"groups": (Group(FullAttention(16)), Group(ChunkedLocal(0, 4)))}, "groups[1].block_size"),
        ({"groups": (Group(FullAttention(16), 0),)}, "groups[0].count"),
        ({"chunked_prefill": False}, "max_num_batched_tokens"),
    ],
)
def test_an_illegal_field_is_named(change: dict[str, object], field: str) -> None:
    with pytest.raises(UsageError) as caught:
        validate(replace(SCALED, **change))
    assert caught.value.field == field
    assert caught.value.hint


def test_every_constraint_has_a_reason_and_a_hint() -> None:
    constraints = list(legal(SCALED))
    assert len({constraint.field for constraint in constraints}) == len(constraints)
    assert all(constraint.reason and constraint.hint for constraint in constraints)


def test_an_unknown_design_is_named() -> None:
    with pytest.raises(UsageError, match=r"vllm-9: no design has this name; choose one of vllm-0.11"):
        named("vllm-9")
