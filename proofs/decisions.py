"""What an implementation decides, as a record of callables: the properties are stated over it and over nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..spec.attention import Attention
from ..spec.deployment import Deployment


@dataclass(frozen=True, slots=True)
class Step:
    """Name one step of a request: the tokens computed before it, its own, and its slots beyond them."""

    computed: int
    scheduled: int
    lookahead: int


@dataclass(frozen=True, slots=True)
class Replay:
    """Tell what happened when a counterexample was run on the real objects.

    Args:
        confirmed: The fault was seen there.
        lines: What was seen, a line each.
    """

    confirmed: bool
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decisions:
    """Hold the decisions of one implementation; every number in a deployment or beside it may be symbolic.

    Args:
        cap: The most blocks that one request is charged in the only group of a deployment.
        skipped: The leading tokens of a request that a cache gives up after so many computed ones.
        boots: Whether the engine starts with `deployment.blocks` blocks.
        admits: Whether a request of so many tokens is admitted into an otherwise empty pool.
        replay_held: Runs a request up to a step on the real manager, and compares what it holds with its cap.
        replay_admission: Boots the real engine, and waits for a request of so many tokens to be admitted.
        batches_in_flight: What the cap's budget counts: the tokens of `1` batch, or of `any` number in flight.
    """

    cap: Callable[[Deployment], Any]
    skipped: Callable[[Attention, Any], Any]
    boots: Callable[[Deployment], bool]
    admits: Callable[[Deployment, Any], bool]
    replay_held: Callable[[Deployment, Step], Replay]
    replay_admission: Callable[[Deployment, int], Replay]
    batches_in_flight: str = "1"


Replayer = Callable[[Mapping[str, int]], Replay]
"""Runs a counterexample, given by its values, on the real objects."""
