"""What must hold of an implementation: its cap, its recycling, its startup check and its admission gate.

A property is stated over what the implementation decides (`Decisions`) in one setting; where it needs a rule of its
own (how many blocks a table has), it takes the one of `spec`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..spec.arithmetic import Term, fdiv, maximum, total
from ..spec.attention import Attention, ChunkedLocal, SlidingWindow, blocks_for, slots_needed
from ..spec.deployment import Deployment
from .decisions import Decisions, Replay, Step
from .proxy import lifted
from .settings import (
    BLOCK_SIZE,
    BLOCKS,
    BUDGET,
    CHUNKED,
    COMPUTED,
    FULL,
    FULL_CHUNKED,
    FULL_MAMBA,
    FULL_MAMBA_ALIGN,
    FULL_SEVERAL,
    FULL_SLIDING,
    LENGTH,
    LOOKAHEAD,
    SCHEDULED,
    SLIDING,
    TOKEN,
    TOKENS,
    Shape,
    limits,
)
from .symbolic import Claim, NotConcerned, Property
from .theorem import Assumption, Point


def cache_properties(decisions: Decisions) -> Iterator[Property]:
    """List what must hold of a single cache, its block size symbolic."""
    yield cap_covers_held(decisions, SLIDING)
    yield cap_covers_held(decisions, CHUNKED)
    yield cap_covers_held_with_lookahead(decisions, SLIDING)
    for shape in (SLIDING, CHUNKED):
        yield skipped_tokens_are_out_of_the_window(decisions, shape)
        yield tokens_out_of_the_window_are_skipped(decisions, shape)


def boot_properties(decisions: Decisions, block_size: int) -> Iterator[Property]:
    """List what must hold between boot and run time at one block size.

    Boot computes in bytes of a page; a symbolic block size would make every number there a product.
    """
    for shape in (FULL, FULL_SLIDING, FULL_SEVERAL):
        yield boot_covers_gate(decisions, shape, block_size)
        yield boot_is_tight(decisions, shape, block_size)
    for shape in (FULL_CHUNKED, FULL_MAMBA, FULL_MAMBA_ALIGN):
        yield boot_covers_gate(decisions, shape, block_size)
    yield boot_covers_gate(decisions, FULL_SLIDING, block_size, batches=2)


# -- what a request holds ----------------------------------------------------------------------------------------


def cap_covers_held(decisions: Decisions, shape: Shape) -> Property:
    """State that a request never holds more real blocks of a recycling group than its cap."""
    plain = cap_covers_held_with_lookahead(decisions, shape)
    return replace(
        plain,
        name="cap_covers_held",
        variables=tuple(v for v in plain.variables if v is not LOOKAHEAD),
        premises=lambda at: plain.premises(at.but(lookahead=0)),
        program=lambda at: plain.program(at.but(lookahead=0)),
        concrete=(("lookahead", 0),),
    )


def cap_covers_held_with_lookahead(decisions: Decisions, shape: Shape) -> Property:
    """State the same where a step takes slots beyond its tokens, for drafting."""

    def program(at: Point) -> Claim:
        deployment = shape.deployment(at.block_size, at)
        held, recycled = _held(decisions, deployment, at)
        cap = decisions.cap(deployment)
        return Claim(held <= cap, recycled >= 1, {"blocks held": held, "cap": cap})

    def replay(values: Mapping[str, int]) -> Replay:
        step = Step(values["computed"], values["scheduled"], values.get("lookahead", 0))
        return decisions.replay_held(shape.deployment(values["block_size"], Point(values)), step)

    return Property(
        "cap_covers_held_with_lookahead",
        "A request never holds more real blocks of a group than the cap that admission charges for it.",
        (BLOCK_SIZE, BUDGET, *shape.sizes, LENGTH, COMPUTED, SCHEDULED, LOOKAHEAD),
        lambda at: _legal_step(shape, at),
        program,
        shape.groups,
        (),
        decisions.batches_in_flight,
        replay,
    )


def _legal_step(shape: Shape, at: Point) -> Iterator[Assumption]:
    yield from shape.legal(at.block_size, at)
    yield from limits(at)
    yield Assumption("scheduled: a step computes at least one token", at.scheduled >= 1)
    yield Assumption("scheduled: a step keeps to its budget", at.scheduled <= at.max_num_batched_tokens)
    yield Assumption("computed: a sequence keeps to its length", at.computed + at.scheduled <= at.max_model_len)


def _held(decisions: Decisions, deployment: Deployment, at: Point) -> tuple[Any, Any]:
    """Count the real blocks of the only group after a step, and those that the implementation gave up before it."""
    (group,) = deployment.groups
    slots = lifted(slots_needed, at.computed, at.scheduled, at.lookahead, deployment.max_model_len)
    recycled = lifted(fdiv, decisions.skipped(group.cache, at.computed), group.cache.block_size)
    return lifted(blocks_for, slots, group.cache.block_size) - recycled, recycled


# -- what a request gives up -------------------------------------------------------------------------------------


def skipped_tokens_are_out_of_the_window(decisions: Decisions, shape: Shape) -> Property:
    """State that recycling is safe: no token that a later step reads is given up."""

    def program(at: Point) -> Claim:
        (cache,) = shape.caches(at.block_size, at)
        skipped = decisions.skipped(cache, at.computed)
        if not at.token < skipped:
            raise NotConcerned
        return Claim(_is_out(cache, at.token, at.computed), shown={"tokens given up": skipped})

    sentence = "A token that is given up is read by no later step."
    return _about_tokens("skipped_tokens_are_out_of_the_window", sentence, decisions, shape, program)


def tokens_out_of_the_window_are_skipped(decisions: Decisions, shape: Shape) -> Property:
    """State that recycling is tight: no token is kept that no later step reads."""

    def program(at: Point) -> Claim:
        (cache,) = shape.caches(at.block_size, at)
        if not _is_out(cache, at.token, at.computed):
            raise NotConcerned
        skipped = decisions.skipped(cache, at.computed)
        return Claim(at.token < skipped, shown={"tokens given up": skipped})

    sentence = "A token that no later step reads is given up."
    return _about_tokens("tokens_out_of_the_window_are_skipped", sentence, decisions, shape, program)


def _about_tokens(
    name: str, sentence: str, decisions: Decisions, shape: Shape, program: Callable[[Point], Claim]
) -> Property:
    variables = (BLOCK_SIZE, *shape.sizes, COMPUTED, TOKEN)
    flight = decisions.batches_in_flight
    legal = lambda at: shape.legal(at.block_size, at)  # noqa: E731 - named for the line below
    return Property(name, sentence, variables, legal, program, shape.groups, batches_in_flight=flight)


def _is_out(cache: Attention, token: Any, computed: Any) -> Any:
    """Say that neither the next token to be computed nor a later one attends to a token."""
    match cache:
        case SlidingWindow(window=window):
            return token + window <= computed
        case ChunkedLocal(chunk=chunk):
            return token < lifted(fdiv, computed, chunk) * chunk
    raise TypeError(f"nothing is known about what {cache.kind} reads")


# -- what boot demands -------------------------------------------------------------------------------------------


def boot_covers_gate(decisions: Decisions, shape: Shape, block_size: int, *, batches: int = 1) -> Property:
    """State that whatever starts admits any request into an empty pool."""

    def deployed(at: Point) -> Deployment:
        return replace(shape.deployment(block_size, at, batches=batches), blocks=at.blocks)

    def premises(at: Point) -> Iterator[Assumption]:
        yield from _legal_pool(shape, block_size, at)
        yield Assumption("tokens: a request has at least one token", at.tokens >= 1)
        yield Assumption("tokens: a request keeps to the greatest length", at.tokens <= at.max_model_len)

    def program(at: Point) -> Claim:
        if not decisions.boots(deployed(at)):
            raise NotConcerned
        return Claim(decisions.admits(deployed(at), at.tokens), at.tokens > block_size)

    return Property(
        "boot_covers_gate",
        "A pool that passes the startup check admits, when it is empty, a sequence of up to max_model_len tokens "
        "(a preempted request re-enters with all its tokens).",
        (*shape.sizes, BUDGET, LENGTH, TOKENS, BLOCKS),
        premises,
        program,
        shape.groups,
        (("block_size", block_size), ("prefix_caching", 0)),
        str(batches),
        lambda values: decisions.replay_admission(deployed(Point(values)), values["tokens"]),
    )


def boot_is_tight(decisions: Decisions, shape: Shape, block_size: int) -> Property:
    """State that boot demands no more than a sequence of the greatest length holds, up to a stated slack.

    Such a sequence holds most at the end of a last full batch. The slack is a block per recycling group, for a window
    that lies across block boundaries.
    """

    def program(at: Point) -> Claim:
        deployment = replace(shape.deployment(block_size, at), blocks=at.blocks)
        if decisions.boots(deployment):
            raise NotConcerned
        peak = total(_last_held(decisions, group.cache, deployment) for group in deployment.groups)
        slack = sum(bool(group.cache.recycles) for group in deployment.groups)
        # A refused pool lacks something: beside the null block it holds less than the peak and the slack.
        return Claim(at.blocks - 1 < peak + slack, at.max_model_len > block_size, {"peak": peak, "slack": slack})

    return Property(
        "boot_is_tight",
        "The startup check refuses no pool that holds, beside the null block, all blocks of the longest sequence at "
        "its last full batch and one more per recycling group.",
        (*shape.sizes, BUDGET, LENGTH, BLOCKS),
        lambda at: _legal_pool(shape, block_size, at),
        program,
        shape.groups,
        (("block_size", block_size),),
    )


def _legal_pool(shape: Shape, block_size: int, at: Point) -> Iterator[Assumption]:
    yield from shape.legal(block_size, at)
    yield from limits(at)
    yield Assumption("blocks: the null block alone needs one", at.blocks >= 1)


def _last_held(decisions: Decisions, cache: Attention, deployment: Deployment) -> Any:
    """Count the blocks that one group holds at the end of the longest sequence, its last batch being full."""
    table = lifted(blocks_for, deployment.max_model_len, cache.block_size)
    if not cache.recycles:
        return table
    before = lifted(_before_last_batch, deployment.max_model_len, deployment.max_num_batched_tokens)
    return table - lifted(fdiv, decisions.skipped(cache, before), cache.block_size)


def _before_last_batch(length: Term, budget: Term) -> Term:
    return maximum(0, length - budget)
