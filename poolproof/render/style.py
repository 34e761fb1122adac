"""The few marks and lines that all text reports share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from rich.markup import escape
from rich.table import Table

from ..oracle.counting import counted
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


def gravest(verdicts: Iterable[Verdict]) -> Verdict:
    """Choose the verdict that decides the exit code: a refutation before what is vacuous, open or unjudged."""
    order: tuple[type[Verdict], ...] = (Refuted, Vacuous, Inconclusive, Unsupported, Holds, Proved)
    return min(verdicts, key=lambda verdict: order.index(type(verdict)))


def tally(verdicts: Sequence[Verdict]) -> str:
    """Count judgements by what they are: `of 5 judgements 4 proved, 1 refuted`."""
    counts = Counter(map(verdict_word, verdicts))
    told = ", ".join(f"{number} {word}" for word, number in counts.items())
    return f"of {counted(len(verdicts), 'judgement')} {told}"


def reason_of(verdict: Verdict) -> str | None:
    """Say why nothing was decided, or None where something was."""
    match verdict:
        case Inconclusive(text) | Vacuous(text) | Unsupported(text):
            return text
        case _:
            return None


def witness_lines(refuted: Refuted, replayed: str) -> Iterator[str]:
    """Show the smallest counterexample, what follows from it, and how it was replayed."""
    witness = refuted.witness
    values = ", ".join(f"{name} = {value}" for name, value in witness.values)
    yield f"  smallest counterexample  {escape(values)}  [dim](sum {witness.sum}, {replayed})[/]"
    yield from (f"    {escape(line)}" for line in (*witness.facts, *witness.steps))


LABEL = 13
"""The columns of a label at the left."""


def labelled(label: str, text: str) -> str:
    """Put a label to the left of a line."""
    return f"[dim]{label:<{LABEL}}[/]{text}"
