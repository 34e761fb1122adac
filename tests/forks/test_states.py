"""Recurrent groups on the real schedulers: which release has which cache mode, and what an early one asserts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from poolproof.forks import Implementation
from poolproof.oracle import Submission, boot
from poolproof.oracle.lone import lone_run
from poolproof.oracle.trace import Scenario, Step, Submit
from poolproof.spec import Deployment, FullAttention, Group, UnsupportedError, named
from poolproof.spec.states import MambaAlign, MambaAll, MambaNone

from .conftest import scenario

Release = Callable[[str], Implementation]

pytestmark = pytest.mark.network

BESIDE = Deployment((Group(FullAttention(4)), Group(MambaAlign(4, 2))), 64, 16, lookahead=2, blocks=80)


def shrinking() -> Scenario:
    """Two requests of which the second finds the budget for one draft less after its drafts were rejected."""
    deployment = Deployment((Group(MambaAlign(2, 3)),), 32, 5, lookahead=3, blocks=60)
    return scenario(deployment, Submission("r0", 4, 6), Submission("r1", 2, 12), Step(), Step(), Step())


@pytest.mark.parametrize(
    ("version", "cache", "why"),
    [
        ("0.11.0", MambaAlign(4), "this release has no Mamba cache mode align"),
        ("0.11.0", MambaAll(4), "this release has no Mamba cache mode all"),
        ("0.33.0", MambaAll(4), "this release has no Mamba cache mode all"),
    ],
)
def test_a_mode_that_a_release_lacks_is_unsupported(release: Release, version: str, cache: MambaNone, why: str) -> None:
    with pytest.raises(UnsupportedError, match=f"^unsupported: {why}$"):
        release(version).lone(Deployment((Group(cache),), 16, 16, blocks=20), 8)


def test_several_modes_in_one_model_are_unsupported(release: Release) -> None:
    mixed = Deployment((Group(MambaNone(16)), Group(MambaAlign(4))), 16, 16, blocks=20)
    with pytest.raises(UnsupportedError, match=r"several cache modes in one model \(align, none\)"):
        release("0.33.0").lone(mixed, 8)


@pytest.mark.parametrize(("version", "ends"), [("0.19.1", True), ("0.22.1", True), ("0.25.1", False)])
def test_a_budget_that_cuts_drafts_after_a_rejection_ends_early_releases(
    release: Release, version: str, ends: bool
) -> None:
    error = release(version).run(shrinking(), drain=False).steps[-1].error
    assert (error is not None and error.startswith("AssertionError: num_required_blocks 5 < ")) == ends


@pytest.mark.parametrize("version", ["0.19.1", "0.28.0", "0.33.0"])
def test_states_that_are_moved_are_not_taken(release: Release, version: str) -> None:
    """The answer of the release lists them as if they were new."""
    actions = (Submit(Submission("a", 8, 20)), *[Step()] * 12)
    outcome = release(version).run(Scenario(BESIDE, actions), drain=False)
    taken = [allocation.taken[1] for step in outcome.steps for allocation in step.allocations]
    assert taken[0] == 3
    assert set(taken[1:]) == {0, 1}


def test_a_block_wider_than_a_step_never_begins_in_early_releases(release: Release) -> None:
    wide = Deployment((Group(FullAttention(16)), Group(MambaAlign(16))), 64, 8, blocks=20)
    for version, design, fate in (("0.25.1", "vllm-0.25", "never admitted"), ("0.28.0", "vllm-0.28", "done")):
        assert release(version).lone(wide, 20).fate == fate
        assert lone_run(boot(wide, named(design), forced=True), 20).fate == fate
