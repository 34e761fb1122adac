"""Theorems under every doubt, for a person: a line each, then whatever is not agreed upon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import RenderableType
from rich.markup import escape

from ..oracle.counting import counted
from ..oracle.verdict import Holds, Proved, Refuted, Verdict
from .style import columns, gravest, headline_word, reason_of, verdict_word
from .trust_records import TrustedTheorem, TrustReport


def trust_text(report: TrustReport) -> Iterator[RenderableType]:
    """Lay the report out."""
    yield _summary(report)
    yield ""
    table = columns("theorem", "checked", "decided by", "z3 seeds", "cvc5", "small cases", "hypotheses")
    for theorem in report.theorems:
        told = (_short(verdict) for verdict in theorem.verdicts[1:])
        table.add_row(theorem.name, verdict_word(theorem.checked), " and ".join(theorem.decided_by), *told)
    yield table
    for theorem in report.theorems:
        yield from _open(theorem)
    yield ""
    yield f"[dim]replay[/]  {escape(report.replay)}"


def _summary(report: TrustReport) -> str:
    verdicts = [verdict for theorem in report.theorems for verdict in theorem.verdicts]
    solvers = Counter(" and ".join(theorem.decided_by) or "no solver" for theorem in report.theorems)
    told = ", ".join(f"{number} decided by {who}" for who, number in solvers.items())
    return f"{headline_word(gravest(verdicts))}  {counted(len(report.theorems), 'theorem')}: {told}"


def _short(verdict: Verdict) -> str:
    return escape(verdict.evidence) if isinstance(verdict, Holds) else verdict_word(verdict)


def _open(theorem: TrustedTheorem) -> Iterator[str]:
    for verdict in theorem.verdicts:
        if not isinstance(verdict, Proved | Holds):
            yield ""
            yield f"{theorem.name}: {verdict_word(verdict)}: {escape(_said(verdict))}"


def _said(verdict: Verdict) -> str:
    if not isinstance(verdict, Refuted):
        return reason_of(verdict) or ""
    values = ", ".join(f"{name} = {value}" for name, value in verdict.witness.values)
    return "; ".join([*verdict.witness.facts, *([values] if values else [])])
