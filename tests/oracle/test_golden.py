"""What the real schedulers of nine releases were seen to do, done by the oracle with each release's design."""

from __future__ import annotations

from dataclasses import replace

import pytest

from poolproof.oracle import Submission, boot
from poolproof.oracle.lone import Fate, lone_run
from poolproof.spec import Deployment, FullAttention, Group, SlidingWindow, UsageError, named

SCALED = Deployment((Group(FullAttention(16)), Group(SlidingWindow(16, 32))), 512, 64)
FIELD = Deployment((Group(FullAttention(64)), Group(SlidingWindow(64, 1024), 5)), 65536, 65536, blocks=2048)
CAPPED = ("vllm-0.20", "vllm-0.21", "vllm-0.22", "vllm-0.25", "vllm-0.28")
RESERVING = ("vllm-0.30", "vllm-0.33")


@pytest.mark.parametrize("design", ["vllm-0.11", "vllm-0.19", *CAPPED, *RESERVING])
def test_boot_accepts_the_least_pool_and_refuses_one_block_less(design: str) -> None:
    least = 40 if design in RESERVING else 39
    assert boot(SCALED, named(design)).deployment.blocks == least
    with pytest.raises(UsageError, match=f"the startup check demands {least}"):
        boot(replace(SCALED, blocks=least - 1), named(design))
    assert boot(replace(SCALED, blocks=10), named(design), forced=True).deployment.blocks == 10


@pytest.mark.parametrize(
    ("designs", "blocks", "prompt", "fate"),
    [
        (("vllm-0.11",), 39, 495, Fate.DONE),
        (("vllm-0.11",), 39, 511, Fate.DONE),
        (("vllm-0.19",), 39, 304, Fate.DONE),
        (("vllm-0.19",), 39, 305, Fate.NEVER_ADMITTED),
        (("vllm-0.19",), 62, 495, Fate.NEVER_ADMITTED),
        (("vllm-0.19",), 63, 495, Fate.DONE),
        (("vllm-0.19",), 64, 511, Fate.NEVER_ADMITTED),
        (("vllm-0.19",), 65, 511, Fate.DONE),
        (CAPPED, 39, 495, Fate.DONE),
        (CAPPED, 39, 496, Fate.DONE),
        (CAPPED, 39, 497, Fate.NEVER_ADMITTED),
        (CAPPED, 39, 511, Fate.NEVER_ADMITTED),
        (CAPPED, 40, 511, Fate.DONE),
        (RESERVING, 40, 495, Fate.DONE),
        (RESERVING, 40, 511, Fate.DONE),
    ],
)
def test_lone_requests_meet_the_observed_fate(designs: tuple[str, ...], blocks: int, prompt: int, fate: Fate) -> None:
    for design in designs:
        outcome = lone_run(boot(replace(SCALED, blocks=blocks), named(design)), prompt)
        assert outcome.fate is fate, (design, outcome)
        if fate is Fate.DONE and prompt in {495, 511}:
            assert (outcome.steps, outcome.peak) == (8, (31, 5) if prompt == 495 else (32, 6))
        if fate is Fate.NEVER_ADMITTED:
            assert outcome.peak == ()


@pytest.mark.parametrize(
    ("design", "least", "peak"),
    [("vllm-0.25", 39, (32, 6)), ("vllm-0.28", 43, (32, 10)), ("vllm-0.30", 44, (32, 10)), ("vllm-0.33", 44, (32, 10))],
)
def test_two_batches_in_flight_take_more(design: str, least: int, peak: tuple[int, ...]) -> None:
    deployment = replace(SCALED, max_concurrent_batches=2)
    assert boot(deployment, named(design)).deployment.blocks == least
    outcome = lone_run(boot(replace(deployment, blocks=least + 1), named(design)), 511)
    assert (outcome.fate, outcome.peak) == (Fate.DONE, peak)


def test_prefill_in_one_step_holds_the_whole_prompt_in_every_group() -> None:
    serve = named("vllm-0.11")
    assert lone_run(boot(FIELD, serve, forced=True), 21824).fate is Fate.DONE
    assert lone_run(boot(FIELD, serve, forced=True), 21825).fate is Fate.NEVER_ADMITTED


def test_null_block_decides_at_the_boundary() -> None:
    deployment = Deployment((Group(FullAttention(16)),), 1024, 256, blocks=64)
    for design in ("vllm-0.19", "vllm-0.20", "vllm-0.25", "vllm-0.28"):
        assert lone_run(boot(deployment, named(design)), 1008).fate is Fate.DONE
        assert lone_run(boot(deployment, named(design)), 1009).fate is Fate.NEVER_ADMITTED
    for design in RESERVING:
        with pytest.raises(UsageError, match="demands 65"):
            boot(deployment, named(design))


def test_without_a_gate_the_same_request_is_computed_for_ever() -> None:
    """0.11.0 admits it, runs out, preempts it, and begins again: no progress, yet never idle."""
    deployment = Deployment((Group(FullAttention(16)),), 1024, 256, blocks=64)
    assert lone_run(boot(deployment, named("vllm-0.11")), 1009).fate is Fate.STRANDED


def test_an_engine_refuses_what_no_engine_serves() -> None:
    engine = boot(SCALED, named("sound"))
    for submission, field in (
        (Submission("a", 0), "prompt"),
        (Submission("a", 512), "prompt"),
        (Submission("a", 1, 0), "output"),
    ):
        with pytest.raises(UsageError) as caught:
            engine.submit(submission)
        assert caught.value.field == field
    engine.submit(Submission("a", 1))
    with pytest.raises(UsageError, match="unfinished"):
        engine.submit(Submission("a", 1))
    with pytest.raises(UsageError, match="no unfinished request"):
        engine.abort("b")
