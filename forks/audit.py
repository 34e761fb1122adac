"""Everything that a verdict rests on and that no proof shows: assumed, bounded, replaced or not modelled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from ..oracle.counting import counted
from ..proofs.budget import Budget
from ..proofs.decisions import Decisions
from ..proofs.needed import stored
from ..proofs.paths import Limits as PathLimits
from ..proofs.registry import THEOREMS
from ..proofs.settings import BLOCK_SIZES, STATE_BLOCK
from ..proofs.state_properties import SPECULATIVE, courses
from ..proofs.theorem import Expectation, Theorem
from ..proofs.trust import boxes, second
from ..proofs.trust.scrutiny import SEEDS
from .findings import chosen
from .implementation import Implementation, Limits
from .interpretation import ASSUMED
from .loader import SHIMS
from .prove import PROPERTIES
from .state_runs import ASSUMED as OF_FIRST_STEPS


@dataclass(frozen=True, slots=True)
class Entry:
    """State one thing that a verdict rests on.

    Args:
        area: What it belongs to.
        about: What it is about.
        text: What is assumed, bounded, replaced or left out.
    """

    area: str
    about: str
    text: str


NOT_MODELLED = (
    ("theorems", "blocks shared by equal prefixes: a theorem counts each request's blocks as its own"),
    ("theorems", "the contents of blocks, and the numbers that a kernel computes from them"),
    ("theorems", "requests of more than one priority, and the order in which requests are served"),
    ("oracle", "prefix caching, KV connectors and offloading, encoder inputs, and structured output"),
    ("oracle", "a recurrent state that is kept inside a chunk, and recurrent states under context parallelism"),
    ("oracle", "time: a step takes none, and a batch settles in the order in which it was scheduled"),
    ("check", "several requests at once: each prompt is judged alone in the pool, with one output token"),
    ("check", "aligned recurrent states: whether boot counts all that a request may hold; its prompts are run instead"),
    ("implementations", "the model, its kernels and its device; memory that is not the block pool's"),
    ("implementations", "C extensions and generated code; what is not Python is a stand-in that is loud on use"),
)
"""What nothing here speaks about."""


def audit(implementation: Implementation | None = None) -> tuple[Entry, ...]:
    """List everything; with an implementation, also what was assumed and touched in loading that one."""
    parts = (_theorems(), _budgets(), _properties(), _loader(), _driver(), _not_modelled(), _of(implementation))
    return tuple(entry for part in parts for entry in part)


def _theorems() -> Iterator[Entry]:
    for theorem in THEOREMS:
        yield from _of_theorem(theorem)


def _of_theorem(theorem: Theorem) -> Iterator[Entry]:
    """List the hypotheses that a proof uses; a false variant is listed as what it is."""
    if theorem.expected is Expectation.REFUTED:
        yield Entry("theorems", theorem.name, f"false, by a case of sum {theorem.least_sum}")
        return
    used = stored().get(theorem.name)
    if used is None:
        yield Entry("theorems", theorem.name, "its hypotheses were not examined")
        return
    spared = len(theorem.conditions()) - len(used)
    yield Entry(
        "theorems",
        theorem.name,
        f"{counted(len(used), 'hypothesis')}; {spared} more hold of what is legal, not needed",
    )
    yield from (Entry("theorems", theorem.name, f"assumes {text}") for text in used)


def _budgets() -> Iterator[Entry]:
    yield from _limits("one question to z3", Budget())
    yield from _limits("one property of an implementation", PathLimits())
    yield from _limits("the process of an implementation", Limits())
    yield Entry("budgets", "one question to cvc5", f"rlimit: {', '.join(map(str, second.RLIMITS))}")
    yield Entry("budgets", "trust", f"seeds: {', '.join(map(str, SEEDS))}")
    yield Entry("budgets", "trust", f"small cases: {boxes.POINTS} per theorem")


def _limits(about: str, record: Any) -> Iterator[Entry]:
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, int | float):
            yield Entry("budgets", about, f"{field.name}: {value}")


def _properties() -> Iterator[Entry]:
    yield Entry("implementations", "properties", f"decided: {', '.join(PROPERTIES)}")
    yield Entry("implementations", "boot", f"decided at the block sizes {', '.join(map(str, BLOCK_SIZES))}")
    yield Entry("implementations", "mamba", f"one state stands for sequences of up to {STATE_BLOCK} tokens")
    yield from (Entry("implementations", "states", f"assumes {text}") for text in OF_FIRST_STEPS)
    yield Entry("implementations", "states", f"decided with {', '.join(map(str, SPECULATIVE))} drafts per step")
    yield from (Entry("implementations", "states", text) for text in sorted(_first_steps()))
    yield Entry("implementations", "asked", f"{', '.join(field.name for field in fields(Decisions))}")
    yield from (Entry("implementations", "symbolic execution", f"assumes {text}") for text in ASSUMED)


def _first_steps() -> set[str]:
    looked_at = (course for number in SPECULATIVE for course in courses(number, counts_in_flight=True))
    return {f"the first {each.steps} steps of a request, over at most {each.blocks} blocks" for each in looked_at}


def _loader() -> Iterator[Entry]:
    yield from (Entry("loader", shim.where, f"replaced: {shim.why}") for shim in SHIMS)
    yield Entry("loader", "every other package", "a stand-in, silent in declarations; an error where it decides")


def _driver() -> Iterator[Entry]:
    yield from (Entry("driver", name, f"assumes {value}") for name, value in chosen().items())


def _not_modelled() -> Iterator[Entry]:
    yield from (Entry("not modelled", about, text) for about, text in NOT_MODELLED)


def _of(implementation: Implementation | None) -> Iterator[Entry]:
    if implementation is None:
        return
    origin, found = implementation.source.origin, implementation.findings()
    yield from (Entry(origin, name, f"assumes {value}") for name, value in found.assumed.items())
    yield from (Entry(origin, name, f"stand-in asked {count} times") for name, count in found.stubs_touched.items())
    yield from (Entry(origin, name, f"read {how}") for name, how in found.modules.items())
    yield from (Entry(origin, "its process", text) for text in implementation.unenforced)
