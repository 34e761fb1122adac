"""What is found out about theorems under every doubt, as plain records."""

from __future__ import annotations

from dataclasses import dataclass

from ..oracle.verdict import Verdict


@dataclass(frozen=True, slots=True)
class TrustedTheorem:
    """Record what became of each doubt about a theorem.

    Args:
        name: Its name.
        expected: What it is recorded to be.
        checked: The judgement of the usual check: claim, covers and mutants.
        seeds: Whether the first solver answers as expected from every seed.
        second: Whether the second solver does.
        box: Whether every small case does.
        hypotheses: Whether each hypothesis that the proof uses is needed.
        decided_by: The solvers that decided it.
    """

    name: str
    expected: str
    checked: Verdict
    seeds: Verdict
    second: Verdict
    box: Verdict
    hypotheses: Verdict
    decided_by: tuple[str, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """List every verdict."""
        return self.checked, self.seeds, self.second, self.box, self.hypotheses


@dataclass(frozen=True, slots=True)
class TrustReport:
    """Judge theorems under every doubt.

    Args:
        theorems: What became of each.
        replay: The command line that gives it again.
    """

    theorems: tuple[TrustedTheorem, ...]
    replay: str
