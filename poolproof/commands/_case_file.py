"""A run that was saved: the scenario, what it was seen on, and what was wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..oracle.trace import Scenario
from ..render.output import write_file
from ..spec import UsageError, validate

LARGEST_FILE = 10_000_000
"""The most bytes that are read (a case takes a few thousand)."""


@dataclass(frozen=True, slots=True)
class SavedCase:
    """Hold a run and where it was seen.

    Args:
        scenario: The run.
        design: The design of the oracle.
        implementation: The implementation, as it was asked for, or None for the oracle alone.
        fault: What differs, or the invariant that is violated.
        detail: It in words.
        cycle: How many of the last actions repeat for ever.
    """

    scenario: Scenario
    design: str
    implementation: str | None = None
    fault: str = ""
    detail: str = ""
    cycle: int = 0


def save(case: SavedCase, path: Path, option: str) -> None:
    """Write a case; equal cases give equal bytes."""
    seen = {
        "design": case.design,
        "implementation": case.implementation,
        "fault": case.fault,
        "detail": case.detail,
        "cycle": case.cycle,
    }
    document = {**json.loads(case.scenario.to_json()), "seen": seen}
    write_file(option, path, json.dumps(document, indent=1) + "\n")


def load(path: Path) -> SavedCase:
    """Read a case, or a bare scenario.

    Raises:
        UsageError: The file cannot be read, or holds no case.
    """
    text = _text(path)
    scenario = Scenario.from_json(text)
    scenario = replace(scenario, deployment=validate(scenario.deployment))
    return _seen(scenario, json.loads(text).get("seen", {}))


def _seen(scenario: Scenario, seen: Any) -> SavedCase:
    try:
        implementation, cycle = seen.get("implementation"), int(seen.get("cycle", 0))
        fault, detail = (str(seen.get(name, "")) for name in ("fault", "detail"))
        design = str(seen.get("design", "sound"))
    except (AttributeError, TypeError, ValueError) as error:
        raise UsageError("seen", str(seen), f"this is no record of a run ({error})", "save the case again") from error
    if not 0 <= cycle <= len(scenario.actions):
        raise UsageError("cycle", cycle, "there are not so many actions", "save the case again")
    named = None if implementation is None else str(implementation)
    return SavedCase(scenario, design, named, fault, detail, cycle)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        text = data.decode()
    except OSError as error:
        raise UsageError("CASE", str(path), f"cannot be read: {error.strerror}", "name a readable file") from error
    except UnicodeDecodeError as error:
        raise UsageError("CASE", str(path), f"is not text (byte {error.start})", "name a saved case") from error
    if len(data) > LARGEST_FILE:
        raise UsageError("CASE", str(path), f"is longer than {LARGEST_FILE} bytes", "name a saved case")
    return text
