"""Make a failing scenario small: passes propose, one `consider` decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from ..spec.attention import Attention, FullAttention
from ..spec.deployment import Group
from .engine import Submission
from .trace import Abort, Action, Scenario, Step, Submit

Record = TypeVar("Record", Submission, Attention)

Fails = Callable[[Scenario], Scenario | None]
"""Run a scenario and return it cut at its failure, or None where it does not fail."""

Pass = Callable[[Scenario], Iterator[Scenario]]
"""Propose simpler scenarios, the boldest first."""


class _Shrinker:
    def __init__(self, scenario: Scenario, fails: Fails, tries: int) -> None:
        self.best, self.fails, self.left = scenario, fails, tries

    def consider(self, candidate: Scenario) -> bool:
        """Keep a candidate that is simpler and fails."""
        if self.left == 0 or _weight(candidate) >= _weight(self.best) or not _is_drawn(candidate):
            return False
        self.left -= 1
        found = self.fails(candidate)
        if found is None:
            return False
        self.best = found
        return True

    def improved(self, propose: Pass) -> bool:
        """Run one pass until none of its proposals is kept."""
        improved = False
        while any(self.consider(candidate) for candidate in propose(self.best)):
            improved = True
        return improved


def shrink(scenario: Scenario, fails: Fails, tries: int = 3000) -> Scenario:
    """Return the simplest failing scenario that so many tries lead to; fewer actions count before smaller numbers."""
    shrinker = _Shrinker(scenario, fails, tries)
    improved = True
    while improved:
        improved = False
        for propose in _PASSES:
            improved |= shrinker.improved(propose)
    return shrinker.best


def _weight(scenario: Scenario) -> tuple[int, ...]:
    """Measure a scenario: its actions, its groups, what is out of the ordinary, its numbers."""
    deployment = scenario.deployment
    odd = (
        deployment.lookahead + deployment.watermark + (deployment.max_concurrent_batches - 1),
        scenario.priority + (not deployment.chunked_prefill),
        sum(not isinstance(group.cache, FullAttention) for group in deployment.groups),
    )
    return (len(scenario.actions), len(deployment.groups), *odd, sum(_numbers(scenario)))


def _numbers(scenario: Scenario) -> Iterator[int]:
    deployment = scenario.deployment
    yield from (getattr(deployment, name) for name in _SIZES)
    for group in deployment.groups:
        yield from (getattr(group.cache, field.name) for field in fields(group.cache))
    for action in scenario.actions:
        match action:
            case Submit(submission):
                yield submission.prompt + submission.output + abs(submission.priority)
            case Step(accepted):
                yield from (1 + count for _, count in accepted)


def _is_drawn(scenario: Scenario) -> bool:
    """Say whether a scenario lies where engines are compared: the numbers fit each other as a user's would."""
    deployment = scenario.deployment
    longest = deployment.max_model_len
    whole = deployment.chunked_prefill or deployment.max_num_batched_tokens >= longest
    requests = [action.submission for action in scenario.actions if isinstance(action, Submit)]
    fit = all(request.prompt + request.output <= longest for request in requests)
    return bool(whole and fit and deployment.max_num_batched_tokens > deployment.lookahead)


def _fewer_actions(scenario: Scenario) -> Iterator[Scenario]:
    """Leave out a request with all that is done to it, or a stretch of actions."""
    actions = scenario.actions
    for action in actions:
        if isinstance(action, Submit):
            yield replace(scenario, actions=tuple(_without(actions, action.submission.name)))
    length = len(actions) // 2
    while length:
        for start in range(0, len(actions) - length + 1):
            yield replace(scenario, actions=actions[:start] + actions[start + length :])
        length //= 2


def _without(actions: tuple[Action, ...], name: str) -> Iterator[Action]:
    for action in actions:
        match action:
            case Submit(submission) if submission.name == name:
                continue
            case Abort(dropped) if dropped == name:
                continue
            case Step(accepted):
                yield Step(tuple(pair for pair in accepted if pair[0] != name))
            case _:
                yield action


def _alone(scenario: Scenario) -> Iterator[Scenario]:
    """Leave one request and its first step, in a pool of any smaller size: what a gate does wrong shows at one size."""
    longest = scenario.deployment.max_model_len - 1
    for submission in [action.submission for action in scenario.actions if isinstance(action, Submit)]:
        for prompt in dict.fromkeys((longest, submission.prompt)):
            lone = Submit(replace(submission, prompt=prompt, output=1))
            yield from _in_smaller_pools(replace(scenario, actions=(lone, Step())))


def _steps_as_prompts(scenario: Scenario) -> Iterator[Scenario]:
    """Leave out a step, and let a request begin with the tokens that it would have computed in it."""
    for index, action in enumerate(scenario.actions):
        if not isinstance(action, Step):
            continue
        rest = scenario.actions[:index] + scenario.actions[index + 1 :]
        for place, earlier in enumerate(rest[:index]):
            if isinstance(earlier, Submit) and earlier.submission.output > 1:
                longer = _grown(earlier.submission)
                yield replace(scenario, actions=(*rest[:place], Submit(longer), *rest[place + 1 :]))


def _grown(submission: Submission) -> Submission:
    return replace(submission, prompt=submission.prompt + 1, output=submission.output - 1)


def _fewer_groups(scenario: Scenario) -> Iterator[Scenario]:
    groups = scenario.deployment.groups
    for index in range(len(groups)) if len(groups) > 1 else ():
        yield from _in_smaller_pools(_deployed(scenario, groups=groups[:index] + groups[index + 1 :]))


def _shorter(scenario: Scenario) -> Iterator[Scenario]:
    """Shorten sequences, prompts with them: what needs an exact pool needs another one then."""
    for length in _lower(scenario.deployment.max_model_len, 2):
        actions = tuple(_cut(action, length) for action in scenario.actions)
        yield from _in_smaller_pools(_deployed(replace(scenario, actions=actions), max_model_len=length))


def _cut(action: Action, length: int) -> Action:
    """Make a request fit a sequence of so many tokens."""
    if not isinstance(action, Submit):
        return action
    prompt = min(action.submission.prompt, length - 1)
    output = min(action.submission.output, length - prompt)
    return Submit(replace(action.submission, prompt=prompt, output=output))


def _in_smaller_pools(scenario: Scenario) -> Iterator[Scenario]:
    for blocks in range(scenario.deployment.blocks or 0, 1, -1):
        yield _deployed(scenario, blocks=blocks)


def _plainer_settings(scenario: Scenario) -> Iterator[Scenario]:
    yield replace(scenario, priority=False)
    yield _deployed(scenario, chunked_prefill=True)
    yield _deployed(scenario, lookahead=0)
    yield _deployed(scenario, watermark=0)
    yield _deployed(scenario, max_concurrent_batches=1)
    for index, group in enumerate(scenario.deployment.groups):
        yield _with_cache(scenario, index, FullAttention(group.cache.block_size))


_SIZES = ("max_model_len", "max_num_batched_tokens", "max_num_seqs", "lookahead", "watermark", "blocks")


def _smaller_sizes(scenario: Scenario) -> Iterator[Scenario]:
    for name in _SIZES:
        least = 0 if name in ("lookahead", "watermark") else 1
        for value in _lower(getattr(scenario.deployment, name), least):
            yield _deployed(scenario, **{name: value})
    for index, group in enumerate(scenario.deployment.groups):
        for field in fields(group.cache):
            for value in _lower(getattr(group.cache, field.name), 0 if field.name == "extra_retained" else 1):
                yield _with_cache(scenario, index, _changed(group.cache, field.name, value))


def _smaller_requests(scenario: Scenario) -> Iterator[Scenario]:
    for index, action in enumerate(scenario.actions):
        for simpler in _simpler(action):
            yield replace(scenario, actions=(*scenario.actions[:index], simpler, *scenario.actions[index + 1 :]))


def _simpler(action: Action) -> Iterator[Action]:
    match action:
        case Submit(submission):
            for name, least in (("prompt", 1), ("output", 1), ("priority", 0)):
                for value in _lower(getattr(submission, name), least):
                    yield Submit(_changed(submission, name, value))
        case Step(accepted):
            yield Step(())
            for name, count in accepted:
                yield from (
                    Step(tuple((other, value if other == name else kept) for other, kept in accepted))
                    for value in _lower(count, 0)
                )


def _lower(value: int, least: int) -> Iterator[int]:
    """Propose the least value, then halves of the way to it, then one less."""
    distance = value - least
    while distance > 0:
        yield value - distance
        distance //= 2


def _deployed(scenario: Scenario, **changes: Any) -> Scenario:
    return replace(scenario, deployment=replace(scenario.deployment, **changes))


def _changed(record: Record, name: str, value: int) -> Record:
    """Change one number of a record."""
    changes: dict[str, Any] = {name: value}
    return replace(record, **changes)


def _with_cache(scenario: Scenario, index: int, cache: Attention) -> Scenario:
    groups = list(scenario.deployment.groups)
    groups[index] = Group(cache, groups[index].count)
    return _deployed(scenario, groups=tuple(groups))


_PASSES: tuple[Pass, ...] = (
    _fewer_actions,
    _alone,
    _steps_as_prompts,
    _fewer_groups,
    _shorter,
    _plainer_settings,
    _smaller_requests,
    _smaller_sizes,
)
