"""Runs are data: written, read back, replayed, compared."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from poolproof.oracle import Submission, boot
from poolproof.oracle.trace import (
    Abort,
    Scenario,
    Step,
    Submit,
    first_difference,
    moment_difference,
    record_difference,
    replay,
)
from poolproof.spec import (
    SOUND,
    ChunkedLocal,
    Deployment,
    FullAttention,
    Group,
    MLAAttention,
    SlidingWindow,
    UsageError,
    named,
)

DEPLOYMENT = Deployment(
    (Group(FullAttention(2)), Group(SlidingWindow(2, 3, 1), 2), Group(ChunkedLocal(4, 8)), Group(MLAAttention(1))),
    max_model_len=16,
    max_num_batched_tokens=4,
    lookahead=2,
    blocks=60,
)
SCENARIO = Scenario(
    DEPLOYMENT,
    (
        Submit(Submission("a", 7, 4, 2)),
        Step(),
        Step((("a", 1),)),
        Submit(Submission("b", 2, 2)),
        Step(),
        Abort("a"),
        Step(),
    ),
    priority=True,
)


def test_a_scenario_survives_writing_and_reading() -> None:
    text = SCENARIO.to_json()
    assert Scenario.from_json(text) == SCENARIO
    assert Scenario.from_json(text).to_json() == text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"format": 2}, "format"),
        ({"deployment": {}}, "case"),
        ({"actions": [{"jump": 1}]}, "action"),
        ({"actions": ["step"]}, "case"),
        ({"actions": [{"submit": {"nom": "a"}}]}, "nom"),
    ],
)
def test_what_is_no_scenario_is_refused_in_one_line(change: dict[str, object], field: str) -> None:
    with pytest.raises(UsageError) as caught:
        Scenario.from_json(json.dumps({**json.loads(SCENARIO.to_json()), **change}))
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "7"])
def test_text_that_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no saved scenario"):
        Scenario.from_json(text)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(UsageError, match="no cache kind has this name"):
        Scenario.from_json(SCENARIO.to_json().replace('"mla"', '"moon"'))


def test_equal_designs_run_alike_and_others_part_at_a_named_field() -> None:
    ours = replay(SCENARIO, boot(DEPLOYMENT, SOUND, priority=True))
    assert first_difference(ours, replay(SCENARIO, boot(DEPLOYMENT, SOUND, priority=True))) is None
    difference = first_difference(ours, replay(SCENARIO, boot(DEPLOYMENT, named("vllm-0.22"), priority=True)))
    assert difference is not None
    assert (difference.index, difference.field) == (1, "record.tables")
    assert str(difference).startswith("action 1 (Step(accepted=())): record.tables is ")


def test_every_field_of_a_step_and_of_a_state_is_compared() -> None:
    moment = replay(SCENARIO, boot(DEPLOYMENT, SOUND, priority=True))[1]
    record, after = moment.record, moment.after
    assert record is not None
    changes = {
        "scheduled": {"a": 9},
        "admitted": ("z",),
        "resumed": ("z",),
        "preempted": ("z",),
        "finished": ("z",),
        "tables": {},
        "allocations": (),
    }
    for field, value in changes.items():
        found = record_difference(record, replace(record, **{field: value}))  # type: ignore[arg-type]
        assert found is not None
        assert found[0] == f"record.{field}"
    for field in ("free", "references", "waiting", "running", "requests", "batches_in_flight"):
        found = moment_difference(moment, replace(moment, after=replace(after, **{field: None})))  # type: ignore[arg-type]
        assert found is not None
        assert found[0] == f"after.{field}"


def test_what_one_engine_does_not_show_is_not_compared() -> None:
    record = replay(SCENARIO, boot(DEPLOYMENT, SOUND, priority=True))[1].record
    assert record is not None
    (allocation,) = record.allocations
    hidden = replace(record, allocations=(replace(allocation, predicted=None),))
    other = replace(record, allocations=(replace(allocation, predicted=0),))
    assert record_difference(record, hidden) is None
    assert record_difference(record, other) is not None


def test_failures_are_compared_by_presence_and_end_a_run() -> None:
    deployment = Deployment((Group(SlidingWindow(2, 2)), Group(FullAttention(2))), 6, 1, blocks=5)
    scenario = Scenario(deployment, (Submit(Submission("a", 1, 5)), *[Step()] * 9))
    faulty = replay(scenario, boot(deployment, named("allocator-predicts-capped")))
    assert len(faulty) == 6
    other = replace(faulty[-1], record=replace(faulty[-1].record, error="ValueError"), after=faulty[0].after)  # type: ignore[type-var]
    assert moment_difference(faulty[-1], other) is None
    found = first_difference(faulty, replay(scenario, boot(deployment, named("vllm-0.20"))))
    assert found is not None
    assert found.field == "record.error"
