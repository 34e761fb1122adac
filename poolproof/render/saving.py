"""Files that a run leaves beside its report: seen to be writable before it, and never a reason to lose the report."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..spec.errors import UsageError
from .output import note


def reserve(option: str, path: Path | None) -> None:
    """Make sure before a run that a file can be written after it, into a directory that is there.

    Raises:
        UsageError: It cannot be written.
    """
    if path is None:
        return
    if path.is_dir():
        raise UsageError(option, str(path), "this is a directory", "name a file")
    if not path.parent.is_dir():
        raise UsageError(option, str(path), "its directory does not exist", "make it first, or name another file")
    reserve_folder(option, path.parent)
    try:
        if path.exists():
            path.open("ab").close()
    except OSError as error:
        raise UsageError(option, str(path), f"cannot be written: {error.strerror}", "name a writable file") from error


def reserve_folder(option: str, folder: Path | None) -> None:
    """Create a directory, and make sure that files can be written there.

    Raises:
        UsageError: They cannot.
    """
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = f"cannot be written to: {error.strerror}"
        raise UsageError(option, str(folder), reason, "name a directory that can be written to") from error


def leave(option: str, path: Path, text: str) -> bool:
    """Write a file after a run; where that fails, say so on stderr and leave the verdict as it is."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        note(f"{option} = {path}: cannot be written: {error.strerror}; the verdict stands")
        return False
    return True
