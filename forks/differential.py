"""An implementation and the oracle side by side, in the implementation's own process: no step crosses a pipe."""

from __future__ import annotations

from ..oracle.comparison import Pair, PairError, compare
from ..oracle.machine import Make, machine_for, run_machine
from ..oracle.reference import boot
from ..oracle.shrinking import shrink
from ..oracle.trace import Moment, Scenario, replay
from ..spec.deployment import Deployment
from ..spec.design import Design
from ..spec.errors import PoolproofError
from ..spec.sizing import boot_accepts
from .engine import ForkEngine
from .loader import Core
from .parting import Compared, Parting


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


def shrunk(core: Core, design: Design, scenario: Scenario, wild: bool) -> Parting:
    """Make a run on which the two part small; the pool stays one that is drawn, unless it may be `wild`."""
    seen: dict[Scenario, PairError] = {}

    def fails(candidate: Scenario) -> Scenario | None:
        if not wild and not _is_near_boot(candidate.deployment, design):
            return None
        error = parts(core, design, candidate)
        if error is None:
            return None
        seen[error.scenario] = error
        return error.scenario

    start = fails(scenario)
    if start is None:
        raise RuntimeError("a run on which the engines parted did not part again: the implementation is not repeatable")
    return _parting(seen[shrink(start, fails)])


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
