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
class History:
    """Name the first steps of one request; every number may be symbolic.

    Args:
        prompt: Its prompt tokens.
        offered: The tokens that the budget leaves for it, step by step.
        accepted: Of the drafts that each step verifies, so many are accepted, or all if they are fewer.
    """

    prompt: Any
    offered: tuple[Any, ...]
    accepted: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class StateStep:
    """Tell what one step of a request did in a group that keeps states.

    Args:
        scheduled: Its tokens.
        predicted: The blocks that it was said to need.
        taken: The blocks that it took.
        held: The blocks that the request holds after it.
    """

    scheduled: Any
    predicted: Any
    taken: Any
    held: Any


@dataclass(frozen=True, slots=True)
class StateRun:
    """Tell what the steps of a history did.

    Args:
        steps: The steps that were taken: the first ones of the history.
        computed: The tokens computed after them.
        rejected: The drafts that were rejected between them.
        failure: What the next step raised; empty where it raised nothing.
    """

    steps: tuple[StateStep, ...]
    computed: Any
    rejected: Any
    failure: str = ""


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
        reserves: The blocks that boot reserves for one request of the only group of a deployment.
        steps: Takes the steps of a history in the only group of a deployment.
        replay_held: Runs a request up to a step on the real manager, and compares what it holds with its cap.
        replay_admission: Boots the real engine, and waits for a request of so many tokens to be admitted.
        replay_steps: Takes the steps of a history on the real manager, and on the real scheduler.
        batches_in_flight: What the cap's budget counts: the tokens of `1` batch, or of `any` number in flight.
        counts_in_flight: Whether a request counts its tokens that are computed and not settled.
    """

    cap: Callable[[Deployment], Any]
    skipped: Callable[[Attention, Any], Any]
    boots: Callable[[Deployment], bool]
    admits: Callable[[Deployment, Any], bool]
    reserves: Callable[[Deployment], Any]
    steps: Callable[[Deployment, History], StateRun]
    replay_held: Callable[[Deployment, Step], Replay]
    replay_admission: Callable[[Deployment, int], Replay]
    replay_steps: Callable[[Deployment, History], Replay]
    batches_in_flight: str = "1"
    counts_in_flight: bool = False


Replayer = Callable[[Mapping[str, int]], Replay]
"""Runs a counterexample, given by its values, on the real objects."""
