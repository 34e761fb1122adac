"""What a comparison with the oracle has found, as plain records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..oracle.trace import Scenario


@dataclass(frozen=True, slots=True)
class Parting:
    """Show where an implementation and the oracle part.

    Args:
        scenario: The run that ends there.
        field: What differs, as `record.scheduled`, or the name of an invariant that the implementation breaks.
        detail: Both values, or the fault in words.
        words: It in one sentence, in which the implementation is "it".
    """

    scenario: Scenario
    field: str
    detail: str
    words: str


@dataclass(frozen=True, slots=True)
class Compared:
    """Tell what a number of runs has shown.

    Args:
        scenarios: The runs that the implementation accepted.
        refused: What it refused, in its own words, and how often.
        coverage: In how many runs each thing happened.
        parting: The first run on which the two part.
    """

    scenarios: int
    refused: Mapping[str, int]
    coverage: Mapping[str, int]
    parting: Parting | None
