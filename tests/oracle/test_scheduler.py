"""Who is served, who is preempted, who comes in: the rules of each design, step by step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from poolproof.oracle import Oracle, Status, StepRecord, Submission, boot
from poolproof.spec import SOUND, Deployment, Design, FullAttention, Group, SlidingWindow, UsageError, named

FULL = Deployment((Group(FullAttention(1)),), 16, 8, blocks=17)


def engine(deployment: Deployment, design: Design = SOUND, *requests: Submission, priority: bool = False) -> Oracle:
    booted = boot(deployment, design, priority=priority, forced=True)
    for request in requests:
        booted.submit(request)
    return booted


def run(booted: Oracle, steps: int) -> list[StepRecord]:
    return [booted.step() for _ in range(steps)]


def test_running_requests_come_before_waiting_ones_and_share_one_budget() -> None:
    booted = engine(FULL, SOUND, Submission("a", 6, 2), Submission("b", 6, 2))
    first, second, third = run(booted, 3)
    assert first.scheduled == {"a": 6, "b": 2}
    assert first.admitted == ("a", "b")
    assert second.scheduled == {"a": 1, "b": 4}
    assert second.finished == ("a", "b")[:1]
    assert third.scheduled == {"b": 1}
    assert third.finished == ("b",)


def test_no_more_requests_run_than_allowed() -> None:
    booted = engine(replace(FULL, max_num_seqs=1), SOUND, Submission("a", 2, 2), Submission("b", 2, 1))
    assert run(booted, 1)[0].scheduled == {"a": 2}
    assert booted.snapshot().waiting == ("b",)


def test_without_chunked_prefill_a_prompt_waits_for_a_step_of_its_own() -> None:
    whole = replace(FULL, chunked_prefill=False, max_num_batched_tokens=16, blocks=40)
    requests = (Submission("a", 10, 1), Submission("b", 9, 1), Submission("c", 2, 1), Submission("d", 8, 1))
    assert engine(whole, SOUND, *requests).step().scheduled == {"a": 10}
    passed = engine(whole, named("vllm-0.11"), *requests)
    assert passed.step().scheduled == {"a": 10, "c": 2}
    assert passed.snapshot().waiting == ("d", "b"), "those who were passed come back in reverse"


def test_the_only_running_request_preempts_itself_where_it_does_not_fit() -> None:
    booted = engine(replace(FULL, blocks=4), named("vllm-0.11"), Submission("a", 4, 1))
    booted.scheduler.deployment = replace(FULL, max_num_batched_tokens=2)
    assert booted.step().scheduled == {"a": 2}
    record = booted.step()
    assert (record.scheduled, record.preempted, record.refused) == ({}, ("a",), ("a",))
    view = booted.snapshot().requests["a"]
    assert (view.status, view.computed, view.tables) == (Status.PREEMPTED, 0, ((),))
    assert booted.step().resumed == ("a",)


def test_the_last_to_arrive_is_preempted_first_and_nobody_comes_in_beside_it() -> None:
    booted = engine(replace(FULL, blocks=7), named("vllm-0.33"), Submission("a", 3, 9), Submission("b", 3, 9))
    booted.step()
    booted.submit(Submission("c", 1, 1))
    record = booted.step()
    assert (record.preempted, record.scheduled) == (("b",), {"a": 1})
    assert booted.snapshot().waiting == ("b", "c")
    assert [allocation.refused for allocation in record.allocations] == [True, False]


def test_who_grows_is_let_in_only_if_all_others_can_grow_too() -> None:
    booted = engine(replace(FULL, blocks=13), SOUND, Submission("a", 3, 9), Submission("b", 3, 9))
    assert booted.step().admitted == ("a",)
    while not (record := booted.step()).finished:
        assert record.refused == ("b",)
    assert booted.step().admitted == ("b",)


def priorities(design: Design) -> Oracle:
    booted = engine(replace(FULL, blocks=8), design, Submission("low", 2, 9, 5), priority=True)
    booted.step()
    booted.submit(Submission("high", 3, 9, 1))
    booted.step()
    return booted


def test_by_priority_the_least_urgent_is_preempted_and_its_tokens_go_back_to_the_budget() -> None:
    booted = priorities(named("vllm-0.33"))
    record = booted.step()
    assert record.scheduled == {"high": 1}
    assert record.preempted == ("low",)


def test_a_victim_of_0_11_stays_in_its_batch_and_counts_as_computed() -> None:
    booted = priorities(named("vllm-0.11"))
    record = booted.step()
    assert record.scheduled == {"low": 1, "high": 1}
    assert record.preempted == ("low",)
    view = booted.snapshot().requests["low"]
    assert (view.status, view.computed, view.held) == (Status.PREEMPTED, 1, (0,))


@pytest.mark.parametrize(("design", "served"), [("vllm-0.30", {}), ("vllm-0.33", {"high": 1})])
def test_who_preempts_himself_holds_up_the_others_until_0_33(design: str, served: dict[str, int]) -> None:
    booted = engine(replace(FULL, blocks=7), named(design), Submission("low", 3, 9, 5), priority=True)
    booted.step()
    booted.submit(Submission("high", 2, 9, 1))
    booted.step()
    record = booted.step()
    assert (record.preempted, record.scheduled) == (("low",), served)


def test_accepted_drafts_are_delivered_and_rejected_ones_uncounted() -> None:
    booted = engine(replace(FULL, lookahead=3, blocks=30), SOUND, Submission("a", 2, 10))
    booted.step()
    assert booted.snapshot().requests["a"].drafts == 3
    assert booted.step({"a": 2}).scheduled == {"a": 4}
    view = booted.snapshot().requests["a"]
    assert (view.tokens, view.computed, view.drafts) == (6, 5, 3)
    assert len(view.tables[0]) == 9, "slots for rejected drafts and for lookahead stay"


def test_one_position_stays_for_the_token_to_be_sampled() -> None:
    booted = engine(replace(FULL, lookahead=5, blocks=30, max_num_batched_tokens=16), SOUND, Submission("a", 12, 4))
    booted.step()
    record = booted.step({"a": 5})
    assert record.scheduled == {"a": 3}
    assert record.finished == ("a",)


@pytest.mark.parametrize(
    ("design", "first", "alone"), [("vllm-0.22", 1, 1), ("vllm-0.25", 3, 1), ("vllm-0.28", 3, 1), ("sound", 3, 1)]
)
def test_a_one_token_prompt_is_padded_beside_decoding_requests_only(design: str, first: int, alone: int) -> None:
    deployment = replace(FULL, lookahead=2, blocks=40)
    booted = engine(deployment, named(design), Submission("a", 2, 9))
    booted.step()
    booted.submit(Submission("b", 1, 2))
    assert booted.step().scheduled["b"] == first
    assert engine(deployment, named(design), Submission("b", 1, 2)).step().scheduled["b"] == alone


def test_the_watermark_is_kept_free_beside_running_requests_only() -> None:
    deployment = replace(FULL, blocks=8, watermark=2)
    booted = engine(deployment, SOUND, Submission("a", 3, 2), Submission("b", 3, 1))
    assert booted.step().scheduled == {"a": 3}
    assert engine(deployment, named("vllm-0.22"), Submission("a", 3, 2), Submission("b", 3, 1)).step().admitted == (
        "a",
        "b",
    )
    assert engine(deployment, SOUND, Submission("a", 7, 1)).step().scheduled == {"a": 7}


def test_an_aborted_request_gives_its_blocks_back_and_its_flying_output_is_lost() -> None:
    booted = engine(replace(FULL, max_concurrent_batches=2, blocks=30), SOUND, Submission("a", 3, 5))
    booted.step()
    booted.abort("a")
    assert len(booted.snapshot().free) == 29
    record = booted.step()
    assert (record.finished, booted.snapshot().batches_in_flight) == ((), 0)


def test_chunks_stay_clear_of_the_prompts_end_for_multi_module_drafting() -> None:
    retaining = Deployment((Group(SlidingWindow(2, 4, 2)),), 24, 5, lookahead=3, blocks=40)
    booted = engine(retaining, SOUND, Submission("a", 11, 2))
    assert [record.scheduled for record in run(booted, 3)] == [{"a": 5}, {"a": 3}, {"a": 3}]


def test_an_engine_that_raised_is_not_driven_further() -> None:
    deployment = Deployment((Group(SlidingWindow(2, 2)), Group(FullAttention(2))), 6, 1, blocks=5)
    booted = engine(deployment, named("allocator-predicts-capped"), Submission("a", 1, 5))
    records = run(booted, 5)
    assert [record.error for record in records] == [None] * 4 + ["1 blocks asked for, 0 free"]
    with pytest.raises(UsageError, match="not driven further"):
        booted.step()


def test_a_copy_goes_its_own_way() -> None:
    booted = engine(FULL, SOUND, Submission("a", 6, 2), Submission("b", 6, 2))
    booted.step()
    twin = booted.copy()
    assert twin.key() == booted.key()
    assert twin.snapshot() == booted.snapshot()
    before = booted.snapshot()
    twin.step()
    twin.abort("b")
    assert booted.snapshot() == before
    assert twin.key() != booted.key()
