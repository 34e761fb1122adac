"""Properties set against implementations or designs, as plain records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..oracle.verdict import Unsupported, Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """Name what is judged, and in which setting."""

    name: str
    setting: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Cell:
    """Judge one row for one column."""

    row: Row
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Column:
    """Judge one implementation or design.

    Args:
        subject: How it is named.
        label: The same, short.
        facts: What it is like.
        cells: The judgements.
        failure: Why there are none, where it could not be judged at all.
    """

    subject: str
    label: str
    facts: tuple[tuple[str, str], ...]
    cells: tuple[Cell, ...]
    failure: Verdict | None = None

    def verdict(self, row: Row) -> Verdict:
        """Return the judgement of a row; one that was never asked is no pass."""
        found = (cell.verdict for cell in self.cells if cell.row == row)
        return next(found, self.failure or Unsupported("it is not asked of this one"))


@dataclass(frozen=True, slots=True)
class MatrixReport:
    """Set properties against implementations or designs.

    Args:
        title: What is set against what.
        columns: A column each.
        replay: The command line that gives it again.
    """

    title: str
    columns: tuple[Column, ...]
    replay: str

    def rows(self) -> tuple[Row, ...]:
        """List the rows in the order in which columns bring them up."""
        return tuple(dict.fromkeys(cell.row for column in self.columns for cell in column.cells))

    def verdicts(self) -> Iterator[Verdict]:
        """List every judgement, and every failure to judge."""
        rows = self.rows()
        for column in self.columns:
            yield from (column.verdict(row) for row in rows)
            yield from () if column.failure is None else (column.failure,)
