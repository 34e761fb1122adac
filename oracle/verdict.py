"""What a question can end in: a closed union of plain records, and the exit code of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Witness:
    """Show one case in which a statement fails.

    Args:
        values: The named numbers of the case, in declared order.
        facts: What follows from them, a line each, with the numbers substituted.
        steps: The run that leads there, a line each; empty where a state needs no history.
    """

    values: tuple[tuple[str, int], ...]
    facts: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    @property
    def sum(self) -> int:
        """Add up the values: the measure by which a witness is the smallest one."""
        return sum(value for _, value in self.values)


@dataclass(frozen=True, slots=True)
class Proved:
    """Hold for every value of every variable.

    Args:
        core: The hypotheses that the proof needed.
        cost: What the solver spent, in its resource counts (two runs give the same number).
    """

    core: tuple[str, ...]
    cost: int


@dataclass(frozen=True, slots=True)
class Holds:
    """Hold for all that was tried; the evidence says what that was."""

    evidence: str


@dataclass(frozen=True, slots=True)
class Refuted:
    """Fail, and show where."""

    witness: Witness


@dataclass(frozen=True, slots=True)
class Inconclusive:
    """Stay open: an answer was sought and not found."""

    reason: str


@dataclass(frozen=True, slots=True)
class Vacuous:
    """Say nothing: no case meets what was assumed, or the case that matters is out of reach."""

    hypothesis: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Stay unjudged: the tool does not know how to interpret something."""

    what: str


Verdict: TypeAlias = Proved | Holds | Refuted | Inconclusive | Vacuous | Unsupported
"""Any of the six."""

HOLDS, REFUTED, USAGE, INCONCLUSIVE, VACUOUS, INTERNAL_ERROR = range(6)
"""The exit codes."""

_SEVERITY: tuple[tuple[type[Verdict], int], ...] = (
    (Refuted, REFUTED),
    (Vacuous, VACUOUS),
    (Inconclusive, INCONCLUSIVE),
    (Unsupported, INCONCLUSIVE),
)


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """Reduce verdicts to one exit code: a refutation outweighs what is vacuous, and that what is open.

    Nothing judged is a failure of the selection: `USAGE`.
    """
    given = tuple(verdicts)
    if not given:
        return USAGE
    return next((code for kind, code in _SEVERITY if any(isinstance(verdict, kind) for verdict in given)), HOLDS)
