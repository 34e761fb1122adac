"""Explore a small deployment exhaustively."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..inputs.options import DeploymentOptions, describing_a_deployment
from ..render import Format

if TYPE_CHECKING:
    from ..render.run_records import ExploreReport


@describing_a_deployment
def run(
    deployment: DeploymentOptions,
    design: Annotated[
        str | None, typer.Option(help="The design to search: sound, or a family such as vllm-0.19.")
    ] = None,
    impl: Annotated[
        str | None, typer.Option(help="Search a real engine instead: vllm==0.21.0, a wheel, a checkout (slower).")
    ] = None,
    request: Annotated[
        list[str] | None,
        typer.Option(help="What may be submitted, once (repeatable): PROMPT[:OUTPUT[:PRIORITY]], in tokens."),
    ] = None,
    goal: Annotated[
        list[str] | None, typer.Option(help="Search for this, too: runs_out, gate_then_refused, raises (repeatable).")
    ] = None,
    aborts: Annotated[bool, typer.Option("--aborts", help="Requests may be dropped at any time.")] = False,
    forced: Annotated[bool, typer.Option("--forced", help="Search a pool that boot would refuse, too.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="The states after which the search gives up; 200,000 or, in a large pool, fewer."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to write the report.")] = Format.TEXT,
    dot: Annotated[Path | None, typer.Option(help="Write the run to the first finding for graphviz.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Draw the run to the first finding into this file.")] = None,
    save: Annotated[Path | None, typer.Option(help="Save the run to the first fault for poolproof replay.")] = None,
) -> int:
    """Visit every state that a small deployment can reach, and show the shortest run to each fault.

    Exit code 0 where there is no fault; 1 where an invariant is violated, a request waits for ever, or a cycle leads
    nowhere, or boot refuses the pool; 3 where there are more states than the limit.
    """
    from ..oracle.verdict import exit_code
    from ..render.output import note, progress, show
    from ..render.saving import reserve
    from ..running.exploring import searched
    from ..running.search import Search

    described = deployment.described()
    search = Search(described, design, impl, tuple(request or ()), tuple(goal or ()), aborts, forced, limit, save)
    for option, path in (("--dot", dot), ("--svg", svg), ("--save", save)):
        reserve(option, path)
    with progress() as tell:
        report = searched(search, tell)
    _draw(report, dot, svg)
    show(report, form)
    if save is not None and all(found.goal for found in report.reached):
        note("--save: no fault was found, so that nothing is saved")
    return exit_code([report.verdict])


def _draw(report: ExploreReport, dot: Path | None, svg: Path | None) -> None:
    """Draw the first fault, or else the first goal that was reached."""
    from ..render.output import note
    from ..render.saving import leave
    from ..render.trail import to_dot, to_svg

    found = min(report.reached, key=lambda each: each.goal, default=None)
    for option, path, draw in (("--dot", dot, to_dot), ("--svg", svg, to_svg)):
        if path is not None and found is not None:
            leave(option, path, draw(found))
        elif path is not None:
            note(f"{option}: nothing was found, so that nothing is drawn")
