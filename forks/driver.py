"""One interface over every loaded fork, in the process where it is loaded."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from ..oracle.lone import LoneOutcome, lone_run
from ..oracle.outcome import Outcome, run_out
from ..oracle.trace import Scenario
from ..spec.deployment import Deployment
from ..spec.errors import UsageError
from .boot import Boot, boot, smallest_pool
from .engine import ForkEngine
from .findings import Findings, find
from .loader import Core


class Driver:
    """Boot and run one loaded fork; every method takes and returns plain records.

    Args:
        core: The loaded fork.
        runner: The generation of its model runner that its environment chooses.
    """

    def __init__(self, core: Core, runner: int = 1) -> None:
        self.core = core
        self.runner = runner

    def findings(self) -> Findings:
        """Tell what was found in the fork and what was assumed."""
        return find(self.core, self.runner)

    def boot(self, deployment: Deployment) -> Boot:
        """Ask the fork's start-up code whether it accepts this pool."""
        return boot(self.core, deployment)

    def smallest_pool(self, deployment: Deployment) -> int:
        """Find the smallest pool that start-up accepts."""
        return smallest_pool(self.core, deployment)

    def run(self, scenario: Scenario, *, drain: bool, accept: int, gate: bool, snapshots: bool) -> Outcome:
        """Run a scenario on the fork's scheduler, whether or not its boot would accept the pool."""
        engine = ForkEngine(self.core, scenario.deployment, priority=scenario.priority, gate=gate)
        return run_out(scenario, engine, drain=drain, accept=accept, snapshots=snapshots, key=engine.recurrence())

    def lone(self, deployment: Deployment, prompt: int, output: int, *, gate: bool) -> LoneOutcome:
        """Run one request alone on the fork's scheduler."""
        engine = ForkEngine(self.core, deployment, gate=gate)
        return lone_run(engine, prompt, output, key=engine.recurrence())

    def call(self, function: str, arguments: Mapping[str, Any]) -> Any:
        """Call a poolproof function `package.module:name` as `function(core, **arguments)`.

        Raises:
            UsageError: It is not a function of poolproof.
        """
        module, _, name = function.partition(":")
        if module.partition(".")[0] != __name__.partition(".")[0]:
            raise UsageError("function", function, "only functions of poolproof run beside a fork")
        return getattr(importlib.import_module(module), name)(self.core, **arguments)
