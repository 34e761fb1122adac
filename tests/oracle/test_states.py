"""Recurrent groups on the oracle: tables of aligned states, what they are predicted, and what early releases assert."""

from __future__ import annotations

import pytest

from poolproof.oracle import Submission, boot
from poolproof.oracle.coordinator import Coordinator
from poolproof.oracle.outcome import run_out
from poolproof.oracle.pool import BlockPool, PoolError
from poolproof.oracle.states import AlignedStates
from poolproof.oracle.trace import Scenario, Step, Submit
from poolproof.spec import (
    SOUND,
    Deployment,
    Design,
    FullAttention,
    Group,
    UnsupportedError,
    boot_requirement,
    group_requirement,
    named,
)
from poolproof.spec.states import MambaAlign, MambaAll, MambaNone

SHRINKING = Scenario(
    Deployment((Group(MambaAlign(2, 3)),), 32, 5, lookahead=3, blocks=60),
    (Submit(Submission("r0", 4, 6)), Submit(Submission("r1", 2, 12)), Step(), Step(), Step()),
)
"""Two requests of which the second finds the budget for one draft less after its drafts were rejected."""


def states(design: str = "vllm-0.33", block: int = 4, speculative: int = 1, blocks: int = 20) -> AlignedStates:
    deployment = Deployment((Group(MambaAlign(block, speculative)),), 64, 64)
    coordinator = Coordinator(deployment, named(design), BlockPool(blocks, freed_first=False))
    (group,) = coordinator.groups
    assert isinstance(group, AlignedStates)
    return group


def taken(group: AlignedStates, processed: int, tokens: int) -> tuple[int, int, tuple[int, ...]]:
    """Take a step: what was predicted, what was taken, and the table after it."""
    group.recycle("a", processed)
    predicted = group.predicted("a", tokens, tokens)
    return predicted, group.allocate("a", tokens, tokens), group.table("a")


def test_the_running_state_moves_on_and_leaves_one_copy_behind() -> None:
    group = states()
    assert taken(group, 0, 4) == (2, 2, (1, 2))
    # It moves over a gap: its copy stays, and the speculated state comes along.
    assert taken(group, 4, 12) == (1, 1, (1, 0, 2, 3))
    assert taken(group, 12, 16) == (1, 1, (0, 0, 2, 3, 4))
    assert taken(group, 16, 16) == (0, 0, (0, 0, 0, 3, 4))


def test_speculated_states_move_to_the_end_of_the_table() -> None:
    group = states(speculative=2)
    assert taken(group, 0, 4)[2] == (1, 2, 3)
    assert taken(group, 4, 20)[2] == (1, 0, 0, 0, 2, 3, 4)


def test_a_copy_that_was_passed_is_found_behind_gaps_by_later_releases_only() -> None:
    for design, table in (("vllm-0.28", (1, 0, 0, 0, 3, 4)), ("vllm-0.30", (0, 0, 0, 0, 3, 4))):
        group = states(design, speculative=0)
        for tokens in (4, 12, 20):
            taken(group, 0, tokens)
        assert group.table("a") == (1, 0, 2, 0, 3)
        group.recycle("a", 20)
        assert taken(group, 20, 24)[2] == table, design


def test_drafts_count_as_rejected_where_computed_tokens_count_as_settled() -> None:
    for design, kept in (("vllm-0.25", 1), ("vllm-0.28", 0)):
        group = states(design)
        taken(group, 0, 4)
        taken(group, 4, 8)
        group.recycle("a", 5)
        assert group.table("a")[0] == kept


def test_a_shorter_table_is_an_error_a_credit_or_nothing() -> None:
    for design in ("vllm-0.22", "vllm-0.33", "sound"):
        group = states(design)
        taken(group, 0, 12)
        assert group.predicted("a", 4, 4) == (0 if design == "sound" else -2)
        if design == "vllm-0.22":
            with pytest.raises(PoolError, match="4 entries of states and a step asks for 2"):
                group.allocate("a", 4, 4)
        else:
            assert group.allocate("a", 4, 4) == 0


def test_a_budget_that_cuts_drafts_after_a_rejection_ends_early_releases() -> None:
    for name, ends in (("vllm-0.22", True), ("vllm-0.25", False)):
        outcome = run_out(SHRINKING, boot(SHRINKING.deployment, named(name), forced=True), drain=False)
        assert (outcome.steps[-1].error is not None) == ends


def test_a_copied_table_goes_on_alike() -> None:
    group = states()
    taken(group, 0, 4)
    taken(group, 4, 12)
    twin = group.copy(group.pool.copy())
    assert taken(twin, 12, 16) == taken(group, 12, 16)
    assert twin.memory() == group.memory() == (("a", 2),)


@pytest.mark.parametrize("batches", [1, 2, 3])
@pytest.mark.parametrize("cache", [MambaAlign(4), MambaAlign(2, 3), MambaNone(40, 2)])
def test_the_sound_design_holds_no_more_than_it_reserves(cache: MambaNone, batches: int) -> None:
    deployment = Deployment(
        (Group(FullAttention(4)), Group(cache)), 40, 9, max_concurrent_batches=batches, lookahead=int(cache.speculative)
    )
    engine = boot(deployment, SOUND)
    reserved = group_requirement(cache, engine.deployment, SOUND)
    engine.submit(Submission("a", 23, 17))
    held = 0
    while "a" in engine.snapshot().requests:
        record = engine.step()
        held = max(held, record.held.get("a", (0, 0))[1])
        assert not record.preempted
    assert 0 < held <= reserved


@pytest.mark.parametrize(
    ("groups", "design", "why"),
    [
        ((MambaNone(16), MambaAlign(4)), SOUND, "several cache modes in one model .mamba_align, mamba_none"),
        ((MambaAlign(4),), named("vllm-0.11"), "a mamba_align cache under vllm-0.11"),
        ((MambaAll(4),), named("vllm-0.33"), "a mamba_all cache under vllm-0.33"),
        ((MambaAlign(4, 0, 1),), named("vllm-0.33"), "a state kept inside a chunk"),
    ],
)
def test_what_no_engine_serves_is_unsupported(groups: tuple[MambaNone, ...], design: Design, why: str) -> None:
    deployment = Deployment(tuple(map(Group, groups)), 16, 16)
    with pytest.raises(UnsupportedError, match=why):
        boot(deployment, design)


def test_boot_pays_for_copies_in_flight_in_the_sound_design_only() -> None:
    deployment = Deployment((Group(MambaAlign(16, 3)),), 64, 64, max_concurrent_batches=2, lookahead=3)
    assert boot_requirement(deployment, named("vllm-0.33")) == 1 + 5
    assert boot_requirement(deployment, SOUND) == 1 + 6
