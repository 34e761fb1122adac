"""What a comparison with the oracle has found, as plain records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..oracle.trace import Scenario
from ..spec.deployment import Deployment


@dataclass(frozen=True, slots=True)
class Parting:
    """Show where an implementation and the oracle part.

    Args:
        scenario: The run that ends there.
        field: What differs, as `record.scheduled`, or the name of an invariant that the implementation breaks.
        detail: Both values, or the fault in words.
        words: It in one sentence, in which the implementation is "it".
        tries: Where the design's boot refuses the pool: the runs that were tried for a difference on a pool that boot
            accepts, none of which showed one. None where boot accepts the pool.
    """

    scenario: Scenario
    field: str
    detail: str
    words: str
    tries: int | None = None


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


@dataclass(frozen=True, slots=True)
class BootParting:
    """Show a deployment for which an implementation's boot demands another pool than the design's.

    Args:
        deployment: The deployment.
        least: The smallest pool that the design's boot accepts.
        found: The smallest pool that the implementation's boot accepts.
    """

    deployment: Deployment
    least: int
    found: int


@dataclass(frozen=True, slots=True)
class BootsCompared:
    """Tell in how many deployments the two boots were compared, and the plainest in which they differ."""

    deployments: int
    parting: BootParting | None
