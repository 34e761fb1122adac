"""Prove the theorems."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..render import Format
from ._implementation_proofs import judged, refuse

if TYPE_CHECKING:
    from ..proofs.budget import Budget
    from ..proofs.outcome import Finding as ProofFinding
    from ..proofs.outcome import Outcome
    from ..render.records import Finding, TheoremOutcome

_DEFAULT_JOBS = min(2, os.cpu_count() or 1)


def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Theorems or families, or properties with --impl; all where none is named."),
    ] = None,
    family: Annotated[list[str] | None, typer.Option(help="A family of theorems (repeatable).")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to share the theorems among.")] = _DEFAULT_JOBS,
    timeout: Annotated[float | None, typer.Option(min=0.001, help="Seconds that one question may take.")] = None,
    rlimit: Annotated[int | None, typer.Option(min=1, help="Solver resources that one question may take.")] = None,
    impl: Annotated[
        str | None, typer.Option(help="Decide an implementation's own code instead: vllm==0.21.0, a wheel, a checkout.")
    ] = None,
    block_size: Annotated[
        list[int] | None, typer.Option(min=1, help="With --impl: decide boot at this block size only (repeatable).")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to write the result.")] = Format.TEXT,
) -> int:
    """Prove the theorems for all values, refute the false variants, and show that neither is hollow.

    Exit code 0 where everything came out as recorded: covers reached and mutants refuted, too. With --impl, the
    implementation's own code is executed on symbolic integers, and 0 means that every property is proved of it.
    """
    if impl is not None:
        refuse({"--family": family, "--timeout": timeout, "--rlimit": rlimit}, "is about theorems", "leave it out")
        return _prove_implementation(impl, names or [], block_size or [], form)
    refuse({"--block-size": block_size}, "is about an implementation", "name one with --impl")
    return _prove_theorems([*(names or []), *(family or [])], jobs, timeout, rlimit, form)


def _prove_implementation(impl: str, properties: Sequence[str], block_sizes: Sequence[int], form: Format) -> int:
    from ..oracle.verdict import exit_code
    from ..render.output import note, progress, show

    begun = time.monotonic()
    with progress() as tell:
        report = judged(impl, properties, block_sizes, tell)
    show(report, form)
    note(f"{len(report.judgements)} judgements in {time.monotonic() - begun:.1f} s")
    return exit_code(judgement.verdict for judgement in report.judgements)


def _prove_theorems(selected: Sequence[str], jobs: int, timeout: float | None, rlimit: int | None, form: Format) -> int:
    from ..oracle.verdict import exit_code
    from ..render.output import note, show
    from ..render.records import ProveReport

    begun = time.monotonic()
    outcomes = _check_all(selected, jobs, _budget(timeout, rlimit))
    show(ProveReport(tuple(map(_recorded, outcomes)), _replay(selected, timeout, rlimit)), form)
    note(f"{len(outcomes)} theorems in {time.monotonic() - begun:.1f} s")
    return exit_code(outcome.verdict for outcome in outcomes)


def _budget(timeout: float | None, rlimit: int | None) -> Budget:
    from ..proofs.budget import Budget

    limits = {"timeout_ms": None if timeout is None else max(1, int(timeout * 1000)), "rlimit": rlimit}
    return Budget(**{name: limit for name, limit in limits.items() if limit is not None})


def _check_all(selected: Sequence[str], jobs: int, budget: Budget) -> list[Outcome]:
    from ..proofs.registry import select
    from ..proofs.runner import check_all
    from ..render.output import progress

    total, done = len(select(selected or None)), 0
    with progress() as tell:

        def ended(outcome: Outcome) -> None:
            nonlocal done
            done += 1
            tell(outcome.theorem, done, total)

        return list(check_all(selected or None, jobs=min(jobs, total), budget=budget, progress=ended))


def _recorded(outcome: Outcome) -> TheoremOutcome:
    from ..proofs.registry import find
    from ..render.records import TheoremOutcome

    theorem = find(outcome.theorem)
    return TheoremOutcome(
        name=theorem.name,
        family=theorem.family,
        sentence=theorem.sentence,
        expected=outcome.expected.value,
        verdict=outcome.verdict,
        claim=outcome.claim,
        covers=_findings(outcome.covers),
        mutants=_findings(outcome.mutants),
        cost=outcome.cost,
    )


def _findings(found: Iterable[ProofFinding]) -> tuple[Finding, ...]:
    from ..render.records import Finding

    return tuple(Finding(each.text, each.verdict) for each in found)


def _replay(selected: Sequence[str], timeout: float | None, rlimit: int | None) -> str:
    options = {"--timeout": timeout, "--rlimit": rlimit}
    given = [f"{name} {value}" for name, value in options.items() if value is not None]
    return " ".join(["poolproof prove", *selected, *given])
