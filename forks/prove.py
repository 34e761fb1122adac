"""Decide properties of an implementation's own code for every value of its symbolic fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from ..oracle.verdict import Inconclusive, Proved, Verdict
from ..proofs.decisions import Decisions
from ..proofs.judgement import Judgement
from ..proofs.settings import BLOCK_SIZES
from ..proofs.state_properties import SPECULATIVE
from ..spec.errors import UsageError
from .blind_spots import blind_spots
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

RECYCLED = (
    "of the tokens that get_num_skipped_tokens names, whole blocks go back; `diff` watches the manager do so",
    "the cap that the spec computes is the one that its manager is given; `diff` watches what admission charges",
)
"""What lies between a number that the code computes and what its manager makes of it."""

OF_ADMISSION = (
    "a request is new and drafts nothing: one that was preempted is asked about as a new one of as many tokens; `diff` "
    "preempts real ones",
)
"""What is taken for granted of the request that is to be admitted."""

QUESTIONS = (*((name,) for name in PROPERTIES if name not in OF_STATES), OF_STATES)
"""What is asked about together: properties of states speak of the same steps."""


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
    chosen = _known(properties)
    for names in QUESTIONS:
        asked = [name for name in names if name in chosen]
        if asked:
            if on_progress is not None:
                on_progress(f"{implementation.source.origin}: {', '.join(asked)}")
            yield from _asked(implementation, asked, block_sizes)


def _asked(implementation: Implementation, names: Sequence[str], block_sizes: Sequence[int] | None) -> list[Judgement]:
    """Ask about one number at a time, so that no single answer takes long, and sort what comes by property."""
    found: list[Judgement] = []
    for number in _numbers(names, block_sizes):
        found += implementation.call(f"{__name__}:judge", {"names": list(names), "number": number})
    return sorted(found, key=lambda judgement: names.index(judgement.name))


def _numbers(names: Sequence[str], block_sizes: Sequence[int] | None) -> Sequence[int | None]:
    """List the block sizes, or the drafts per step, at which properties are decided; None stands for every number."""
    if names[0] in OF_STATES:
        return SPECULATIVE
    if names[0] not in AT_BLOCK_SIZES:
        return (None,)
    return BLOCK_SIZES if block_sizes is None else block_sizes


def judge(core: Core, names: Sequence[str], number: int | None) -> list[Judgement]:
    """Decide properties of a loaded fork that are asked about together, in every setting; this runs beside the fork."""
    from .interpretation import ASSUMED, interpreted

    decisions, of_cap = decisions_of(core)
    assumed, spots = (*ASSUMED, *_assumed_of(names, of_cap)), blind_spots(core)
    with interpreted(core):
        found = [each for each in _examined(decisions, names, number) if each.name in names]
    return [replace(each, verdict=_seen(each.verdict, spots), assumed=(*assumed, *each.assumed)) for each in found]


def _seen(verdict: Verdict, spots: Sequence[str]) -> Verdict:
    """Prove nothing of code that may have decided by what a symbolic number cannot answer."""
    if not spots or not isinstance(verdict, Proved):
        return verdict
    return Inconclusive(f"the code asks a number what a symbolic one cannot answer: {', '.join(spots)}")


def _examined(decisions: Decisions, names: Sequence[str], number: int | None) -> Iterator[Judgement]:
    from ..proofs.implementation_properties import boot_properties, cache_properties
    from ..proofs.state_properties import state_properties
    from ..proofs.symbolic import examine, examine_together

    if number is not None and names[0] in OF_STATES:
        for shared in state_properties(decisions, number):
            yield from examine_together(shared)
        return
    subjects = cache_properties(decisions) if number is None else boot_properties(decisions, number)
    yield from (examine(subject) for subject in subjects if subject.name in names)


def _assumed_of(names: Sequence[str], of_cap: tuple[str, ...]) -> tuple[str, ...]:
    from .state_runs import ASSUMED

    if names[0] in OF_STATES:
        return ASSUMED
    if names[0] in AT_BLOCK_SIZES:
        return OF_ADMISSION
    return (*RECYCLED, *of_cap) if names[0].startswith("cap_") else RECYCLED


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
