"""Run a counterexample on a fork's real manager and scheduler, in plain numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..oracle.engine import Submission
from ..oracle.lone import lone_run
from ..proofs.decisions import Replay, Step
from ..spec.deployment import Deployment
from .boot import boot
from .engine import ForkEngine
from .formulas import Formulas
from .inspection import call
from .loader import Core
from .requests import make_request
from .scheduler import make_scheduler

_NAME = "request"


def replay_held(core: Core, formulas: Formulas, deployment: Deployment, step: Step) -> Replay:
    """Take a request up to a step on the real manager and count its blocks; then let the real scheduler run one."""
    cap = formulas.cap(deployment)
    held = _held(core, deployment, step)
    line = f"real KVCacheManager: {held} blocks held after the step, cap {cap}"
    return Replay(held > cap, (line, _on_scheduler(core, formulas, deployment, step)))


def _held(core: Core, deployment: Deployment, last: Step) -> int:
    """Compute a request in full batches up to a step, take that step, and count its real blocks."""
    scheduler, _ = make_scheduler(core, _with_spare_blocks(deployment), priority=False, gate=True)
    manager = scheduler.kv_cache_manager
    request = make_request(core, Submission(_NAME, deployment.max_model_len), 0, None)
    for step in (*_full_batches(deployment, last), last):
        offered = {"request": request, "num_new_tokens": step.scheduled, "num_lookahead_tokens": step.lookahead}
        if call(manager.allocate_slots, offered) is None:
            raise ValueError(f"the fork refuses a step of {step.scheduled} tokens with blocks to spare")
        request.num_computed_tokens += step.scheduled
    (group,) = manager.coordinator.single_type_managers
    return sum(not block.is_null for block in group.req_to_blocks[_NAME])


def _full_batches(deployment: Deployment, last: Step) -> Iterator[Step]:
    for computed in range(0, last.computed, deployment.max_num_batched_tokens):
        yield Step(computed, min(deployment.max_num_batched_tokens, last.computed - computed), last.lookahead)


def _with_spare_blocks(deployment: Deployment) -> Deployment:
    """Give a pool one block per token, and some."""
    return replace(deployment, blocks=deployment.max_model_len + 8)


def _on_scheduler(core: Core, formulas: Formulas, deployment: Deployment, step: Step) -> str:
    """Tell what a prompt of the greatest length holds on the real scheduler; one more token is its answer."""
    prompt = deployment.max_model_len
    longer = replace(deployment, max_model_len=prompt + 1, lookahead=step.lookahead)
    cap = formulas.cap(longer)
    engine = ForkEngine(core, _with_spare_blocks(longer))
    (peak,) = lone_run(engine, prompt, key=engine.fingerprint).peak or (0,)
    where = f"real Scheduler: max_model_len {prompt + 1}, a prompt of {prompt} tokens"
    return f"{where}, at most {peak} blocks held, cap {cap}" + ("" if peak > cap else ": not reached in full batches")


def replay_admission(core: Core, deployment: Deployment, tokens: int) -> Replay:
    """Boot a pool, and wait on the real scheduler for a request to be admitted."""
    accepted = boot(core, deployment).accepted
    scheduler, _ = make_scheduler(core, deployment, priority=False, gate=True)
    pool = scheduler.kv_cache_manager.block_pool
    free = pool.get_num_free_blocks()
    scheduler.add_request(make_request(core, Submission(_NAME, tokens), 0, None))
    # Nothing is in flight: a second step finds the state of the first, and so does every later one.
    scheduled = any(scheduler.schedule().num_scheduled_tokens for _ in range(2))
    admitted = scheduled or pool.get_num_free_blocks() != free
    told = "is admitted" if admitted else "waits for ever"
    lines = (
        f"real boot: {deployment.blocks} blocks {'accepted' if accepted else 'refused'}",
        f"real Scheduler: {free} blocks free, a request of {tokens} tokens {told}",
    )
    return Replay(accepted and not admitted, lines)
