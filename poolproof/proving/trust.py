"""Theorems under every doubt, from the command line's words to the report."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from ..proofs.outcome import Outcome
from ..proofs.registry import select
from ..proofs.trust.runner import scrutinise_all
from ..proofs.trust.scrutiny import Scrutiny
from ..render.output import Progress
from ..render.trust_records import TrustedTheorem, TrustReport


class Trust(StrEnum):
    """How much is doubted."""

    USUAL = "usual"
    FULL = "full"


def trusted(selected: Sequence[str], outcomes: Sequence[Outcome], jobs: int, tell: Progress) -> TrustReport:
    """Scrutinise theorems that were checked already."""
    total, done = len(select(selected or None)), 0

    def ended(scrutiny: Scrutiny) -> None:
        nonlocal done
        done += 1
        tell(f"doubting {scrutiny.theorem}", done, total)

    found = scrutinise_all(selected or None, min(jobs, total), ended)
    theorems = tuple(_recorded(outcome, scrutiny) for outcome, scrutiny in zip(outcomes, found, strict=True))
    return TrustReport(theorems, " ".join(["poolproof prove", *selected, "--trust full"]))


def _recorded(outcome: Outcome, scrutiny: Scrutiny) -> TrustedTheorem:
    return TrustedTheorem(
        name=outcome.theorem,
        expected=outcome.expected.value,
        checked=outcome.verdict,
        seeds=scrutiny.seeds,
        second=scrutiny.second,
        box=scrutiny.box,
        hypotheses=scrutiny.hypotheses,
        decided_by=scrutiny.decided_by,
    )
