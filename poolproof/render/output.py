"""Where reports go: records to stdout, progress to stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING, Protocol

from . import Format
from .records import Report

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PATIENCE = 2.0
"""The seconds after which progress is shown."""

PIPED_WIDTH = 100_000
"""The columns of output that nobody's terminal limits: no line is ever wrapped."""


def show(report: Report, form: Format) -> None:
    """Write a report to stdout."""
    from rich.console import Console

    terminal = Console(highlight=False)
    if form is Format.TEXT and terminal.is_terminal:
        from .text import to_text

        _print(terminal, to_text(report))
        return
    print(written(report, form))


def written(report: Report, form: Format) -> str:
    """Write a report into a string, without colours."""
    if form is Format.JSON:
        from .json import to_json

        return to_json(report)
    from rich.console import Console

    from .text import to_text

    # Without a terminal there is nothing to fill up: no colours, no trailing blanks, no narrow columns.
    plain = StringIO()
    _print(Console(file=plain, width=PIPED_WIDTH, highlight=False, no_color=True), to_text(report))
    return "\n".join(line.rstrip() for line in plain.getvalue().splitlines())


def _print(console: Console, renderables: Iterable[RenderableType]) -> None:
    for renderable in renderables:
        console.print(renderable, soft_wrap=isinstance(renderable, str))


def note(message: str) -> None:
    """Tell the person at the terminal something that is no part of the report."""
    print(message, file=sys.stderr)


class Progress(Protocol):
    """Is told how far a task has come."""

    def __call__(self, doing: str, done: int = 0, total: int = 0) -> None:
        """Show what is being done, and how much of it is done."""
        ...


@contextmanager
def progress() -> Iterator[Progress]:
    """Show a bar on stderr for what takes longer than a moment; nothing where stderr is no terminal."""
    bar = _Bar()
    try:
        yield bar.tell
    finally:
        bar.close()


class _Bar:
    """Wait for the patience to run out, then show a bar."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._begun = time.monotonic()
        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn()
        console = Console(stderr=True)
        self._bar = RichProgress(
            *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
        )
        self._task = self._bar.add_task("", total=None)

    def tell(self, doing: str, done: int = 0, total: int = 0) -> None:
        """Show what is being done, and how much of it is done."""
        self._bar.update(self._task, description=doing, completed=done, total=total or None)
        if time.monotonic() - self._begun > PATIENCE:
            self._bar.start()

    def close(self) -> None:
        """Take the bar away."""
        self._bar.stop()
