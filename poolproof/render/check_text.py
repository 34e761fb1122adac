"""A checked deployment for a person at three in the morning: the verdict, the reason, the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.markup import escape

from ..oracle.counting import counted
from ..oracle.verdict import Refuted, Vacuous
from .records import CheckReport, Observation, Requirement, Run
from .style import columns, headline_word, labelled, verdict_word


def check_text(report: CheckReport) -> Iterator[RenderableType]:
    """Lay the report out."""
    yield f"{headline_word(report.verdict)}  {escape(report.headline)}"
    yield f"  {escape(report.why)}"
    if report.judged_by is not None:
        yield f"  {escape(report.judged_by)}"
    yield from _witness(report)
    yield ""
    yield from _pool(report)
    about_prompts = () if isinstance(report.verdict, Vacuous) else (report.admission,)
    for requirement in (report.boot, *about_prompts):
        yield ""
        yield from _requirement(requirement)
    yield ""
    yield from _unserved(report)
    yield from _repairs(report)
    yield from _runs(report)
    yield from _notes(report)


def _witness(report: CheckReport) -> Iterator[str]:
    """Show what the first two lines have not said already."""
    if isinstance(report.verdict, Refuted):
        said = {report.headline, report.why}
        yield from (f"    [dim]{escape(fact)}[/]" for fact in report.verdict.witness.facts if fact not in said)


def _pool(report: CheckReport) -> Iterator[str]:
    pool = counted(report.blocks, "block")
    yield labelled("pool", f"{pool}, {report.usable} usable [dim]({escape(report.pool)})[/]")
    for boot in report.boots:
        word = "accepts it" if boot.accepts else "[red]refuses it[/]"
        smallest = counted(boot.smallest, "block")
        yield labelled("boot", f"{escape(boot.engine)} {word}; the smallest pool it accepts is {smallest}")
    yield labelled("boot log", f"concurrency {report.concurrency:.3f} [dim](reported, nothing depends on it)[/]")


def _requirement(requirement: Requirement) -> Iterator[RenderableType]:
    yield f"[bold]{escape(requirement.title)}[/]"
    table = columns("group", "", "blocks", header=False)
    for line in requirement.groups:
        times = f"{line.count} x" if line.count > 1 else ""
        table.add_row(f"  {escape(line.group)}", times, escape(line.formula))
    if requirement.null_block:
        table.add_row("  null block", "", str(requirement.null_block))
    table.add_row("  [bold]together[/]", "", f"[bold]{counted(requirement.blocks, 'block')}[/]")
    yield table


def _unserved(report: CheckReport) -> Iterator[str]:
    if isinstance(report.verdict, Vacuous):
        yield labelled("prompts", "none is legal")
        yield labelled("growth", escape(report.growth))
        return
    supposing = "" if report.boots[-1].accepts else "were it to start, "
    if not report.unserved:
        yield labelled("prompts", f"{supposing}every legal length is served")
    for part in report.unserved:
        lengths = f"{part.lengths.first} to {counted(part.lengths.last, 'token')}"
        yield labelled("prompts", f"{supposing}{lengths}: [red]{escape(part.outcome)}[/]")
    yield labelled("growth", escape(report.growth))


def _repairs(report: CheckReport) -> Iterator[str]:
    for repair in report.repairs:
        told = f"{verdict_word(repair.verdict)} [dim]({escape(repair.why)})[/]"
        yield labelled("repair", f"{escape(repair.changes)}: {told}")


def _runs(report: CheckReport) -> Iterator[RenderableType]:
    if not report.runs:
        return
    engines = [observation.engine for observation in report.runs[0].observations]
    table = columns("prompt", "predicted", *engines, right={"prompt"})
    for run in report.runs:
        table.add_row(str(run.prompt), escape(run.predicted), *map(_observed, _by_engine(run, engines)))
    yield ""
    yield table


def _by_engine(run: Run, engines: list[str]) -> list[Observation | None]:
    found = {observation.engine: observation for observation in run.observations}
    return [found.get(engine) for engine in engines]


def _observed(observation: Observation | None) -> str:
    if observation is None:
        return "[dim]not run[/]"
    mark = "" if observation.agrees else " [bold red](disagrees)[/]"
    peak = f", peak {' + '.join(map(str, observation.peak))}" if any(observation.peak) else ""
    steps = f" [dim]({counted(observation.steps, 'step')}{peak})[/]" if observation.steps else ""
    return f"{escape(observation.outcome)}{mark}{steps}"


def _notes(report: CheckReport) -> Iterator[str]:
    yield ""
    for name, text in report.findings:
        yield labelled(name, escape(text))
    for line in report.scope:
        yield labelled("scope", escape(line))
    yield labelled("replay", escape(report.replay))
