"""Proving properties of an implementation's own code, from the command line's words to the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..render.implementation_records import ImplementationReport
from ..render.output import Progress
from ..spec import UsageError


def judged(spec: str, properties: Sequence[str], block_sizes: Sequence[int], tell: Progress) -> ImplementationReport:
    """Decide properties (all where none is named) of an implementation, on its own code."""
    from ..forks import Implementation
    from ..forks.prove import prove_running

    tell(f"loading {spec}")
    with Implementation(spec, on_progress=tell) as implementation:
        found = prove_running(implementation, properties or None, block_sizes=block_sizes or None, on_progress=tell)
        return ImplementationReport(
            implementation=spec,
            version=implementation.source.version,
            sha256=implementation.source.sha256,
            judgements=tuple(found),
            unenforced=implementation.unenforced,
            replay=_replay(spec, properties, block_sizes),
        )


def refuse(given: Mapping[str, object], reason: str, hint: str) -> None:
    """Refuse options that would have no effect.

    Raises:
        UsageError: One of them is given.
    """
    for option, value in given.items():
        if value:
            raise UsageError(option, value, reason, hint)


def _replay(spec: str, properties: Sequence[str], block_sizes: Sequence[int]) -> str:
    sizes = [f"--block-size {size}" for size in block_sizes]
    return " ".join(["poolproof prove", *properties, *sizes, f"--impl {spec}"])
