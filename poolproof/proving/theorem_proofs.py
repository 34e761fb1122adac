"""Proving theorems of the catalogue, from the command line's words to the report."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..render import Format

if TYPE_CHECKING:
    from ..proofs.budget import Budget
    from ..proofs.outcome import Finding as ProofFinding
    from ..proofs.outcome import Outcome
    from ..render.records import Finding, TheoremOutcome


Limits: TypeAlias = tuple[float | None, int | None]
"""The seconds and the solver resources that one question may take, where they are given."""


def prove_theorems(selected: Sequence[str], jobs: int, limits: Limits, form: Format, *, cache: bool) -> int:
    """Check theorems, show what came of it and return the exit code."""
    from ..oracle.counting import counted
    from ..oracle.verdict import exit_code
    from ..render.output import note, show
    from ..render.records import ProveReport

    begun = time.monotonic()
    outcomes = _check_all(selected, jobs, _budget(*limits), _kept_in(asked=cache))
    show(ProveReport(tuple(map(_recorded, outcomes)), _replay(selected, *limits)), form)
    note(f"{counted(len(outcomes), 'theorem')} in {time.monotonic() - begun:.1f} s{_told_recalled(outcomes)}")
    return exit_code(outcome.verdict for outcome in outcomes)


def doubt_theorems(selected: Sequence[str], jobs: int, form: Format) -> int:
    """Check theorems as usual, then in every other way, show what came of it and return the exit code."""
    from ..oracle.counting import counted
    from ..oracle.verdict import exit_code
    from ..render.output import note, progress, show
    from .trust import trusted

    begun = time.monotonic()
    outcomes = _check_all(selected, jobs, _budget(None, None), None)
    with progress() as tell:
        report = trusted(selected, outcomes, jobs, tell)
    show(report, form)
    note(f"{counted(len(outcomes), 'theorem')} in {time.monotonic() - begun:.1f} s")
    return exit_code(verdict for theorem in report.theorems for verdict in theorem.verdicts)


def write_smtlib(selected: Sequence[str], directory: Path) -> None:
    """Write the questions about theorems for other solvers."""
    from ..oracle.counting import counted
    from ..proofs.trust.runner import write_smtlib as write
    from ..render.output import note

    note(f"{counted(write(selected or None, directory), 'file')} in {directory}")


def _kept_in(*, asked: bool) -> Path | None:
    """Name the file that keeps answers between runs; None, and the reason on stderr, where it cannot be used."""
    from ..forks.cache import cache_directory
    from ..forks.results import may_keep
    from ..proofs.answers import why_not
    from ..render.output import note

    file = cache_directory() / "answers.sqlite3"
    if not may_keep(asked=asked):
        return None
    if reason := why_not(file):
        note(f"no answers are kept between runs: {file}: {reason}")
        return None
    return file


def _told_recalled(outcomes: Sequence[Outcome]) -> str:
    recalled = sum(outcome.recalled for outcome in outcomes)
    asked = sum(outcome.asked for outcome in outcomes)
    return f"; {recalled} of {asked} answers recalled (--no-cache asks again)" if recalled else ""


def _budget(timeout: float | None, rlimit: int | None) -> Budget:
    from ..proofs.budget import Budget

    limits = {"timeout_ms": None if timeout is None else max(1, int(timeout * 1000)), "rlimit": rlimit}
    return Budget(**{name: limit for name, limit in limits.items() if limit is not None})


def _check_all(selected: Sequence[str], jobs: int, budget: Budget, answers: Path | None) -> list[Outcome]:
    from ..proofs.registry import select
    from ..proofs.runner import check_all
    from ..render.output import progress

    total, done = len(select(selected or None)), 0
    with progress() as tell:

        def ended(outcome: Outcome) -> None:
            nonlocal done
            done += 1
            tell(outcome.theorem, done, total)

        return list(check_all(selected or None, min(jobs, total), budget, ended, answers))


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
