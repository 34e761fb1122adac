"""Scrutinise theorems of the catalogue, shared among processes, and write them down for other solvers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from ...spec.errors import UsageError
from ..needed import hypotheses
from ..registry import find, select
from ..theorem import Expectation, Theorem
from .obligations import obligations
from .scrutiny import Scrutiny, scrutinise
from .smtlib import exact, linear


def scrutinise_all(
    names: Sequence[str] | None = None, jobs: int = 1, progress: Callable[[Scrutiny], None] | None = None
) -> Iterator[Scrutiny]:
    """Scrutinise theorems (all, or those named by theorem or family), in the order of the catalogue.

    Raises:
        UsageError: A name is unknown.
    """
    selected = [theorem.name for theorem in select(names)]
    # Fresh processes: the solver's own threads do not survive a fork.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for scrutiny in pool.map(_named, selected):
            if progress is not None:
                progress(scrutiny)
            yield scrutiny


def _named(name: str) -> Scrutiny:
    return scrutinise(find(name))


def write_smtlib(names: Sequence[str] | None, directory: Path) -> int:
    """Write each question about each theorem into a file, and return how many there are.

    Raises:
        UsageError: A name is unknown, or the directory cannot be written.
    """
    scripts = [script for theorem in select(names) for script in _scripts(theorem)]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in scripts:
            (directory / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError("--smtlib", directory, f"cannot be written: {error.strerror}", "name a directory") from error
    return len(scripts)


def _scripts(theorem: Theorem) -> Iterator[tuple[str, str]]:
    """Write a theorem's questions; a true one's also as the linear relaxation, of which only `unsat` says something."""
    for number, obligation in enumerate(obligations(theorem, hypotheses(theorem)), 1):
        head = f"; {theorem.sentence}\n; {theorem.name}: {obligation.text}\n"
        status = f"(set-info :status {obligation.expected.value})\n"
        yield f"{theorem.name}.{number}.smt2", f"{head}{status}{exact(obligation.question)}"
        if theorem.expected is Expectation.HOLDS:
            relaxed = linear(obligation.question, of_three=True)
            yield f"{theorem.name}.linear.smt2", f"{head}; a relaxation: only `unsat` says something\n{relaxed}"
