"""The pair (allocated, freed) that the transition theorems use is what the engine does, rejections included."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest

from poolproof.oracle import NULL_BLOCK, Oracle, Submission, boot
from poolproof.oracle.drawing import random_deployment
from poolproof.spec import SOUND, Deployment, Design, boot_requirement, named
from poolproof.spec.aligned import FRESH, Copies, advanced, copies_held
from poolproof.spec.attention import Attention, blocks_for, slots_needed
from poolproof.spec.states import MambaAlign, MambaNone
from poolproof.spec.tables import retired, settled_states, state_table

STEPS = 20_000
FOLLOWED = [SOUND, *map(named, ("vllm-0.22", "vllm-0.25", "vllm-0.28", "vllm-0.33"))]


def roomy(draw: random.Random, design: Design) -> Deployment:
    """Draw a deployment in which a lone request is never refused."""
    deployment = random_deployment(draw, design, wild=False, batches=1)
    return replace(deployment, blocks=2 * boot_requirement(deployment, design) + 20)


@dataclass
class Trail:
    """Follow one lone request through the formulas: what was allocated so far, and its copies of aligned states."""

    engine: Oracle
    design: Design
    caches: tuple[Attention, ...]
    allocated: list[int]
    copies: list[Copies]

    @classmethod
    def of(cls, engine: Oracle, design: Design) -> Trail:
        caches = tuple(engine.deployment.caches())
        return cls(engine, design, caches, [0] * len(caches), [FRESH] * len(caches))

    def check(self, computed: int, scheduled: int, tables: tuple[tuple[int, ...], ...]) -> None:
        """Compare one step with its abstraction."""
        deployment = self.engine.deployment
        ahead = deployment.lookahead if computed or self.design.admission_lookahead else 0
        slots = slots_needed(computed, scheduled, ahead, deployment.max_model_len)
        for index, (cache, table) in enumerate(zip(self.caches, tables, strict=True)):
            if isinstance(cache, MambaAlign):
                self.check_copies(index, cache, computed, computed + scheduled, table)
                continue
            length = state_table(cache, slots) if isinstance(cache, MambaNone) else blocks_for(slots, cache.block_size)
            self.allocated[index] = max(self.allocated[index], length)
            freed = retired(cache, computed, self.design)
            assert len(table) == self.allocated[index]
            assert table[:freed] == (NULL_BLOCK,) * freed
            assert NULL_BLOCK not in table[freed:]

    def check_copies(self, index: int, cache: MambaAlign, computed: int, tokens: int, table: tuple[int, ...]) -> None:
        """Compare the table of aligned states with the three numbers that sum it up."""
        settled = settled_states(cache, computed, self.design)
        copies = self.copies[index] = advanced(self.copies[index], settled, tokens, cache)
        real = len(table) - table.count(NULL_BLOCK)
        assert len(table) == copies.covered + cache.speculative
        assert NULL_BLOCK not in table[copies.covered - 1 :]
        assert real == copies_held(copies, cache) if not copies.stray else real <= copies_held(copies, cache)


@pytest.mark.parametrize("design", FOLLOWED, ids=lambda design: design.name)
def test_allocated_and_freed_follow_the_formulas_on_random_steps(design: Design) -> None:
    draw = random.Random(2026)  # noqa: S311 - runs are drawn, not secrets
    done = rejections = recyclings = copied = 0
    while done < STEPS // 2:
        deployment = roomy(draw, design)
        engine = boot(deployment, design)
        trail = Trail.of(engine, design)
        length = int(deployment.max_model_len)
        prompt = draw.randint(1, length - 1)
        engine.submit(Submission("a", prompt, length - prompt))
        while "a" in engine.snapshot().requests:
            before = engine.snapshot().requests["a"]
            record = engine.step({"a": draw.randint(0, int(deployment.lookahead))})
            if not record.scheduled:
                break  # a block of states is wider than a step
            trail.check(before.computed, record.scheduled["a"], record.tables["a"])
            after = engine.snapshot().requests.get("a")
            rejections += after is not None and after.computed < before.computed + record.scheduled["a"]
            recyclings += any(NULL_BLOCK in table for table in record.tables["a"])
            copied += any(copies.source for copies in trail.copies)
            done += 1
    assert min(rejections, recyclings, copied) > 500
