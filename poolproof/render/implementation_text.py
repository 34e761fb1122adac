"""The judgement of an implementation for a person: a line per property and kind of groups, then what refutes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from ..oracle.counting import counted
from ..oracle.verdict import Proved, Refuted
from ..proofs.judgement import Judgement
from .implementation_records import ImplementationReport
from .style import columns, gravest, headline_word, reason_of, tally, verdict_word, witness_lines


def implementation_text(report: ImplementationReport) -> Iterator[RenderableType]:
    """Lay the report out."""
    rows = _rows(report.judgements)
    yield _summary(report)
    yield ""
    yield _table(rows)
    for row in rows:
        yield from _details(row)
    yield ""
    yield from _notes(report)


def _rows(judgements: Iterable[Judgement]) -> list[list[Judgement]]:
    """Put judgements together that differ in numbers alone, such as the block size."""
    rows: dict[tuple[str, ...], list[Judgement]] = {}
    for judgement in judgements:
        rows.setdefault(_key(judgement), []).append(judgement)
    return list(rows.values())


def _key(judgement: Judgement) -> tuple[str, ...]:
    scope = judgement.scope
    return (judgement.name, ", ".join(scope.groups), scope.batches_in_flight, type(judgement.verdict).__name__)


def _summary(report: ImplementationReport) -> str:
    verdicts = [each.verdict for each in report.judgements]
    most = max((len(each.scope.groups) for each in report.judgements), default=0)
    scope = f"each of a property in one setting, for the group lists below, of at most {counted(most, 'group')}"
    bounded = sum(
        isinstance(each.verdict, Proved) and "steps" in dict(each.scope.concrete) for each in report.judgements
    )
    within = f"; {bounded} of the proved ones speak of the first steps of a request only" if bounded else ""
    told = f"{tally(verdicts)} ({scope}{within})"
    return f"{headline_word(gravest(verdicts))}  {escape(report.implementation)}: {told}"


def _table(rows: Sequence[list[Judgement]]) -> Table:
    table = columns("property", "groups", "in flight", "verdict", "paths", "for all", "at")
    for row in rows:
        first = row[0]
        accepting, paths = sum(each.accepting for each in row), sum(each.paths for each in row)
        table.add_row(
            first.name,
            ", ".join(first.scope.groups),
            first.scope.batches_in_flight,
            verdict_word(first.verdict),
            f"{accepting} of {paths}",
            ", ".join(first.scope.symbolic),
            _fixed(row),
        )
    return table


def _fixed(row: Sequence[Judgement]) -> str:
    """List the numbers that a row is about: `block_size 1, 2, 3`."""
    values: dict[str, dict[str, None]] = {}
    for name, value in (pair for each in row for pair in each.scope.concrete):
        values.setdefault(name, {})[str(value)] = None
    return "; ".join(f"{name} {', '.join(found)}" for name, found in values.items())


def _details(row: Sequence[Judgement]) -> Iterator[str]:
    """Show the smallest counterexample of a row, or why it was not decided."""
    refuted = [(each, each.verdict) for each in row if isinstance(each.verdict, Refuted)]
    if refuted:
        judgement, verdict = min(refuted, key=lambda pair: pair[1].witness.sum)
        yield ""
        yield f"{_title(judgement)}: [dim]{escape(judgement.sentence)}[/]"
        yield from witness_lines(verdict, "replayed on the real code")
    yield from _undecided(row)


def _undecided(row: Sequence[Judgement]) -> Iterator[str]:
    for reason in dict.fromkeys(reason_of(each.verdict) for each in row):
        if reason is not None:
            yield ""
            yield f"{_title(row[0])}: {verdict_word(row[0].verdict)}: {escape(reason)}"


_PATHS = "k of n: n paths through the code were explored, and on k of them the property has something to say"


def _title(judgement: Judgement) -> str:
    batches = judgement.scope.batches_in_flight
    in_flight = f"{batches} batch{'' if batches == '1' else 'es'} in flight"
    setting = [*judgement.scope.groups, _fixed([judgement]), in_flight]
    return f"{judgement.name} [dim]({', '.join(part for part in setting if part)})[/]"


def _notes(report: ImplementationReport) -> Iterator[str]:
    yield f"[dim]paths[/]       {_PATHS}"
    for text in dict.fromkeys(text for each in report.judgements for text in each.assumed):
        yield f"[dim]assumed[/]     {escape(text)}"
    for text in report.unenforced:
        yield f"[dim]unenforced[/]  {escape(text)}"
    yield f"[dim]sha256[/]      {report.sha256}"
    yield f"[dim]replay[/]      {escape(report.replay)}"
