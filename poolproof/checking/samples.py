"""The prompts between the borders that an implementation is run on too: its own code need not follow the formulas."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from ..inputs.numbers import known
from ..render.records import Run
from ..spec import ChunkedLocal, SlidingWindow
from .case import Case
from .engines import Engine, run_one

DRAWN = 24
"""The lengths that are drawn at random above that, with a fixed seed."""

LARGEST_WORK = 3000
"""The steps that sampled prompts may take together; where every length can be had for as many, every one is run."""


def sampled(case: Case) -> list[int]:
    """List the sampled lengths: all of them where they are few, else those beside what formulas turn on, and some."""
    longest = case.predictions.longest
    if longest <= LARGEST_WORK and sum(_steps(case, prompt) for prompt in range(1, longest + 1)) <= LARGEST_WORK:
        return list(range(1, longest + 1))
    draw = random.Random(0)  # noqa: S311 - the same prompts in every run, not a secret
    near = {size + offset for size in _turning_points(case) for offset in (-1, 0, 1)}
    drawn = [draw.randint(1, longest) for _ in range(DRAWN)]
    return list(_affordable(case, sorted(near & set(range(1, longest + 1))) + drawn))


def run_samples(case: Case, engines: Sequence[Engine]) -> tuple[tuple[Run, ...], int]:
    """Run the sampled prompts on the engines; return those that did not go as predicted, and how many were run."""
    if not engines:
        return (), 0
    known_already = set(case.predictions.boundary())
    runs = [run_one(case, prompt, engines) for prompt in sampled(case) if prompt not in known_already]
    return tuple(run for run in runs if not all(seen.agrees for seen in run.observations)), len(runs)


def _turning_points(case: Case) -> Iterator[int]:
    """List the lengths at which a formula changes its course: a block, a window, a chunk, a step."""
    deployment = case.deployment
    yield known(deployment.max_num_batched_tokens)
    yield case.predictions.longest // 2
    for group in deployment.groups:
        yield known(group.cache.block_size)
        if isinstance(group.cache, SlidingWindow):
            yield known(group.cache.window)
        if isinstance(group.cache, ChunkedLocal):
            yield known(group.cache.chunk)


def _affordable(case: Case, prompts: Sequence[int]) -> Iterator[int]:
    """Pass prompts on, each once, while the steps that they take are few enough."""
    work, passed = 0, set[int]()
    for prompt in prompts:
        if prompt not in passed and work + _steps(case, prompt) <= LARGEST_WORK:
            work += _steps(case, prompt)
            passed.add(prompt)
            yield prompt


def _steps(case: Case, prompt: int) -> int:
    """Count the steps that a prompt takes on an empty engine, one for what is left over included."""
    return 1 + prompt // known(case.deployment.max_num_batched_tokens)
