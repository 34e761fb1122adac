"""The few marks that all text reports share."""

from __future__ import annotations

from collections.abc import Collection

from rich.table import Table

from ..oracle.verdict import Holds, Inconclusive, Proved, Refuted, Unsupported, Vacuous, Verdict

_WORDS: dict[type[Verdict], tuple[str, str]] = {
    Proved: ("proved", "green"),
    Holds: ("holds", "green"),
    Refuted: ("refuted", "red"),
    Inconclusive: ("inconclusive", "yellow"),
    Vacuous: ("vacuous", "yellow"),
    Unsupported: ("unsupported", "yellow"),
}


def verdict_word(verdict: Verdict) -> str:
    """Name a verdict in its colour."""
    word, colour = _WORDS[type(verdict)]
    return f"[{colour}]{word}[/]"


def headline_word(verdict: Verdict) -> str:
    """Name a verdict so that it is seen first."""
    word, colour = _WORDS[type(verdict)]
    return f"[bold {colour}]{word.upper()}[/]"


def columns(*titles: str, right: Collection[str] = (), header: bool = True) -> Table:
    """Start a table without lines."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=header, header_style="dim")
    for title in titles:
        table.add_column(title, justify="right" if title in right else "left", overflow="fold")
    return table
