"""Reports for a person: the verdict in the first line, then why, then the numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from ..oracle.counting import counted
from ..oracle.verdict import Holds, Inconclusive, Proved, Refuted, Verdict
from .audit_records import AuditReport
from .audit_text import audit_text
from .check_text import check_text
from .implementation_records import ImplementationReport
from .implementation_text import implementation_text
from .matrix_records import MatrixReport
from .matrix_text import matrix_text
from .records import (
    CheckReport,
    Finding,
    ProveReport,
    Report,
    TheoremEntry,
    TheoremExplanation,
    TheoremList,
    TheoremOutcome,
)
from .run_records import DiffReport, ExploreReport, ReplayReport
from .run_text import run_text
from .style import columns, gravest, reason_of, verdict_word, witness_lines
from .trust_records import TrustReport
from .trust_text import trust_text


def to_text(report: Report) -> Iterator[RenderableType]:
    """Lay a report out."""
    match report:
        case CheckReport():
            yield from check_text(report)
        case ProveReport():
            yield from _prove(report)
        case ImplementationReport():
            yield from implementation_text(report)
        case MatrixReport():
            yield from matrix_text(report)
        case TrustReport():
            yield from trust_text(report)
        case AuditReport():
            yield from audit_text(report)
        case TheoremList():
            yield from _list(report)
        case TheoremExplanation():
            yield from _explanation(report)
        case DiffReport() | ReplayReport() | ExploreReport():
            yield from run_text(report)


def _prove(report: ProveReport) -> Iterator[RenderableType]:
    yield _summary(report)
    yield ""
    yield _theorems(report)
    for theorem in report.theorems:
        yield from _details(theorem)
    yield ""
    yield f"[dim]replay[/]  {escape(report.replay)}"


def _summary(report: ProveReport) -> str:
    unexpected = [theorem for theorem in report.theorems if not isinstance(theorem.verdict, Proved | Holds)]
    counts = Counter(theorem.expected for theorem in report.theorems)
    covers, mutants = _sum(report, "covers"), _sum(report, "mutants")
    if unexpected:
        return _not_as_recorded(unexpected, len(report.theorems))
    false = f"{counted(counts['refuted'], 'false variant')} refuted"
    honest = f"{counted(covers, 'cover')} reached, {counted(mutants, 'mutant')} refuted"
    if not counts["holds"]:
        return f"[bold green]AS RECORDED[/]  {false}; {honest}"
    return f"[bold green]PROVED[/]  {counted(counts['holds'], 'theorem')} for all values; {false}; {honest}"


def _not_as_recorded(theorems: Sequence[TheoremOutcome], asked: int) -> str:
    worst = ", ".join(f"{theorem.name} is {verdict_word(theorem.verdict)}" for theorem in theorems[:3])
    more = f" and {len(theorems) - 3} more" if len(theorems) > 3 else ""
    told = f"{len(theorems)} of {asked}"
    if isinstance(gravest(theorem.verdict for theorem in theorems), Inconclusive):
        return f"[bold yellow]INCONCLUSIVE[/]  {told} not settled: {worst}{more}"
    return f"[bold red]FAILED[/]  {told} not as recorded: {worst}{more}"


def _sum(report: ProveReport, field: str) -> int:
    return sum(len(getattr(theorem, field)) for theorem in report.theorems)


def _theorems(report: ProveReport) -> Table:
    table = columns("theorem", "claim", "covers", "mutants", "solver steps", right={"solver steps"})
    for theorem in report.theorems:
        table.add_row(
            theorem.name,
            _claim(theorem),
            _reached(theorem.covers, Holds),
            _reached(theorem.mutants, Refuted),
            f"{theorem.cost:,}",
        )
    return table


def _claim(theorem: TheoremOutcome) -> str:
    """Name what was found about the claim; a false variant that is refuted is as it should be."""
    if theorem.expected == "refuted" and isinstance(theorem.claim, Refuted):
        return "[green]refuted[/] [dim](false variant)[/]"
    return verdict_word(theorem.claim)


def _reached(findings: tuple[Finding, ...], wanted: type[Verdict]) -> str:
    reached = sum(isinstance(finding.verdict, wanted) for finding in findings)
    share = f"{reached}/{len(findings)}"
    return f"[red]{share}[/]" if reached < len(findings) else share if findings else "[dim]-[/]"


def _details(theorem: TheoremOutcome) -> Iterator[RenderableType]:
    """Show a counterexample, and everything that is not as recorded."""
    if isinstance(theorem.claim, Refuted):
        yield ""
        yield f"{theorem.name}: [dim]{escape(theorem.sentence)}[/]"
        yield from witness_lines(theorem.claim, "replayed on integers")
    reason = reason_of(theorem.verdict)
    if reason is not None:
        yield ""
        yield f"{theorem.name}: {verdict_word(theorem.verdict)}: {escape(reason)}"


def _list(report: TheoremList) -> Iterator[RenderableType]:
    for family, theorems in groupby(report.theorems, key=lambda theorem: theorem.family):
        yield f"[bold]{escape(family)}[/]"
        table = columns("", "", "", header=False)
        for theorem in theorems:
            recorded = "[green]holds[/]" if theorem.expected == "holds" else "[yellow]false[/]"
            table.add_row(f"  {theorem.name}", recorded, escape(theorem.sentence))
        yield table


def _explanation(report: TheoremExplanation) -> Iterator[RenderableType]:
    recorded = "holds for all values" if report.expected == "holds" else "false variant, kept with its counterexample"
    yield f"[bold]{report.name}[/]  [dim]{escape(report.family)}; {recorded}[/]"
    yield escape(report.sentence)
    for title, lines in (
        ("for all", report.variables),
        ("assuming", report.premises),
        ("true of what is legal, and not needed", report.left_out),
        ("claim", (report.claim,)),
        ("where", report.definitions),
        ("smallest counterexample", report.counterexample),
        ("must be reachable", report.covers),
        ("must be refuted", report.mutants),
    ):
        if lines:
            yield f"\n[bold]{title}[/]"
            yield from (f"  {escape(line)}" for line in lines)
    yield f"\n[dim]replay[/]  {escape(report.replay)}"


def to_markdown(report: TheoremList) -> str:
    """Write the list as a table for a README."""
    return "\n".join(["| theorem | recorded as | sentence |", "|---|---|---|", *map(_row, report.theorems)])


def _row(theorem: TheoremEntry) -> str:
    recorded = "true" if theorem.expected == "holds" else "false"
    sentence = theorem.sentence.replace("|", "\\|")
    return f"| `{theorem.name}` | {recorded} | {sentence} |"
