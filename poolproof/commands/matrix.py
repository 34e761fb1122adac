"""Set properties against implementations."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..proving.implementation_proofs import refuse
from ..render import MatrixFormat

if TYPE_CHECKING:
    from ..forks import Source
    from ..render.matrix_records import Column, MatrixReport
    from ..render.output import Progress

_DEFAULT_JOBS = min(2, os.cpu_count() or 1)


def run(
    specs: Annotated[
        list[str] | None,
        typer.Argument(help="Releases, wheels, checkouts (nine releases by default); with --designs, designs (all)."),
    ] = None,
    block_size: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="<int>", help="The block sizes at which boot is decided (repeatable)."),
    ] = None,
    designs: Annotated[bool, typer.Option("--designs", help="Judge designs, by their formulas, instead.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Columns to judge at once.")] = _DEFAULT_JOBS,
    cache: Annotated[bool, typer.Option(help="Keep results between runs; never done where CI is set.")] = True,
    output: Annotated[Path | None, typer.Option(help="Write into this file.")] = None,
    form: Annotated[MatrixFormat, typer.Option("--format", help="How to write the matrix.")] = MatrixFormat.TEXT,
) -> int:
    """Decide every property of every implementation, and say by which smallest counterexample one fails.

    Exit code 0 where everything is proved or holds; 1 where anything is refuted; 2 where the file of --output cannot
    be written, which is seen before the work (where it fails later, the matrix is printed and its code stays).
    """
    from ..forks.releases import RELEASES
    from ..oracle.counting import counted
    from ..oracle.verdict import exit_code
    from ..render.output import note, progress
    from ..render.saving import reserve

    reserve("--output", output)
    begun = time.monotonic()
    with progress() as tell:
        if designs:
            refuse({"--block-size": block_size}, "is about implementations", "leave it out")
            report = _designs(specs or [], jobs, tell)
        else:
            report = _judged(specs or list(RELEASES.values()), block_size or [16], jobs, cache, tell)
    _write(report, form, output)
    note(f"{counted(len(report.columns), 'column')} in {time.monotonic() - begun:.1f} s")
    return exit_code(report.verdicts())


def _judged(specs: Sequence[str], block_sizes: Sequence[int], jobs: int, cache: bool, tell: Progress) -> MatrixReport:
    """Judge implementations side by side: each runs in a process of its own, and a thread waits for it."""
    from concurrent.futures import ThreadPoolExecutor

    from ..forks import resolve
    from ..forks.results import Results, may_keep
    from ..oracle.counting import counted
    from ..proving.columns import column
    from ..render.matrix_records import MatrixReport

    results = Results(kept=may_keep(asked=cache))

    def judge(source: Source) -> Column:
        return column(source, block_sizes, results, tell)

    with ThreadPoolExecutor(jobs) as pool:
        sources = list(pool.map(lambda spec: resolve(spec, on_progress=tell), specs))
        judged = tuple(pool.map(judge, sources))
    sizes = ", ".join(map(str, block_sizes))
    decided = f"boot decided at block size {sizes}, states over the first steps of a request, everything else at any"
    title = f"{counted(len(judged), 'implementation')}; {decided}"
    return MatrixReport(title, judged, _replay(specs, block_sizes))


def _designs(names: Sequence[str], jobs: int, tell: Progress) -> MatrixReport:
    from ..proving.design_columns import designs_report

    return designs_report(names, jobs, tell)


def _replay(specs: Sequence[str], block_sizes: Sequence[int]) -> str:
    return " ".join(["poolproof matrix", *specs, *(f"--block-size {size}" for size in block_sizes)])


def _write(report: MatrixReport, form: MatrixFormat, output: Path | None) -> None:
    from ..render.matrix import show, write

    if output is None or not write(report, form, output):
        show(report, form)
