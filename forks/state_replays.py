"""Take the steps of a counterexample about states on a fork's real manager and scheduler, in plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..oracle.engine import Submission
from ..proofs.decisions import History, Replay, StateRun
from ..spec.deployment import Deployment
from .config import known
from .formulas import Formulas
from .loader import Core
from .pipeline import Pipeline
from .requests import make_request
from .scheduler import make_scheduler
from .state_runs import state_run

_NAME = "request"
_SPARE = 64


def replay_steps(core: Core, formulas: Formulas, deployment: Deployment, history: History) -> Replay:
    """Take the steps on the real manager; then let the real scheduler take them, which must come to the same."""
    reserved = formulas.reserves(deployment)
    run = state_run(core, deployment, history)
    managed, scheduled = _seen(run), on_scheduler(core, deployment, history)
    confirmed = any(_faults(run, reserved)) and managed == scheduled
    offered = f"real Scheduler, offering {_list(history.offered)} tokens"
    lines = (f"real KVCacheManager: {managed.told(reserved)}", f"{offered}: {scheduled.told(reserved)}")
    return Replay(confirmed, lines)


def _faults(run: StateRun, reserved: int) -> Iterator[bool]:
    yield bool(run.failure)
    for step in run.steps:
        yield step.held > reserved
        yield step.taken > max(0, step.predicted)


@dataclass(frozen=True, slots=True)
class Seen:
    """The tokens of each step, what was held after it, and what the next one raised."""

    tokens: list[int]
    held: list[int]
    failure: str = ""

    def told(self, reserved: int) -> str:
        """Tell it in a line."""
        steps = f"steps of {_list(self.tokens)} tokens, {_list(self.held)} blocks held, boot reserves {reserved}"
        return f"{steps}; the next step ends in {self.failure}" if self.failure else steps


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def on_manager(core: Core, deployment: Deployment, history: History) -> Seen:
    """Take the steps on the real manager."""
    return _seen(state_run(core, deployment, history))


def _seen(run: StateRun) -> Seen:
    return Seen([step.scheduled for step in run.steps], [step.held for step in run.steps], run.failure)


def on_scheduler(core: Core, deployment: Deployment, history: History) -> Seen:
    """Serve a request on the real scheduler, of whose budget other requests leave what is offered."""
    spared = replace(deployment, blocks=_SPARE)
    scheduler, _ = make_scheduler(core, spared, priority=False, gate=True)
    # It ends at the greatest length, and not before.
    submission = Submission(_NAME, history.prompt, known(deployment.max_model_len, "max_model_len"))
    scheduler.add_request(make_request(core, submission, 0, None))
    return _scheduled(scheduler, Pipeline(core, scheduler, spared), history)


def _scheduled(scheduler: Any, pipeline: Pipeline, history: History) -> Seen:
    pool = scheduler.kv_cache_manager.block_pool
    free = pool.get_num_free_blocks()
    seen = Seen([], [])
    accepted = iter(history.accepted)
    for offered in history.offered:
        scheduler.max_num_scheduled_tokens = offered
        try:
            scheduled = pipeline.schedule()
        except Exception as error:  # noqa: BLE001 - whatever foreign code raises is the answer
            return replace(seen, failure=f"{type(error).__name__}: {error}")
        seen.tokens.append(scheduled.get(_NAME, 0))
        seen.held.append(free - pool.get_num_free_blocks())
        if pipeline.is_due(scheduled):
            pipeline.settle({_NAME: next(accepted)})
    return seen
