"""Errors that a person can act on: each names the field, the value, the reason and what to do."""

from __future__ import annotations


class PoolproofError(Exception):
    """Carry one line for the person at the terminal."""


class UsageError(PoolproofError):
    """Say that an input cannot be used, and what to do about it (exit code 2).

    Args:
        field: The name of the input as the user spelled it.
        value: What was given.
        reason: Why it cannot be used.
        hint: What to do instead.
    """

    def __init__(self, field: str, value: object, reason: str, hint: str = "") -> None:
        self.field = field
        self.value = value
        self.reason = reason
        self.hint = hint
        super().__init__(field, value, reason, hint)

    def __str__(self) -> str:
        line = f"{self.field} = {_shown(self.value)}: {self.reason}"
        return f"{line}; {self.hint}" if self.hint else line


class UnsupportedError(PoolproofError):
    """Say that the tool does not know how to judge something (exit code 3, never a pass).

    Args:
        what: The thing that could not be interpreted, named as its author names it.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)

    def __str__(self) -> str:
        return f"unsupported: {self.what}"


class InconclusiveError(PoolproofError):
    """Say that an answer was sought and not found (exit code 3, never a pass)."""


def _shown(value: object) -> str:
    """Show a value on one line, short enough to read."""
    text = value if isinstance(value, str) else repr(value)
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:117] + "..."
