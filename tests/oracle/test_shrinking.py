"""A failing run becomes small, and only by steps that still fail."""

from __future__ import annotations

from dataclasses import replace

from poolproof.oracle import Submission
from poolproof.oracle.shrinking import shrink
from poolproof.oracle.trace import Abort, Scenario, Step, Submit
from poolproof.spec import Deployment, FullAttention, Group, SlidingWindow

LARGE = Scenario(
    Deployment(
        (Group(SlidingWindow(8, 20)), Group(FullAttention(4)), Group(SlidingWindow(3, 5))),
        max_model_len=40,
        max_num_batched_tokens=40,
        max_num_seqs=8,
        lookahead=2,
        chunked_prefill=False,
        watermark=1,
        blocks=60,
    ),
    (
        Submit(Submission("a", 20, 9, 2)),
        Step((("a", 2),)),
        Submit(Submission("b", 30, 5, 1)),
        Abort("a"),
        *[Step((("b", 1),))] * 9,
    ),
    priority=True,
)


def windowed(scenario: Scenario) -> bool:
    return any(isinstance(group.cache, SlidingWindow) for group in scenario.deployment.groups)


def test_only_what_matters_is_left() -> None:
    def fails(scenario: Scenario) -> Scenario | None:
        prompts = [action.submission.prompt for action in scenario.actions if isinstance(action, Submit)]
        long = any(prompt > 6 for prompt in prompts) and any(isinstance(action, Step) for action in scenario.actions)
        return scenario if long and windowed(scenario) else None

    small = shrink(LARGE, fails)
    (group,) = small.deployment.groups
    assert group.cache == SlidingWindow(1, 1)
    assert [type(action) for action in small.actions] == [Submit, Step]
    assert small.actions[0] == Submit(Submission(small.actions[0].submission.name, 7, 1))  # type: ignore[union-attr]
    deployment = small.deployment
    assert (deployment.max_model_len, deployment.lookahead, deployment.watermark) == (8, 0, 0)
    assert deployment.chunked_prefill
    assert not small.priority


def test_it_is_cut_where_it_fails() -> None:
    def fails(scenario: Scenario) -> Scenario | None:
        steps = [index for index, action in enumerate(scenario.actions) if isinstance(action, Step)]
        return replace(scenario, actions=scenario.actions[: steps[2] + 1]) if steps[2:] else None

    assert sum(isinstance(action, Step) for action in shrink(LARGE, fails).actions) == 3


def test_what_never_fails_again_stays_as_it_is() -> None:
    assert shrink(LARGE, lambda _: None) == LARGE


def test_no_more_is_tried_than_allowed() -> None:
    tried: list[Scenario] = []
    shrink(LARGE, tried.append, tries=25)
    assert len(tried) == 25


def test_every_proposal_is_a_legal_deployment() -> None:
    """A step has room beside the drafts, and without chunked prefill it has room for a whole prompt."""
    seen: list[Scenario] = []
    shrink(LARGE, seen.append, tries=2000)
    for scenario in seen:
        deployment = scenario.deployment
        assert deployment.max_num_batched_tokens > deployment.lookahead
        assert deployment.chunked_prefill or deployment.max_num_batched_tokens >= deployment.max_model_len
