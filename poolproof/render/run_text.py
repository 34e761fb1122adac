"""Runs for a person: the verdict, then every action with what each engine made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.console import RenderableType
from rich.markup import escape

from ..oracle.counting import counted
from .run_records import BootsParted, Count, DiffReport, EngineMoment, ExploreReport, Reached, ReplayReport, Scene
from .style import columns, headline_word, labelled


def run_text(report: DiffReport | ReplayReport | ExploreReport) -> Iterator[RenderableType]:
    """Lay a report out."""
    yield f"{headline_word(report.verdict)}  {escape(report.headline)}"
    yield ""
    match report:
        case DiffReport():
            yield from _diff(report)
        case ReplayReport():
            yield from _replay(report)
        case ExploreReport():
            yield from _explore(report)
    for line in report.scope:
        yield labelled("scope", escape(line))
    yield labelled("replay", escape(report.replay))


def _diff(report: DiffReport) -> Iterator[RenderableType]:
    yield from _parted(report)
    yield from _boots_parted(report.boots)
    yield labelled("oracle", f"{escape(report.design)} [dim]({escape(report.chosen)})[/]")
    until = "" if report.parted is None else "; the comparison ended with the round of the first difference"
    yield labelled("runs", f"{report.scenarios}[dim]{until}[/]")
    table = columns("what happened", "runs", right={"runs"})
    for count in report.coverage:
        table.add_row(f"  {count.what}", str(count.times) if count.times else "[yellow]0[/]")
    yield table
    yield from _refused(report.refused)
    yield ""
    yield labelled("invariants", ", ".join(report.promised))
    for name, text in report.findings:
        yield labelled(name, escape(text))


def _parted(report: DiffReport) -> Iterator[RenderableType]:
    parted = report.parted
    if parted is None:
        return
    yield labelled("deployment", escape(parted.deployment))
    for number, action in enumerate(parted.actions, 1):
        yield labelled("actions" if number == 1 else "", f"{number:>2}  {escape(action)}")
    yield labelled("difference", f"[red]{escape(parted.field)}[/]: {escape(parted.detail)}")
    if parted.pool is not None:
        yield labelled("pool", f"[yellow]{escape(parted.pool)}[/]")
    if parted.case is not None and parted.replay is not None:
        yield labelled("saved as", escape(parted.case))
        yield labelled("show it", escape(parted.replay))
    yield ""


def _boots_parted(boots: BootsParted | None) -> Iterator[RenderableType]:
    if boots is None:
        return
    yield labelled("deployment", escape(boots.deployment))
    yield labelled(
        "difference", f"[red]smallest pool[/]: the design has {boots.least}, the implementation {boots.found}"
    )
    yield labelled("judge it", escape(boots.check))
    yield ""


def _refused(refused: tuple[Count, ...]) -> Iterator[RenderableType]:
    if not refused:
        return
    yield ""
    table = columns("refused by the implementation, in its own words", "drawn", right={"drawn"})
    for count in refused:
        table.add_row(f"  {escape(count.what)}", str(count.times))
    yield table


def _replay(report: ReplayReport) -> Iterator[RenderableType]:
    beside = "" if report.implementation is None else f", beside {escape(report.implementation)}"
    yield labelled("case", escape(report.case))
    yield labelled("deployment", escape(report.deployment))
    yield labelled("oracle", f"{escape(report.design)}{beside}")
    yield ""
    yield from _scenes(report.scenes)
    yield ""


def _explore(report: ExploreReport) -> Iterator[RenderableType]:
    yield labelled("deployment", escape(report.deployment))
    yield labelled("engine", escape(report.engine))
    yield labelled("requests", escape("; ".join(report.requests)))
    if report.refusal is not None:
        yield labelled("boot", f"[red]refuses it[/]: {escape(report.refusal)}")
    yield labelled("searched", _searched(report))
    if report.unreached:
        yield labelled("not reached", f"[yellow]{', '.join(report.unreached)}[/]")
    for found in report.reached:
        yield from _found(found)
    yield ""


def _searched(report: ExploreReport) -> str:
    if not report.states:
        return "nothing"
    states, transitions = counted(report.states, "state"), counted(report.transitions, "transition")
    return f"{states}, {transitions}" + ("" if report.complete else "; there are more states")


def _found(found: Reached) -> Iterator[RenderableType]:
    yield ""
    word = "[yellow]reached[/]" if found.goal else "[red]violated[/]"
    yield f"[bold]{found.name}[/] {word}: {escape(found.fault)}"
    yield from _scenes(found.scenes)
    if found.case is not None:
        yield labelled("saved as", escape(found.case))


def _scenes(scenes: tuple[Scene, ...]) -> Iterator[RenderableType]:
    table = columns(
        "", "action", "engine", "scheduled", "free", "block tables (0: recycled)", "events", right={"", "free"}
    )
    for scene in scenes:
        for index, moment in enumerate(_distinct(scene)):
            number, action = (str(scene.number), escape(scene.action)) if index == 0 else ("", "")
            mark = " [yellow](repeats)[/]" if scene.repeats and index == 0 else ""
            table.add_row(number, action + mark, *_cells(moment))
    yield table
    for scene in scenes:
        if scene.difference is not None:
            yield f"[bold red]first difference[/] after action {scene.number}: {escape(scene.difference)}"


def _distinct(scene: Scene) -> tuple[EngineMoment, ...]:
    """Show engines that did the same thing in one row, unless this is where they part."""
    first, *others = scene.engines
    alike = scene.difference is None and all(_seen(other) == _seen(first) for other in others)
    return (replace(first, engine="both"),) if others and alike else scene.engines


def _seen(moment: EngineMoment) -> tuple[object, ...]:
    return (moment.scheduled, moment.events, moment.free, moment.tables, moment.error, moment.fault)


def _cells(moment: EngineMoment) -> tuple[str, ...]:
    scheduled = ", ".join(f"{name} {tokens}" for name, tokens in moment.scheduled)
    tables = "; ".join(f"{name} {_tables(groups)}" for name, groups in moment.tables)
    return (
        f"[bold red]> {escape(moment.engine)}[/]" if moment.apart is not None else escape(moment.engine),
        escape(scheduled) or "[dim]-[/]",
        str(len(moment.free)),
        escape(tables) or "[dim]-[/]",
        _events(moment),
    )


def _tables(groups: tuple[tuple[int, ...], ...]) -> str:
    return " ".join(f"({' '.join(map(str, table))})" for table in groups)


def _events(moment: EngineMoment) -> str:
    told = [] if moment.apart is None else [f"[bold red]> {escape(moment.apart)}[/]"]
    told += [escape(event) for event in moment.events]
    if moment.error is not None:
        told.append(f"[red]raised {escape(moment.error)}[/]")
    if moment.fault is not None:
        told.append(f"[bold red]{escape(moment.fault)}[/]")
    return "; ".join(told)
