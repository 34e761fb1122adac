"""What verdicts rest on, for a person: changes first, then everything by area."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.markup import escape

from .audit_records import AuditReport
from .style import columns

if TYPE_CHECKING:
    from ..forks.audit import Entry


def audit_text(report: AuditReport) -> Iterator[RenderableType]:
    """Lay the list out."""
    changes = [*(("[green]+[/]", each) for each in report.added), *(("[red]-[/]", each) for each in report.removed)]
    for sign, entry in changes:
        yield f"{sign} {escape(_line(entry))}"
    if not changes:
        yield from _all(report.entries)
    yield ""
    yield f"{len(report.entries)} entries; {len(report.added)} added, {len(report.removed)} removed"
    yield f"[dim]replay[/]  {escape(report.replay)}"


def _all(entries: tuple[Entry, ...]) -> Iterator[RenderableType]:
    for area, found in groupby(entries, key=lambda entry: entry.area):
        yield f"[bold]{escape(area)}[/]"
        table = columns("", "", header=False)
        for about, texts in groupby(found, key=lambda entry: entry.about):
            table.add_row(f"  {escape(about)}", escape("\n".join(entry.text for entry in texts)))
        yield table


def _line(entry: Entry) -> str:
    return f"{entry.area}, {entry.about}: {entry.text}"
