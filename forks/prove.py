"""Decide properties of an implementation's own code for every value of its symbolic fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from ..proofs.decisions import Decisions
from ..proofs.judgement import Judgement
from ..proofs.settings import BLOCK_SIZES
from ..proofs.state_properties import SPECULATIVE
from ..proofs.symbolic import Property
from ..spec.errors import UsageError
from .implementation import Implementation
from .loader import Core
from .source import Source

AT_BLOCK_SIZES = ("boot_covers_gate", "boot_is_tight")
"""What is decided at given block sizes."""

OF_STATES = ("boot_covers_held", "prediction_covers_allocation")
"""What is decided of recurrent states, at given numbers of drafts."""

PROPERTIES = (
    "cap_covers_held",
    "cap_covers_held_with_lookahead",
    "skipped_tokens_are_out_of_the_window",
    "tokens_out_of_the_window_are_skipped",
    *AT_BLOCK_SIZES,
    *OF_STATES,
)
"""What can be asked of an implementation."""


def prove_implementation(
    source: Source | str,
    properties: Sequence[str] | None = None,
    *,
    block_sizes: Sequence[int] | None = None,
    patches: Iterable[tuple[str, str, str]] = (),
    on_progress: Callable[[str], None] | None = None,
) -> list[Judgement]:
    """Decide properties of an implementation, each in every setting, in a process of its own.

    Args:
        source: A resolved source, or how a user spells one.
        properties: Their names; all of them by default.
        block_sizes: The block sizes at which boot is decided; those of the catalogue by default.
        patches: Changes to the fork's source as it is loaded.
        on_progress: Told, in words, what is being decided.

    Raises:
        UsageError: There is no such property, or no such source.
    """
    chosen = _known(properties)
    with Implementation(source, patches=patches, on_progress=on_progress) as implementation:
        return list(prove_running(implementation, chosen, block_sizes=block_sizes, on_progress=on_progress))


def prove_running(
    implementation: Implementation,
    properties: Sequence[str] | None = None,
    *,
    block_sizes: Sequence[int] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Iterator[Judgement]:
    """Decide properties of an implementation that is running, one after the other.

    Raises:
        UsageError: There is no such property.
    """
    for name in _known(properties):
        if on_progress is not None:
            on_progress(f"{implementation.source.origin}: {name}")
        # One number at a time, so that no single answer takes long.
        for number in _numbers(name, block_sizes):
            yield from implementation.call(f"{__name__}:judge", {"name": name, "number": number})


def _numbers(name: str, block_sizes: Sequence[int] | None) -> Sequence[int | None]:
    """List the block sizes, or the drafts per step, at which a property is decided; None stands for every number."""
    if name in OF_STATES:
        return SPECULATIVE
    if name not in AT_BLOCK_SIZES:
        return (None,)
    return BLOCK_SIZES if block_sizes is None else block_sizes


def judge(core: Core, name: str, number: int | None) -> list[Judgement]:
    """Decide one property of a loaded fork in every setting; this runs beside the fork."""
    from ..proofs.symbolic import examine
    from .interpretation import ASSUMED, interpreted

    decisions, of_cap = decisions_of(core)
    assumed = (*ASSUMED, *_assumed_of(name, of_cap))
    with interpreted(core):
        found = [examine(subject) for subject in _subjects(decisions, name, number) if subject.name == name]
    return [replace(judgement, assumed=(*assumed, *judgement.assumed)) for judgement in found]


def _subjects(decisions: Decisions, name: str, number: int | None) -> Iterator[Property]:
    from ..proofs.implementation_properties import boot_properties, cache_properties
    from ..proofs.state_properties import state_properties

    if number is None:
        return cache_properties(decisions)
    return state_properties(decisions, number) if name in OF_STATES else boot_properties(decisions, number)


def _assumed_of(name: str, of_cap: tuple[str, ...]) -> tuple[str, ...]:
    from .state_runs import ASSUMED

    if name in OF_STATES:
        return ASSUMED
    return of_cap if name.startswith("cap_") else ()


def decisions_of(core: Core) -> tuple[Decisions, tuple[str, ...]]:
    """Gather what the properties ask of a fork, and what was assumed about its cap."""
    from .formulas import Formulas
    from .replays import replay_admission, replay_held
    from .state_replays import replay_steps
    from .state_runs import state_run

    formulas = Formulas(core)
    decisions = Decisions(
        formulas.cap,
        formulas.skipped,
        formulas.boots,
        formulas.admits,
        formulas.reserves,
        partial(state_run, core),
        partial(replay_held, core, formulas),
        partial(replay_admission, core),
        partial(replay_steps, core, formulas),
        formulas.budget_counts(),
        formulas.counts_in_flight(),
    )
    return decisions, formulas.assumed()


def _known(properties: Sequence[str] | None) -> tuple[str, ...]:
    if properties is None:
        return PROPERTIES
    hint = f"name one of {', '.join(PROPERTIES)}"
    for name in properties:
        if name not in PROPERTIES:
            raise UsageError("property", name, "no such property of an implementation", hint)
    if not properties:
        raise UsageError("property", "none", "nothing is selected", hint)
    return tuple(properties)
