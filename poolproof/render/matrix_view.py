"""A matrix as every renderer shows it: words in the cells, and notes that cells refer to."""

from __future__ import annotations

from dataclasses import dataclass

from ..oracle.verdict import Refuted, Verdict
from .matrix_records import MatrixReport, Row
from .style import reason_of


@dataclass(frozen=True, slots=True)
class Mark:
    """Show one judgement: the verdict's name, and the number of the note that explains it."""

    word: str
    note: int | None


@dataclass(frozen=True, slots=True)
class Line:
    """Show one row."""

    row: Row
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """Explain judgements: by the numbers of a counterexample to one row, or by a reason that holds for any row."""

    number: int
    row: Row | None
    text: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MatrixView:
    """Hold everything that is shown of a matrix."""

    lines: tuple[Line, ...]
    notes: tuple[Note, ...]


def view(report: MatrixReport) -> MatrixView:
    """Number the explanations; equal ones share a number."""
    notes: dict[tuple[Row | None, str], Note] = {}
    lines = []
    for row in report.rows():
        verdicts = [column.verdict(row) for column in report.columns]
        lines.append(Line(row, tuple(Mark(_word(verdict), _number(row, verdict, notes)) for verdict in verdicts)))
    return MatrixView(tuple(lines), tuple(notes.values()))


def _word(verdict: Verdict) -> str:
    return type(verdict).__name__.lower()


def _number(row: Row, verdict: Verdict, notes: dict[tuple[Row | None, str], Note]) -> int | None:
    """Find the note that explains a verdict, or add it; what holds needs none."""
    text = _text(verdict)
    if text is None:
        return None
    about = row if isinstance(verdict, Refuted) else None
    return notes.setdefault((about, text), Note(len(notes) + 1, about, text, _lines(verdict))).number


def _text(verdict: Verdict) -> str | None:
    if isinstance(verdict, Refuted):
        return ", ".join(f"{name} = {value}" for name, value in verdict.witness.values)
    return reason_of(verdict)


def _lines(verdict: Verdict) -> tuple[str, ...]:
    if isinstance(verdict, Refuted):
        return (*verdict.witness.facts, *verdict.witness.steps)
    return ()
