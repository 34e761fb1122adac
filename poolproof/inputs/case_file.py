"""A run that was saved: the scenario, what it was seen on, and what was wrong."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..oracle.trace import Scenario
from ..render.saving import leave
from ..spec import UsageError, validate

LARGEST_FILE = 10_000_000
"""The most bytes that are read (a case takes a few thousand)."""

_HINT = "name a file that diff or explore saved"


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


def save(case: SavedCase, path: Path, option: str) -> bool:
    """Write a case, and say whether it could be written; equal cases give equal bytes."""
    return leave(option, path, _written(case))


def digest(case: SavedCase) -> str:
    """Return a short name of everything that a case holds, so that different cases have different names."""
    return hashlib.sha256(_written(case).encode()).hexdigest()[:8]


def kept_place(implementation: str) -> str:
    """Name an implementation so that it is found from everywhere: a local path absolutely, a release as it is."""
    checkout, at, revision = implementation.rpartition("@")
    for path, rest in ((implementation, ""), (checkout, at + revision)):
        if path and Path(path).expanduser().exists():
            return str(Path(path).expanduser().resolve()) + rest
    return implementation


def _written(case: SavedCase) -> str:
    seen = {
        "design": case.design,
        "implementation": None if case.implementation is None else kept_place(case.implementation),
        "fault": case.fault,
        "detail": case.detail,
        "cycle": case.cycle,
    }
    document = {**json.loads(case.scenario.to_json()), "seen": seen}
    return json.dumps(document, indent=1) + "\n"


def load(path: Path) -> SavedCase:
    """Read a case, or a bare scenario.

    Raises:
        UsageError: The file cannot be read, or holds no case.
    """
    text = _text(path)
    _check_shape(text, path)
    try:
        scenario = Scenario.from_json(text)
    except UsageError as error:
        if error.field != "case":
            raise
        reason = "this is no saved case: a field is missing in it, or of another kind"
        raise UsageError("CASE", str(path), reason, _HINT) from error
    scenario = replace(scenario, deployment=validate(scenario.deployment))
    return _seen(scenario, json.loads(text).get("seen", {}))


def _check_shape(text: str, path: Path) -> None:
    """Check that a text looks like a case at all, before it is read in detail.

    Raises:
        UsageError: It does not.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError("CASE", str(path), "this is no saved case: it is no JSON", _HINT) from None
    if not isinstance(document, dict):
        raise UsageError("CASE", str(path), "this is no saved case: it holds no record", _HINT)
    lacking = [name for name in ("format", "deployment", "priority", "actions") if name not in document]
    if lacking:
        raise UsageError("CASE", str(path), f"this is no saved case: it has no {', no '.join(lacking)}", _HINT)


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
