"""The exhaustive search over an implementation's real scheduler: a state is reached again by doing everything again."""

from __future__ import annotations

from collections.abc import Sequence

from ..oracle.engine import Submission
from ..oracle.explore import Exploration, reexecuted, search, searched_for
from ..oracle.lone import progress_key
from ..spec.deployment import Deployment
from ..spec.design import Design
from .engine import ForkEngine
from .loader import Core


def explored(
    core: Core,
    deployment: Deployment,
    design: Design,
    requests: Sequence[Submission],
    goals: Sequence[str],
    priority: bool,
    aborts: bool,
    limit: int,
) -> Exploration:
    """Search an implementation; what the design promises is checked, and the edges are not returned."""

    def make() -> ForkEngine:
        return ForkEngine(core, deployment, priority=priority)

    checks = searched_for(design, deployment, goals)
    engine = reexecuted(make, lambda engine: (progress_key(engine.snapshot()), engine.memory()))
    found = search(engine, design, requests, checks, priority=priority, aborts=aborts, limit=limit)
    return Exploration(found.states, found.transitions, found.complete, found.violations)
