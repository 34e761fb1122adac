"""Take random first steps of a request on a release's manager and on its scheduler, in a process of its own."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from poolproof.forks.loader import Core, load_core
from poolproof.forks.state_replays import on_manager, on_scheduler
from poolproof.proofs.decisions import History
from poolproof.spec.deployment import Deployment, Group
from poolproof.spec.states import MambaAlign, MambaNone


def drawn(chance: random.Random) -> tuple[Deployment, History]:
    """Draw a deployment of one group of states, and some steps of a request."""
    speculative, steps = chance.randint(0, 4), chance.randint(2, 8)
    size = chance.randint(2 * speculative + 1, 2 * speculative + 4)
    budget = size + chance.randint(0, 2 * size)
    offered = tuple(chance.randint(1, chance.choice((3, budget))) for _ in range(steps))
    offered = tuple(min(tokens, budget) for tokens in offered)
    prompt = chance.randint(1, chance.choice((size, 4 * size)))
    length = max(prompt, sum(offered)) + 1 + chance.randint(0, 3)
    aligned = chance.random() < 0.8
    cache = MambaAlign(size, speculative) if aligned else MambaNone(length + chance.randint(0, 3), speculative)
    accepted = tuple(chance.randint(0, speculative) for _ in range(steps))
    made = Deployment((Group(cache),), length, budget, lookahead=speculative)
    return replace(made, max_concurrent_batches=chance.randint(1, 2)), History(prompt, offered, accepted)


def compared(core: Core, seed: str, count: int) -> dict[str, Any]:
    """Tell on which histories the scheduler does otherwise, how many were taken to the end, and how many fail."""
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    found: dict[str, Any] = {"differences": [], "complete": 0, "failed": 0}
    for _ in range(count):
        deployment, history = drawn(chance)
        managed, scheduled = on_manager(core, deployment, history), on_scheduler(core, deployment, history)
        taken = len(managed.tokens)
        # A step that gets no token ends the history for the manager; the scheduler goes on without the request.
        if managed != replace(scheduled, tokens=scheduled.tokens[:taken], held=scheduled.held[:taken]):
            found["differences"].append(f"{deployment} {history}: {managed} {scheduled}")
        found["complete"] += taken == len(history.offered)
        found["failed"] += bool(managed.failure)
    return found


if __name__ == "__main__":
    print(json.dumps(compared(load_core(Path(sys.argv[1]), "vllm"), sys.argv[2], int(sys.argv[3]))))
