"""What is claimed of any design, so that every named one can be held against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from ..oracle.verdict import Verdict
from ..spec.admission import admitted
from ..spec.arithmetic import Term
from ..spec.attention import blocks_for
from ..spec.design import DESIGNS, Design, named
from ..spec.sizing import boot_accepts, boot_requirement
from .catalogue.common import (
    BLOCK_SIZE,
    BLOCKS,
    CHUNK,
    COMPUTED,
    FULL_BLOCK_SIZE,
    IN_FLIGHT,
    IN_FLIGHT_WITHIN_BATCHES,
    LOOKAHEAD,
    MAX_CONCURRENT_BATCHES,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    SCHEDULED,
    SEQUENCE_WITHIN_LENGTH,
    STEP_WITHIN_BUDGET,
    TOKENS,
    TOKENS_WITHIN_LENGTH,
    USABLE,
    WINDOW,
    CacheOf,
    Setting,
    cap_of,
    chunked,
    deployed,
    excess,
    first_step_needs,
    full,
    gate_needs,
    held_by,
    predicted,
    reserved,
    table_of,
    window,
)
from .catalogue.recycling import READER, READS_IN_FLIGHT, TOKEN, freed_by, safe, seen_by_chunk
from .theorem import (
    Point,
    Premise,
    Quantity,
    Statement,
    Theorem,
    Variable,
    at_most,
    implies,
    legal_cache,
    legal_deployment,
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """Claim something of any design.

    Args:
        name: Its sentence, short, in snake case.
        setting: The groups, in words.
        sentence: What it says in full.
        variables: What it quantifies over; the order breaks ties between counterexamples.
        premises: What it assumes.
        claim: What is claimed of a design.
        cover: A case that must be reachable.
    """

    name: str
    setting: str
    sentence: str
    variables: tuple[Variable, ...]
    premises: tuple[Premise, ...]
    claim: Callable[[Design], Statement]
    cover: Statement

    def of(self, design: Design) -> Theorem:
        """State the claim of one design."""
        name = f"{self.name} of {design.name}"
        claim = self.claim(design)
        return Theorem(name, self.sentence, "designs", self.variables, self.premises, claim, (self.cover,))


_LIMITS = (MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, LOOKAHEAD)
_LONG = Statement("a request takes several steps", lambda at: at.tokens > 2 * at.max_num_batched_tokens)
_MOVED_ON = Statement("several blocks are computed", lambda at: at.computed > 2 * at.block_size)


def _admits(setting: Setting, design: Design) -> Statement:
    def holds(at: Point) -> object:
        accepted = boot_accepts(at.blocks, setting(at), design)
        return implies(accepted, admitted(at.tokens, at.blocks, setting(at), design))

    shown = (gate_needs(setting, design), first_step_needs(setting, design), USABLE)
    return Statement("boot accepts => admitted", holds, shown)


def _boot_covers_admission(words: str, own: tuple[Variable, ...], *caches: CacheOf) -> Claimed:
    setting = deployed(*caches)
    return Claimed(
        "boot_covers_admission",
        words,
        "A pool that passes the boot check admits any request when it is empty.",
        (*own, *_LIMITS, TOKENS, BLOCKS),
        (legal_deployment(setting), TOKENS_WITHIN_LENGTH),
        partial(_admits, setting),
        _LONG,
    )


def _no_block_too_many(design: Design) -> Statement:
    """State that a pool of one block fewer than boot demands does not admit the longest request."""
    setting = deployed(full)

    def holds(at: Point) -> object:
        demand = boot_requirement(setting(at), design)
        return demand <= gate_needs(setting, design).of(at.but(tokens=at.max_model_len)) + 1

    return Statement("boot demands <= gate of the longest + the null block", holds, (reserved(setting, design),))


_TIGHT = Claimed(
    "boot_is_tight",
    "full",
    "Boot demands no more than the gate charges the longest request, and the null block.",
    (BLOCK_SIZE, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN),
    (legal_deployment(deployed(full)),),
    _no_block_too_many,
    Statement("the sequence takes two blocks", lambda at: at.max_model_len > at.block_size),
)


def _processed(design: Design) -> Callable[[Point], Point]:
    """Count the tokens in flight where a design keeps blocks for them."""
    from ..spec.design import Freeing

    return lambda at: at if design.freeing is Freeing.PROCESSED else at.but(in_flight=0)


def _within_cap(cache: CacheOf, design: Design) -> Statement:
    held, counted = held_by(cache), _processed(design)
    return at_most(Quantity("held", lambda at: held.of(counted(at))), cap_of(cache, design))


def _stays_within_cap(words: str, own: Variable, cache: CacheOf, *more: Variable) -> Claimed:
    flight = (IN_FLIGHT_WITHIN_BATCHES,) if IN_FLIGHT in more else ()
    return Claimed(
        "held_stays_within_cap",
        words,
        "A request never holds more blocks of a group than boot reserves for it.",
        (BLOCK_SIZE, own, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, *more, COMPUTED, SCHEDULED),
        (legal_deployment(deployed(cache)), STEP_WITHIN_BUDGET, SEQUENCE_WITHIN_LENGTH, *flight),
        partial(_within_cap, cache),
        _MOVED_ON,
    )


def _first_step_follows(setting: Setting, design: Design) -> Statement:
    gate, step = gate_needs(setting, design), first_step_needs(setting, design)
    return Statement(
        "gate <= usable => first step <= usable",
        lambda at: implies(gate.of(at) <= USABLE.of(at), step.of(at) <= USABLE.of(at)),
        (gate, step, USABLE),
    )


_SERVED = Claimed(
    "gate_covers_first_step",
    "sliding window",
    "A request that passes the gate of an empty pool gets its first step.",
    (BLOCK_SIZE, WINDOW, *_LIMITS, TOKENS, BLOCKS),
    (legal_deployment(deployed(window)), TOKENS_WITHIN_LENGTH),
    partial(_first_step_follows, deployed(window)),
    _LONG,
)


def _foreseen(design: Design) -> Statement:
    def before(at: Point) -> Term:
        return blocks_for(at.computed, at.block_size)

    taken = Quantity("taken", lambda at: excess(table_of(window).of(at), before(at)))
    return at_most(taken, predicted(window, before, design))


_PREDICTED = Claimed(
    "step_takes_no_more_than_predicted",
    "sliding window",
    "A step takes no more blocks than it was predicted to.",
    (BLOCK_SIZE, WINDOW, *_LIMITS, COMPUTED, SCHEDULED),
    (legal_deployment(deployed(window)), STEP_WITHIN_BUDGET, SEQUENCE_WITHIN_LENGTH),
    _foreseen,
    _MOVED_ON,
)

_SPARED = Claimed(
    "freeing_spares_tokens_in_flight",
    "chunked local, batches in flight",
    "No block goes back that a step in flight may read.",
    (BLOCK_SIZE, CHUNK, COMPUTED, IN_FLIGHT, TOKEN, READER),
    (legal_cache(chunked), READS_IN_FLIGHT),
    lambda design: safe(freed_by(design, chunked), seen_by_chunk),
    Statement("tokens in flight span a chunk", lambda at: at.in_flight > at.chunk),
)

_FLIGHT = (MAX_CONCURRENT_BATCHES, IN_FLIGHT)

CLAIMS: tuple[Claimed, ...] = (
    _boot_covers_admission("full", (BLOCK_SIZE,), full),
    _boot_covers_admission("sliding window", (BLOCK_SIZE, WINDOW), window),
    _boot_covers_admission("chunked local", (BLOCK_SIZE, CHUNK), chunked),
    _boot_covers_admission("full, sliding window", (FULL_BLOCK_SIZE, BLOCK_SIZE, WINDOW), full, window),
    _TIGHT,
    _stays_within_cap("sliding window", WINDOW, window),
    _stays_within_cap("sliding window, lookahead", WINDOW, window, LOOKAHEAD),
    _stays_within_cap("sliding window, batches in flight", WINDOW, window, *_FLIGHT),
    _stays_within_cap("chunked local", CHUNK, chunked),
    _SERVED,
    _PREDICTED,
    _SPARED,
)
"""All of them, a row each of the table of designs."""


def decide_claims(
    designs: Sequence[str] | None = None, jobs: int = 1, progress: Callable[[str], None] | None = None
) -> Iterator[tuple[Claimed, list[Verdict]]]:
    """Decide every claim of every design named (None: all), a row after the other, shared among processes.

    Raises:
        UsageError: No design has such a name.
    """
    chosen = [named(name).name for name in designs] if designs else [design.name for design in DESIGNS]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        rows = pool.map(_row, range(len(CLAIMS)), [chosen] * len(CLAIMS))
        for claim, verdicts in zip(CLAIMS, rows, strict=True):
            if progress is not None:
                progress(f"{claim.name}, {claim.setting}")
            yield claim, verdicts


def _row(number: int, designs: Sequence[str]) -> list[Verdict]:
    """Decide one claim of many designs; where two come to the same formula it is decided once."""
    from .checking import decide, formula

    known: dict[str, Verdict] = {}
    verdicts = []
    for theorem in (CLAIMS[number].of(named(name)) for name in designs):
        key = formula(theorem)
        if key not in known:
            known[key] = decide(theorem)
        verdicts.append(known[key])
    return verdicts
