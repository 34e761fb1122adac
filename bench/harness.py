"""Weigh the harness: the real scheduler beside the oracle with every invariant, against the real scheduler alone.

Run `python bench/harness.py [RELEASE]`. Both sides do the same actions, in one process and in turn; the time is that of
the process, so that other work on the machine does not count. Alone means: nothing watched, recorded or shown.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Annotated

import typer

from poolproof.forks import Core, ForkEngine, load_core, resolve
from poolproof.forks.pipeline import Pipeline
from poolproof.forks.requests import make_request
from poolproof.forks.scheduler import make_scheduler
from poolproof.oracle import Submission, boot
from poolproof.oracle.comparison import Pair
from poolproof.oracle.trace import Action, Scenario, Step, Submit
from poolproof.spec import Deployment, Design, FullAttention, Group, SlidingWindow, named

GROUPS = Group(FullAttention(16)), Group(SlidingWindow(16, 64))
DEPLOYMENT = Deployment(GROUPS, max_model_len=512, max_num_batched_tokens=64, blocks=100)
REQUESTS, STEPS, RUNS, ROUNDS, ACCEPTABLE = 4, 80, 12, 5, 3.0


def main(
    release: Annotated[str, typer.Argument(help="The release to drive.")] = "vllm==0.33.0",
    design: Annotated[str, typer.Option(help="The design of the oracle.")] = "vllm-0.33",
) -> None:
    """Print the seconds of both sides for the same steps, and their ratio."""
    source = resolve(release)
    core = load_core(source.root, source.package)
    scenarios = [_scenario(seed) for seed in range(RUNS)]
    ratios = []
    for _ in range(ROUNDS):
        alone = _seconds(lambda scenario: _alone(core, scenario), scenarios)
        beside = _seconds(lambda scenario: _beside(core, named(design), scenario), scenarios)
        ratios.append(beside / alone)
        print(f"alone {alone:.3f} s, with oracle and invariants {beside:.3f} s: {beside / alone:.2f} times")
    ratio = median(ratios)
    what = f"{RUNS * STEPS} steps, {REQUESTS} requests, {DEPLOYMENT.blocks} blocks"
    print(f"{what}: {ratio:.2f} times (acceptable: {ACCEPTABLE})")
    sys.exit(ratio > ACCEPTABLE)


def _scenario(seed: int) -> Scenario:
    """Submit four requests in the course of some steps; long enough for all of them to decode side by side."""
    draw = random.Random(seed)  # noqa: S311 - drawn, not secret
    actions: list[Action] = []
    for number in range(REQUESTS):
        actions.append(Submit(Submission(f"r{number}", draw.randint(20, 200), draw.randint(60, 200))))
        actions += [Step()] * (STEPS // REQUESTS)
    return Scenario(DEPLOYMENT, tuple(actions))


def _seconds(run: Callable[[Scenario], None], scenarios: Sequence[Scenario]) -> float:
    begun = time.process_time()
    for scenario in scenarios:
        run(scenario)
    return time.process_time() - begun


def _alone(core: Core, scenario: Scenario) -> None:
    scheduler, hasher = make_scheduler(core, scenario.deployment, priority=False, gate=True)
    pipeline = Pipeline(core, scheduler, scenario.deployment)
    for arrival, action in enumerate(scenario.actions):
        if isinstance(action, Submit):
            scheduler.add_request(make_request(core, action.submission, arrival, hasher))
        elif pipeline.is_due(pipeline.schedule()):
            pipeline.settle({})


def _beside(core: Core, design: Design, scenario: Scenario) -> None:
    oracle = boot(scenario.deployment, design, forced=True)
    pair = Pair(oracle, ForkEngine(core, scenario.deployment), design, priority=False)
    for action in scenario.actions:
        pair.do(action)


if __name__ == "__main__":
    typer.run(main)
