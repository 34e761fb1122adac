"""What is to be searched exhaustively, as it was asked for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..checking.engines import ORACLE
from ..inputs.deployment_flags import as_flags
from ..inputs.numbers import known
from ..oracle.engine import Submission
from ..oracle.explore import GOALS
from ..oracle.reference import check_submission
from ..spec import Deployment, Design, UsageError, boot_requirement

_REQUEST = re.compile(r"(\d+)(?::(\d+)(?::(-?\d+))?)?")

MOST_STATES, MOST_BLOCKS = 200_000, 20_000_000
"""The states that are searched where no limit is given, and the blocks of all their pools together."""

MOST_RUNS, MOST_RUN_BLOCKS = 20_000, 1_000_000
"""The same for an implementation, which does everything again to reach a state."""

LEAST_STATES = 100
"""The states that are searched in the largest pool."""


@dataclass(frozen=True, slots=True)
class Search:
    """Say what is to be searched.

    Args:
        deployment: The deployment; without a number of blocks the pool is the least that boot accepts.
        design: The design as it was asked for, or None.
        implementation: The implementation, or None for the oracle.
        wanted: The requests as they were asked for.
        goals: What is searched for beside faults.
        aborts: Requests may be dropped at any time.
        forced: The pool is searched whatever boot says of it.
        limit: The states after which the search gives up; None for as many as take about a minute at most.
        case: The file for the run to the first fault.
    """

    deployment: Deployment
    design: str | None
    implementation: str | None
    wanted: tuple[str, ...]
    goals: tuple[str, ...]
    aborts: bool
    forced: bool
    limit: int | None
    case: Path | None

    @property
    def requests(self) -> list[Submission]:
        """Read the requests; where none is named, one is the longest prompt, and one the longest answer."""
        longest = known(self.deployment.max_model_len) - 1
        return [_request(number, text) for number, text in enumerate(self.wanted or (f"{longest}:1", f"1:{longest}"))]

    @property
    def priority(self) -> bool:
        """Say whether requests are served by priority: where one has any."""
        return any(request.priority for request in self.requests)

    @property
    def engine(self) -> str:
        """Name what is searched."""
        return ORACLE if self.implementation is None else self.implementation

    @property
    def replay(self) -> str:
        """Return the command line that gives it again."""
        words = ["poolproof explore", as_flags(self.deployment)]
        words += [f"{name} {shlex.quote(text)}" for name, text in self._named() if text]
        words += ["--aborts"] if self.aborts else []
        words += ["--forced"] if self.forced else []
        words += [] if self.limit is None else [f"--limit {self.limit}"]
        return " ".join(words)

    def _named(self) -> Iterator[tuple[str, str | None]]:
        yield "--design", self.design
        yield "--impl", self.implementation
        yield from (("--request", text) for text in self.wanted)
        yield from (("--goal", goal) for goal in self.goals)

    def check(self) -> None:
        """Check goals and requests.

        Raises:
            UsageError: One of them cannot be used.
        """
        for goal in self.goals:
            if goal not in GOALS:
                hint = f"choose from {', '.join(GOALS)}"
                raise UsageError("--goal", goal, "nothing of this name is searched for", hint)
        for submission in self.requests:
            check_submission(submission, self.deployment)

    def asks_boot(self, design: Design) -> bool:
        """Say whether boot is asked about the pool: one was given, and nothing makes boot skip its check."""
        return self.deployment.blocks is not None and design.boot_checks_override and not self.forced

    def most(self, deployment: Deployment) -> int:
        """Return the states after which the search gives up: a large pool makes each of them slow and large."""
        if self.limit is not None:
            return self.limit
        states, blocks = (MOST_STATES, MOST_BLOCKS) if self.implementation is None else (MOST_RUNS, MOST_RUN_BLOCKS)
        return max(LEAST_STATES, min(states, blocks // known(deployment.blocks)))

    def deployed(self, design: Design) -> Deployment:
        """Complete the deployment with the least pool that a design's boot accepts."""
        blocks = self.deployment.blocks
        return replace(self.deployment, blocks=boot_requirement(self.deployment, design) if blocks is None else blocks)


def _request(number: int, text: str) -> Submission:
    match = _REQUEST.fullmatch(text)
    if match is None:
        raise UsageError("--request", text, "this is no request", "write PROMPT[:OUTPUT[:PRIORITY]], as in 9:1")
    prompt, output, priority = match.groups()
    name = chr(ord("a") + number) if number < 26 else f"r{number}"
    return Submission(name, int(prompt), int(output or 1), int(priority or 0))
