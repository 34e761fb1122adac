"""The pair (allocated, freed) that the transition theorems use is what the engine does, rejections included."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from poolproof.oracle import NULL_BLOCK, Oracle, Submission, boot
from poolproof.oracle.comparison import random_deployment
from poolproof.spec import SOUND, Deployment, Design, boot_requirement, named
from poolproof.spec.attention import blocks_for, recycled, slots_needed

STEPS = 20_000


def roomy(draw: random.Random, design: Design) -> Deployment:
    """Draw a deployment in which a lone request is never refused."""
    deployment = random_deployment(draw, design, wild=False, batches=1)
    return replace(deployment, blocks=2 * boot_requirement(deployment, design) + 20)


@pytest.mark.parametrize("design", [SOUND, named("vllm-0.22")], ids=lambda design: design.name)
def test_allocated_and_freed_follow_the_formulas_on_random_steps(design: Design) -> None:
    draw = random.Random(2026)  # noqa: S311 - runs are drawn, not secrets
    done = rejections = recyclings = 0
    while done < STEPS // 2:
        deployment = roomy(draw, design)
        engine = boot(deployment, design)
        length = int(deployment.max_model_len)
        prompt = draw.randint(1, length - 1)
        engine.submit(Submission("a", prompt, length - prompt))
        allocated = [0] * len(list(deployment.caches()))
        while "a" in engine.snapshot().requests:
            before = engine.snapshot().requests["a"]
            record = engine.step({"a": draw.randint(0, int(deployment.lookahead))})
            allocated = check_step(
                engine, design, before.computed, record.scheduled["a"], record.tables["a"], allocated
            )
            after = engine.snapshot().requests.get("a")
            rejections += after is not None and after.computed < before.computed + record.scheduled["a"]
            recyclings += any(NULL_BLOCK in table for table in record.tables["a"])
            done += 1
    assert rejections > 500
    assert recyclings > 500


def check_step(
    engine: Oracle,
    design: Design,
    computed: int,
    scheduled: int,
    tables: tuple[tuple[int, ...], ...],
    allocated: list[int],
) -> list[int]:
    """Compare one step with its abstraction and return the blocks allocated so far per group."""
    deployment = engine.deployment
    ahead = deployment.lookahead if computed or design.admission_lookahead else 0
    slots = slots_needed(computed, scheduled, ahead, deployment.max_model_len)
    total = []
    for cache, table, had in zip(deployment.caches(), tables, allocated, strict=True):
        now = max(had, blocks_for(slots, cache.block_size))
        freed = recycled(cache, computed)
        assert len(table) == now
        assert table[:freed] == (NULL_BLOCK,) * freed
        assert NULL_BLOCK not in table[freed:]
        total.append(now)
    return total
