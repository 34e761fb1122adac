"""Prove the theorems."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..proving.implementation_proofs import judged, refuse
from ..proving.theorem_proofs import doubt_theorems, prove_theorems, write_smtlib
from ..render import Format


class Trust(StrEnum):
    """How much is doubted."""

    USUAL = "usual"
    FULL = "full"


_DEFAULT_JOBS = min(2, os.cpu_count() or 1)


def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Theorems or families, or properties with --impl; all where none is named."),
    ] = None,
    family: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A family of theorems (repeatable).")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to share the theorems among.")] = _DEFAULT_JOBS,
    timeout: Annotated[float | None, typer.Option(min=0.001, help="Seconds that one question may take.")] = None,
    rlimit: Annotated[int | None, typer.Option(min=1, help="Solver resources that one question may take.")] = None,
    impl: Annotated[
        str | None, typer.Option(help="Decide an implementation's own code instead: vllm==0.21.0, a wheel, a checkout.")
    ] = None,
    block_size: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="<int>", help="With --impl: decide boot at this block size only (repeatable)."),
    ] = None,
    trust: Annotated[
        Trust,
        typer.Option(help="`full`: a second solver too, five seeds, every small case, and only needed hypotheses."),
    ] = Trust.USUAL,
    smtlib: Annotated[Path | None, typer.Option(help="Write every question as SMT-LIB into this directory.")] = None,
    cache: Annotated[bool, typer.Option(help="Keep answers between runs; never done where CI is set.")] = True,
    form: Annotated[Format, typer.Option("--format", help="How to write the result.")] = Format.TEXT,
) -> int:
    """Prove the theorems for all values, refute the false variants, and show that neither is hollow.

    Exit code 0 where everything came out as recorded: covers reached and mutants refuted, too. With --impl, the
    implementation's own code is executed on symbolic integers, and 0 means that every property is proved of it.
    The files of --smtlib are written before anything is proved, or refused with exit code 2.
    """
    if impl is not None:
        ours = {"--family": family, "--timeout": timeout, "--rlimit": rlimit, "--smtlib": smtlib}
        refuse({**ours, "--trust": trust is Trust.FULL}, "is about theorems", "leave it out")
        return _prove_implementation(impl, names or [], block_size or [], form)
    refuse({"--block-size": block_size}, "is about an implementation", "name one with --impl")
    selected = [*(names or []), *(family or [])]
    if trust is Trust.FULL:
        refuse({"--timeout": timeout, "--rlimit": rlimit}, "has no effect with --trust full", "leave it out")
    if smtlib is not None:
        write_smtlib(selected, smtlib)
    if trust is Trust.FULL:
        return doubt_theorems(selected, jobs, form)
    return prove_theorems(selected, jobs, (timeout, rlimit), form, cache=cache)


def _prove_implementation(impl: str, properties: Sequence[str], block_sizes: Sequence[int], form: Format) -> int:
    from ..oracle.counting import counted
    from ..oracle.verdict import exit_code
    from ..render.output import note, progress, show

    begun = time.monotonic()
    with progress() as tell:
        report = judged(impl, properties, block_sizes, tell)
    show(report, form)
    note(f"{counted(len(report.judgements), 'judgement')} in {time.monotonic() - begun:.1f} s")
    return exit_code(judgement.verdict for judgement in report.judgements)
