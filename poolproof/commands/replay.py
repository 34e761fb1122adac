"""Replay a saved case."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..render import Format


def run(
    case: Annotated[Path, typer.Argument(help="A run that diff or explore saved.")],
    impl: Annotated[
        str | None, typer.Option(help="The implementation; the one that the case was seen on, if it names one.")
    ] = None,
    design: Annotated[
        str | None, typer.Option(help="The design of the oracle; the one that the case was seen with, if not given.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to write the report.")] = Format.TEXT,
    svg: Annotated[Path | None, typer.Option(help="Draw who holds which block over time into this file.")] = None,
) -> int:
    """Run a saved case on the oracle and on an implementation, and show step by step where they part.

    Exit code 0 where they do the same and violate nothing; 1 where they part, or where an invariant is violated that
    the design promises or the case names.
    """
    from ..oracle.verdict import exit_code
    from ..render.output import progress, show
    from ..render.saving import leave, reserve
    from ..running.replaying import replayed

    reserve("--svg", svg)
    with progress() as tell:
        report = replayed(case, impl, design, tell)
    if svg is not None:
        from ..render.svg_blocks import to_svg

        leave("--svg", svg, to_svg(report.headline, report.scenes))
    show(report, form)
    return exit_code([report.verdict])
