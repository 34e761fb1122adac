"""The three numbers that stand for a request's aligned states say what the managers of the releases do."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from poolproof.spec.aligned import (
    FRESH,
    Copies,
    advanced,
    checkpoint_taken,
    copies_held,
    first_blocks,
    new_blocks,
    settled_but_drafts,
)
from poolproof.spec.states import MambaAlign

from ..conftest import released

DRIVER = Path(__file__).with_name("aligned_manager.py")
ON_DRAFTS = ("0.19.1", "0.21.0", "0.25.1")
ON_PROCESSED = ("0.28.0", "0.30.0", "0.33.0")


@dataclass(frozen=True)
class Move:
    """Take a step to so many tokens, of which so many were computed and processed when it starts."""

    computed: int
    processed: int
    tokens: int


def moves(chance: random.Random, cache: MambaAlign, lag: int) -> Iterator[Move]:
    """Take a prompt in chunks, with up to so many of them in flight, then verify drafts of which some are rejected."""
    computed, ends = 0, [0] * (lag + 1)
    for _ in range(chance.randint(1, 5)):
        tokens = computed + chance.randint(1, 3 * cache.block_size)
        yield Move(computed, ends[-1 - lag], tokens)
        computed = tokens
        ends.append(computed)
    for _ in range(chance.randint(0, 12)):
        # As many drafts at each step: a table that is asked to shrink is a matter of its own.
        yield Move(computed, computed, computed + 1 + cache.speculative)
        computed += chance.randint(1, 1 + cache.speculative)


def told(cache: MambaAlign, steps: list[Move], on_drafts: bool) -> Iterator[tuple[int, int, Copies]]:
    """Say what is predicted and held after each step, for as long as no copy is astray."""
    copies = FRESH
    for move in steps:
        predicted = new_blocks(copies, move.tokens, cache, floored=False)
        settled = settled_but_drafts(move.computed, cache) if on_drafts else move.processed
        copies = advanced(copies, settled, move.tokens, cache)
        first = copies.source == 0 and move.computed == 0
        yield predicted + (cache.speculative if first else 0), copies_held(copies, cache), copies
        if copies.stray:
            return


def asked(version: str, runs: list[dict[str, Any]], hits: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the steps of many cases on a release's own manager, and ask it about prefixes that are taken over."""
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(released(version).root)],
        input=json.dumps({"runs": runs, "hits": hits}),
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def case(cache: MambaAlign, steps: list[Move]) -> dict[str, Any]:
    return {
        "block_size": cache.block_size,
        "speculative": cache.speculative,
        "checkpoint": cache.checkpoint,
        "steps": [(each.computed, each.processed, each.tokens) for each in steps],
    }


def prefixes(chance: random.Random, partial: bool) -> Iterator[dict[str, int]]:
    """Draw prefixes that are taken over, some that end inside a block among them where that is asked for."""
    for _ in range(100):
        block_size = chance.randint(1, 8)
        hit = chance.randint(1, 20) if partial else block_size * chance.randint(1, 5)
        yield {
            "block_size": block_size,
            "speculative": chance.randint(0, 3),
            "hit": hit,
            "blocks": blocks_for_hit(hit, block_size),
            "tokens": hit + chance.randint(1, 20),
        }


def blocks_for_hit(hit: int, block_size: int) -> int:
    return -(-hit // block_size)


def needed(prefix: dict[str, int]) -> int:
    cache = MambaAlign(prefix["block_size"], prefix["speculative"])
    partial = prefix["hit"] % prefix["block_size"] != 0
    found = first_blocks(prefix["tokens"], prefix["blocks"], 1, partial, cache)
    assert isinstance(found, int)
    return found


REFUTED_RUNS = {
    True: (MambaAlign(3, 1), [Move(0, 0, 3), Move(3, 3, 4), Move(4, 4, 7)]),
    False: (MambaAlign(1, 0), [Move(0, 0, 1), Move(1, 0, 2), Move(2, 1, 3)]),
}
"""The smallest counterexamples of the catalogue, by whether a release frees on all but the drafts."""


@pytest.mark.network
@pytest.mark.parametrize("version", [*ON_DRAFTS, *ON_PROCESSED])
def test_three_numbers_say_what_a_real_manager_holds_and_predicts(version: str) -> None:
    chance = random.Random(version)  # noqa: S311 - a sample, not a secret
    on_drafts = version in ON_DRAFTS
    caches = [MambaAlign(chance.randint(1, 8), chance.randint(0, 3)) for _ in range(150)]
    runs = [(cache, list(moves(chance, cache, 0 if on_drafts else chance.randint(0, 1)))) for cache in caches]
    runs.append(REFUTED_RUNS[on_drafts])
    hits = list(prefixes(chance, partial=version == "0.33.0"))
    answer = asked(version, [case(*run) for run in runs], hits)
    answers = answer["runs"]
    strays = 0
    for (cache, steps), real in zip(runs, answers, strict=True):
        said = list(told(cache, steps, on_drafts))
        assert [list(each[:2]) for each in said] == real[: len(said)], (cache, steps)
        strays += said[-1][2].stray
    assert strays > 1
    assert answer["hits"] == [needed(each) for each in hits]
    assert answers[-1][-1][1] == runs[-1][0].bound(1, 1) + 1


@pytest.mark.parametrize(("entered", "kept"), [(1, 0), (2, 1), (5, 1)])
def test_a_state_inside_a_chunk_needs_a_block_that_would_stay_empty(entered: int, kept: int) -> None:
    cache = MambaAlign(4, 0, 1)
    after = advanced(FRESH, 0, 4 * entered, cache)
    assert checkpoint_taken(FRESH, after, cache) == kept
