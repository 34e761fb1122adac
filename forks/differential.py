"""An implementation and the oracle side by side, in the implementation's own process: no step crosses a pipe."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from ..oracle.comparison import Pair, PairError, compare
from ..oracle.drawing import random_deployment
from ..oracle.machine import Make, machine_for, run_machine
from ..oracle.reference import boot
from ..oracle.shrinking import shrink
from ..oracle.trace import Moment, Scenario, replay
from ..spec.attention import FullAttention, SlidingWindow
from ..spec.deployment import Deployment, Group
from ..spec.design import Design
from ..spec.errors import PoolproofError, UnsupportedError
from ..spec.sizing import boot_accepts, boot_requirement
from .boot import smallest_pool
from .engine import ForkEngine
from .loader import Core
from .parting import BootParting, BootsCompared, Compared, Parting


def compared(core: Core, design: Design, scenarios: int, seed: int, wild: bool, batches: int) -> Compared:
    """Do so many random runs; equal seeds give equal runs."""
    found = compare(_maker(core), design, scenarios=scenarios, seed=seed, wild=wild, batches=batches)
    first = found.failures[0] if found.failures else None
    return Compared(found.scenarios, found.refused, found.coverage, None if first is None else _parting(first))


def searched(core: Core, design: Design, examples: int, seed: int, wild: bool, batches: int) -> Compared:
    """Let Hypothesis drive the state machine over so many examples."""
    machine = machine_for(_maker(core), design, wild=wild, batches=batches)
    run_machine(machine, examples, seed=seed)
    parting = None if machine.failure is None else _parting(machine.failure)
    return Compared(machine.runs, machine.refused, machine.coverage, parting)


TRIES = 100
"""The runs that are searched for a difference on a pool that boot accepts, where the first one found is on another."""


def shrunk(core: Core, design: Design, scenario: Scenario, wild: bool, seed: int) -> Parting:
    """Make a run on which the two part small; its pool is one that boot accepts where such a run is found.

    Otherwise the pool stays one that is drawn, unless it may be `wild`.
    """
    boots = _on_a_booted_pool(core, design, scenario, seed)
    if boots is not None:
        return _smallest(core, design, boots, lambda deployment: _boots(deployment, design))
    found = _smallest(core, design, scenario, lambda deployment: wild or _is_near_boot(deployment, design))
    return found if _boots(found.scenario.deployment, design) else replace(found, tries=TRIES)


def _smallest(core: Core, design: Design, scenario: Scenario, may: Callable[[Deployment], bool]) -> Parting:
    """Make a run small, within the deployments that may be."""
    seen: dict[Scenario, PairError] = {}

    def fails(candidate: Scenario) -> Scenario | None:
        error = parts(core, design, candidate) if may(candidate.deployment) else None
        if error is None:
            return None
        seen[error.scenario] = error
        return error.scenario

    start = fails(scenario)
    if start is None:
        raise RuntimeError("a run on which the engines parted did not part again: the implementation is not repeatable")
    return _parting(seen[shrink(start, fails)])


def _on_a_booted_pool(core: Core, design: Design, scenario: Scenario, seed: int) -> Scenario | None:
    """Find a run that parts on a pool that boot accepts: the same one, in a larger pool, or one of some more."""
    least = boot_requirement(scenario.deployment, design)
    for blocks in dict.fromkeys((max(least, int(scenario.deployment.blocks or 0)), least, least + 1, least + 2)):
        error = parts(core, design, replace(scenario, deployment=replace(scenario.deployment, blocks=blocks)))
        if error is not None:
            return error.scenario
    batches = int(scenario.deployment.max_concurrent_batches)
    more = compare(_maker(core), design, scenarios=TRIES, seed=seed, wild=False, batches=batches).failures
    return next((each.scenario for each in more if _boots(each.scenario.deployment, design)), None)


def _boots(deployment: Deployment, design: Design) -> bool:
    """Say whether the design's boot accepts the pool."""
    return deployment.blocks is not None and bool(boot_accepts(deployment.blocks, deployment, design))


PROBE = Deployment((Group(FullAttention(16)), Group(SlidingWindow(16, 32))), 512, 64)
"""The deployment whose boots are compared beside those that are drawn."""


def boots(core: Core, design: Design, draws: int, seed: int, batches: int) -> BootsCompared:
    """Compare the smallest pool that the implementation's boot accepts with the design's, in drawn deployments."""
    source = random.Random(seed)  # noqa: S311 - deployments are drawn, not secrets
    drawn = [
        random_deployment(random.Random(source.getrandbits(64)), design, wild=False, batches=batches)  # noqa: S311
        for _ in range(draws)
    ]
    compared, apart = 0, []
    for deployment in (replace(PROBE, max_concurrent_batches=batches), *drawn):
        try:
            found = smallest_pool(core, deployment)
        except UnsupportedError:
            continue  # it lays this one out otherwise, so that the two cannot be compared
        compared += 1
        least = int(boot_requirement(deployment, design))
        if found != least:
            apart.append(BootParting(replace(deployment, blocks=None), least, found))
    return BootsCompared(compared, min(apart, key=_plainness, default=None))


def _plainness(parting: BootParting) -> tuple[int, int, int]:
    deployment = parting.deployment
    return len(deployment.groups), int(deployment.lookahead), int(deployment.max_model_len)


def _is_near_boot(deployment: Deployment, design: Design) -> bool:
    """Say whether a pool is at most one block smaller than what boot demands."""
    return deployment.blocks is not None and bool(boot_accepts(deployment.blocks + 1, deployment, design))


def parts(core: Core, design: Design, scenario: Scenario) -> PairError | None:
    """Run a scenario on both and say where they part; a scenario that either refuses shows nothing."""
    priority = scenario.priority
    try:
        implementation = ForkEngine(core, scenario.deployment, priority=priority)
        oracle = boot(scenario.deployment, design, priority=priority, forced=True)
        pair = Pair(oracle, implementation, design, priority=priority)
        for action in scenario.actions:
            if pair.ended:
                break
            pair.do(action)
    except PairError as error:
        return error
    except PoolproofError:
        return None
    return None


def moments(core: Core, scenario: Scenario) -> tuple[Moment, ...]:
    """Run a scenario on the implementation alone and show everything."""
    return replay(scenario, ForkEngine(core, scenario.deployment, priority=scenario.priority))


def _maker(core: Core) -> Make:
    """Boot the implementation on whatever pool is asked for."""

    def make(deployment: Deployment, priority: bool) -> ForkEngine:
        return ForkEngine(core, deployment, priority=priority)

    return make


def _parting(error: PairError) -> Parting:
    return Parting(error.scenario, error.field, error.detail, error.words)
