"""A matrix on a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.markup import escape

from .matrix_records import MatrixReport
from .matrix_view import Line, Mark, Note, view
from .style import columns, gravest, headline_word, tally

_COLOURS = {"proved": "green", "holds": "green", "refuted": "red"}


def matrix_text(report: MatrixReport) -> Iterator[RenderableType]:
    """Lay a matrix out for a terminal."""
    shown = view(report)
    verdicts = tuple(report.verdicts())
    yield f"{headline_word(gravest(verdicts))}  {escape(report.title)}: {tally(verdicts)}"
    yield ""
    table = columns("property", "setting", *(column.label for column in report.columns))
    for line in shown.lines:
        table.add_row(line.row.name, escape(line.row.setting), *map(_coloured, line.marks))
    yield table
    yield from _facts(report)
    for note in shown.notes:
        yield from _note(note)
    yield ""
    yield f"[dim]replay[/]  {escape(report.replay)}"


def _coloured(mark: Mark) -> str:
    number = "" if mark.note is None else f" [dim]{mark.note}[/]"
    return f"[{_COLOURS.get(mark.word, 'yellow')}]{mark.word}[/]{number}"


def _facts(report: MatrixReport) -> Iterator[str]:
    yield ""
    for column in report.columns:
        told = "; ".join(f"{name} {value}" for name, value in column.facts)
        yield f"[bold]{escape(column.subject)}[/]  [dim]{escape(told)}[/]"


def _note(note: Note) -> Iterator[str]:
    yield ""
    about = "" if note.row is None else f"{note.row.name} [dim]({escape(note.row.setting)})[/]: "
    yield f"[bold]{note.number}[/]  {about}{escape(note.text)}"
    yield from (f"   [dim]{escape(line)}[/]" for line in note.lines)


def matrix_markdown(report: MatrixReport) -> str:
    """Write a matrix as Markdown."""
    shown = view(report)
    heads = ["property", "setting", *(column.label for column in report.columns)]
    table = [_cells(heads), _cells(["---"] * len(heads)), *map(_row, shown.lines)]
    notes = [f"{note.number}. {_about(note)}{_explained(note)}" for note in shown.notes]
    return "\n".join([f"**{_plain(report.title)}**", "", *table, "", *notes, "", f"`{report.replay}`"])


def _row(line: Line) -> str:
    return _cells([f"`{line.row.name}`", _plain(line.row.setting), *map(_marked, line.marks)])


def _marked(mark: Mark) -> str:
    word = f"**{mark.word}**" if mark.word == "refuted" else mark.word
    return word if mark.note is None else f"{word} ({mark.note})"


def _about(note: Note) -> str:
    return "" if note.row is None else f"`{note.row.name}` ({_plain(note.row.setting)}): "


def _explained(note: Note) -> str:
    return _plain("; ".join([note.text, *note.lines]))


def _cells(texts: list[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _plain(text: str) -> str:
    """Keep what has a meaning in Markdown from having it."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
