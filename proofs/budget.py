"""How much a single question may take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

_EARLY_ROUNDS = (500_000, 4_000_000)


@dataclass(frozen=True, slots=True)
class Budget:
    """Limit one question, by what the solver does and, as a last resort, by the clock.

    Args:
        rlimit: The solver's resource count; the same on every machine.
        timeout_ms: The time, in milliseconds.
        seed: What the solver's choices start from.
    """

    rlimit: int = 32_000_000
    timeout_ms: int = 20_000
    seed: int = 0

    def rounds(self) -> Iterator[Budget]:
        """Split the budget into rounds, the last the whole: an easy way is found before a hard one is exhausted."""
        yield from (replace(self, rlimit=limit) for limit in _EARLY_ROUNDS if limit < self.rlimit)
        yield self
