"""An implementation is run between the borders, too: a fault at one length alone is found."""

from __future__ import annotations

import pytest

from poolproof.checking.case import case_of
from poolproof.checking.samples import run_samples, sampled
from poolproof.render.records import Observation
from poolproof.spec import Deployment, FullAttention, Group, SlidingWindow, named


def deployment(length: int) -> Deployment:
    groups = (Group(FullAttention(16)), Group(SlidingWindow(16, 32)))
    return Deployment(groups, max_model_len=length, max_num_batched_tokens=64, blocks=20_000)


def refusing(length: int) -> object:
    """Make an engine that serves every prompt but those of one length."""

    def engine(prompt: int) -> Observation:
        return Observation("fork", "never admitted" if prompt == length else "served", 1, (1, 1), agrees=False)

    return engine


@pytest.mark.parametrize("length", [1, 100, 510])
def test_where_it_is_affordable_every_length_is_run(length: int) -> None:
    case = case_of(deployment(512), named("vllm-0.28"))
    surprising, count = run_samples(case, [refusing(length)])
    assert [run.prompt for run in surprising] == [length]
    assert count + len(case.predictions.boundary()) == 511


@pytest.mark.parametrize("length", [15, 16, 17, 31, 32, 33, 63, 64, 65])
def test_else_the_lengths_at_which_formulas_turn_are_run(length: int) -> None:
    case = case_of(deployment(131_072), named("vllm-0.28"))
    surprising, count = run_samples(case, [refusing(length)])
    assert [run.prompt for run in surprising] == [length]
    assert 9 <= count == len(set(sampled(case)) - set(case.predictions.boundary())) <= 40


def test_without_an_implementation_nothing_is_sampled() -> None:
    assert run_samples(case_of(deployment(64), named("vllm-0.28")), []) == ((), 0)
