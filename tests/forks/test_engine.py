"""A fork's scheduler keeps the Engine protocol: conservation, preemption, drafts, aborts, priorities."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from poolproof.forks import Implementation
from poolproof.oracle.engine import Snapshot, Submission
from poolproof.oracle.lone import Fate
from poolproof.oracle.trace import Abort, Step
from poolproof.spec.attention import FullAttention, MLAAttention, SlidingWindow
from poolproof.spec.deployment import Deployment, Group
from poolproof.spec.errors import UnsupportedError, UsageError

from .conftest import RELEASES, scenario

Release = Callable[[str], Implementation]

SMALL = Deployment(
    groups=(Group(FullAttention(4)), Group(SlidingWindow(4, 8))), max_model_len=64, max_num_batched_tokens=16, blocks=40
)
FULL = Deployment(groups=(Group(FullAttention(4)),), max_model_len=64, max_num_batched_tokens=16, blocks=40)
OLD, NEW = "0.11.0", "0.33.0"

pytestmark = pytest.mark.network


def conserved(snapshot: Snapshot, blocks: int) -> bool:
    held = [b for view in snapshot.requests.values() for table in view.tables for b in table if b]
    return sorted([*held, *snapshot.free]) == list(range(1, blocks))


def actions(seed: int) -> tuple[Submission | Step, ...]:
    """Make 1 to 4 requests of any length, with some steps between them."""
    choose = random.Random(seed)  # noqa: S311 - a reproducible choice
    made: list[Submission | Step] = []
    for name in range(choose.randint(1, 4)):
        prompt = choose.randint(1, 50)
        made.append(Submission(str(name), prompt, choose.randint(1, 64 - prompt)))
        made += [Step(((str(name), choose.randint(0, 2)),)) for _ in range(choose.randint(0, 3))]
    return tuple(made)


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("seed", range(6))
def test_blocks_are_neither_lost_nor_held_twice(release: Release, version: str, seed: int) -> None:
    choose = random.Random(seed)  # noqa: S311 - a reproducible choice
    base = choose.choice([SMALL, FULL])
    blocks = choose.randint(20, 40)
    deployment = replace(base, max_concurrent_batches=choose.choice([1, 2, 3]), blocks=blocks)
    outcome = release(version).run(scenario(deployment, *actions(seed)), snapshots=True)
    assert outcome.error is None
    assert all(conserved(s, blocks) for s in outcome.snapshots)


@pytest.mark.parametrize("version", [OLD, "0.22.1", NEW])
def test_preemption_gives_blocks_back_and_the_request_resumes(release: Release, version: str) -> None:
    deployment = replace(FULL, blocks=13)
    outcome = release(version).run(scenario(deployment, Submission("a", 16, 20), Submission("b", 16, 20)))
    preempted = [name for step in outcome.steps for name in step.preempted]
    resumed = [name for step in outcome.steps for name in step.resumed]
    assert outcome.fate is Fate.DONE
    assert preempted == resumed
    assert set(preempted) == {"b"}


@pytest.mark.parametrize("version", [OLD, NEW])
def test_accepted_drafts_are_delivered(release: Release, version: str) -> None:
    """Nine output tokens: one after the prompt, then one, two or four a step as 0, 1 or 3 drafts are accepted."""
    deployment = replace(FULL, lookahead=3)
    steps = {
        accept: len(release(version).run(scenario(deployment, Submission("a", 4, 9)), accept=accept).steps)
        for accept in (0, 1, 3)
    }
    assert steps == {0: 9, 1: 5, 3: 3}


def test_drafts_under_asynchronous_scheduling(release: Release) -> None:
    deployment = replace(FULL, lookahead=3, max_concurrent_batches=2)
    outcome = release(NEW).run(scenario(deployment, Submission("a", 4, 20)), accept=2)
    assert outcome.fate is Fate.DONE
    assert any(count == 4 for step in outcome.steps for count in step.scheduled.values())


@pytest.mark.parametrize("batches", [1, 2, 3])
def test_as_many_batches_in_flight_as_asked_for(release: Release, batches: int) -> None:
    deployment = replace(FULL, max_concurrent_batches=batches)
    outcome = release(NEW).run(scenario(deployment, Submission("a", 60, 4)), snapshots=True)
    assert max(s.batches_in_flight for s in outcome.snapshots) == batches - 1
    assert outcome.fate is Fate.DONE


def test_a_step_tells_tables_and_predictions(release: Release) -> None:
    outcome = release(NEW).run(scenario(SMALL, Submission("a", 60, 4)))
    first = outcome.steps[0]
    assert first.scheduled == {"a": 16}
    assert first.held == {"a": (4, 4)}
    assert first.allocations[0].predicted == sum(first.allocations[0].taken) == 8
    assert outcome.steps[2].held["a"][1] < 12


def test_abort_gives_everything_back(release: Release) -> None:
    outcome = release(NEW).run(scenario(FULL, Submission("a", 60, 4), Step(), Abort("a")), snapshots=True)
    assert outcome.fate is Fate.DONE
    assert len(outcome.snapshots[-1].free) == 39


@pytest.mark.parametrize("version", [OLD, NEW])
def test_priority_decides_who_is_served_first(release: Release, version: str) -> None:
    late = Submission("late", 8, 2, priority=-1)
    one = replace(FULL, max_num_seqs=1)
    outcome = release(version).run(scenario(one, Submission("early", 8, 2), late, priority=True))
    assert outcome.steps[0].admitted == ("late",)


def test_equal_prompts_share_blocks_only_with_prefix_caching(release: Release) -> None:
    actions = (Submission("a", 16, 2), Step(), Step(), Submission("b", 16, 2))
    tokens = [
        next(
            s.scheduled["b"]
            for s in release(NEW).run(scenario(replace(FULL, prefix_caching=on), *actions)).steps
            if s.scheduled.get("b")
        )
        for on in (False, True)
    ]
    assert tokens == [16, 4]


def test_groups_of_different_block_size(release: Release) -> None:
    deployment = Deployment(
        groups=(Group(MLAAttention(8)), Group(SlidingWindow(4, 8), count=2)),
        max_model_len=64,
        max_num_batched_tokens=16,
        blocks=60,
    )
    outcome = release(NEW).run(scenario(deployment, Submission("a", 60, 4)))
    assert (outcome.fate, sum(outcome.peaks["a"])) == (Fate.DONE, 8 + 5 + 5)
    assert release(NEW).smallest_pool(deployment) == 8 + 2 * 7 + 1


def test_what_an_engine_would_not_take_is_refused(release: Release) -> None:
    with pytest.raises(UsageError, match="no output token would fit"):
        release(NEW).run(scenario(FULL, Submission("a", 64, 1)))
    with pytest.raises(UsageError, match="another request"):
        release(NEW).run(scenario(FULL, Submission("a", 4), Submission("a", 4)))
    with pytest.raises(UnsupportedError, match="pipeline stages"):
        release(NEW).run(scenario(replace(FULL, lookahead=1, max_concurrent_batches=3)))
    with pytest.raises(UnsupportedError, match="extra_retained"):
        release(OLD).smallest_pool(replace(FULL, groups=(Group(SlidingWindow(4, 8, 2)),), lookahead=3))


def test_a_release_that_refuses_the_groups_is_unsupported(release: Release) -> None:
    mixed = replace(FULL, groups=(Group(FullAttention(4)), Group(SlidingWindow(8, 8))), prefix_caching=True)
    with pytest.raises(UnsupportedError, match="refuses this deployment"):
        release(OLD).run(scenario(mixed))


def test_a_mutant_made_at_load_time_is_caught(release: Release) -> None:
    """Without the block for misalignment the cap is too small, and boot accepts a pool one block smaller."""
    file = "v1/kv_cache_interface.py"
    text = (release(NEW).source.root / release(NEW).source.package / file).read_text()
    line = next(line for line in text.splitlines() if "cdiv(num_tokens, self.block_size) + 1" in line)
    with Implementation(release(NEW).source, patches=[(file, line, line.replace(" + 1", ""))]) as mutant:
        smaller = mutant.smallest_pool(SMALL)
    assert smaller == release(NEW).smallest_pool(SMALL) - 1
    assert (release(NEW).source.root / release(NEW).source.package / file).read_text() == text


def test_a_fork_whose_root_package_has_another_name(release: Release, tmp_path: Path) -> None:
    original = release("0.21.0").source
    for file in (original.root / original.package).rglob("*.py"):
        copy = tmp_path / "nova" / file.relative_to(original.root / original.package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(re.sub(r"(?m)^(\s*(?:from|import) )vllm\b", r"\1nova", file.read_text()))
    with Implementation(str(tmp_path)) as renamed:
        outcomes = [i.run(scenario(SMALL, *actions(3)), snapshots=True) for i in (renamed, release("0.21.0"))]
        assert renamed.source.package == "nova"
    assert outcomes[0] == outcomes[1]


def test_the_generation_of_the_model_runner_is_a_choice(release: Release) -> None:
    deployment = replace(FULL, max_concurrent_batches=2)
    with Implementation(release(NEW).source, runner=2) as second:
        assert second.findings().assumed["model runner"] == "generation 2"
        assert second.run(scenario(deployment, *actions(2))).fate is Fate.DONE


@pytest.mark.parametrize("version", RELEASES)
def test_start_up_that_never_accepts_is_not_searched_for_ever(release: Release, version: str) -> None:
    """Two alike groups of one kind are one group to every release, so that boot cannot be asked about them."""
    with pytest.raises(UnsupportedError, match="groups the layers of this deployment otherwise"):
        release(version).smallest_pool(replace(FULL, groups=(Group(FullAttention(4), count=2),)))


def test_a_number_that_was_not_given_is_asked_for(release: Release) -> None:
    with pytest.raises(UsageError, match="blocks = none"):
        release(NEW).boot(replace(FULL, blocks=None))
