"""Compare an implementation with the oracle."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..render import DiffFormat


class Profile(StrEnum):
    """How much is compared."""

    SMOKE = "smoke"
    CI = "ci"
    NIGHTLY = "nightly"


def run(
    spec: Annotated[
        str, typer.Argument(help="The implementation: vllm==0.21.0, a wheel, a checkout, path@revision, installed.")
    ],
    design: Annotated[
        str, typer.Option(help="The design of the oracle, such as vllm-0.20; auto chooses by what is found.")
    ] = "auto",
    profile: Annotated[Profile, typer.Option(help="How many runs: smoke takes less than a minute.")] = Profile.SMOKE,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal runs.")] = 0,
    wild: Annotated[bool, typer.Option("--wild", help="Draw pools down to half of what boot demands.")] = False,
    in_flight: Annotated[bool, typer.Option("--async", help="Two batches in flight instead of one.")] = False,
    form: Annotated[DiffFormat, typer.Option("--format", help="How to write the report.")] = DiffFormat.TEXT,
    output: Annotated[Path | None, typer.Option(help="Write the report into this file.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="The directory for a run on which the two part; this one, if not given.")
    ] = None,
) -> int:
    """Drive an implementation and the oracle with the same random requests, and find where they part.

    Every step is compared in all that it shows, and every invariant that the design promises is checked after it.
    Exit code 0 where they never part; 1 where they do: the run is saved, made small, for `poolproof replay`; 3 where
    the implementation accepted no run at all.
    """
    from ..oracle.verdict import exit_code
    from ..render.output import note, progress
    from ..render.saving import reserve, reserve_folder
    from ..running.diff_output import put
    from ..running.differing import Plan, differed

    plan = Plan(spec, None if design == "auto" else design, profile.value, seed, wild, 2 if in_flight else 1, save)
    reserve_folder("--save", save)
    reserve("--output", output)
    with progress() as tell:
        report = differed(plan, tell)
    put(report, form, output)
    if save is not None and report.parted is None:
        note("--save: nothing was found, so that nothing is saved")
    return exit_code([report.verdict])
