"""What checking a theorem found, as plain data, and how it is judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..oracle.verdict import Holds, Inconclusive, Proved, Refuted, Vacuous, Verdict
from .theorem import Expectation


@dataclass(frozen=True, slots=True)
class Finding:
    """Record what became of a cover (`Holds` when reached) or of a mutant (`Refuted` when told apart)."""

    text: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Outcome:
    """Record what became of a theorem.

    Args:
        theorem: Its name.
        expected: What it is recorded to be.
        claim: What was found about the claim alone; a false variant is `Refuted` here.
        covers: What was found about each cover.
        mutants: What was found about each mutant.
        cost: What everything took, in the solver's resource counts.
        asked: The questions about it, where answers are kept between runs.
        recalled: Those of them that were answered by an earlier run.
    """

    theorem: str
    expected: Expectation
    claim: Verdict
    covers: tuple[Finding, ...]
    mutants: tuple[Finding, ...]
    cost: int
    asked: int = field(default=0, compare=False)
    recalled: int = field(default=0, compare=False)

    @property
    def verdict(self) -> Verdict:
        """Judge the theorem as a whole; this is what an exit code is made of."""
        return next(self._faults(), Holds("refuted, as recorded") if self._is_false_variant else self.claim)

    @property
    def as_expected(self) -> bool:
        """Tell whether everything came out as recorded."""
        return isinstance(self.verdict, Proved | Holds)

    @property
    def _is_false_variant(self) -> bool:
        return self.expected is Expectation.REFUTED

    def _faults(self) -> Iterator[Verdict]:
        """List what speaks against the theorem, the gravest first."""
        yield from self._faults_of_claim()
        yield from (cover.verdict for cover in self.covers if not isinstance(cover.verdict, Holds))
        yield from _survivors(self.mutants)

    def _faults_of_claim(self) -> Iterator[Verdict]:
        if not self._is_false_variant:
            yield from () if isinstance(self.claim, Proved) else (self.claim,)
        elif isinstance(self.claim, Proved):
            yield Inconclusive("recorded as false, yet it is proved")
        elif not isinstance(self.claim, Refuted):
            yield self.claim


def _survivors(mutants: Iterable[Finding]) -> Iterator[Verdict]:
    for mutant in mutants:
        if isinstance(mutant.verdict, Proved):
            yield Inconclusive(f"a mutant survives: {mutant.text}")
        elif not isinstance(mutant.verdict, Refuted):
            yield mutant.verdict


def vacuous(text: str) -> Vacuous:
    """Say that a cover is out of reach."""
    return Vacuous(f"no case reaches: {text}")
