"""What verdicts rest on, as plain records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..forks.audit import Entry


@dataclass(frozen=True, slots=True)
class AuditReport:
    """List what verdicts rest on and no proof shows.

    Args:
        entries: A line each.
        added: What is new against the list that it was compared with.
        removed: What is gone from it.
        replay: The command line that gives it again.
    """

    entries: tuple[Entry, ...]
    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    replay: str
