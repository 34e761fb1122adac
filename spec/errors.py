"""Errors that a person can act on: each names the field, the value, the reason and what to do."""

from __future__ import annotations

from enum import StrEnum


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


class Reason(StrEnum):
    """Why an engine does not start with a model and so much memory."""

    NO_MEMORY = "no memory is left for the cache"
    TOO_SMALL = "a request of the greatest length needs more memory"
    NO_LENGTH = "not even a request of one token fits"
    PAGES = "pages cannot be made equal"
    PADDING = "a page is padded to less than it holds"
    WINDOWS = "full layers compute within different windows"
    PROMOTION = "layers cannot all become full attention"
    PROMOTION_CRASH = "turning a layer into full attention crashes"
    SHARDED_WINDOW = "a sliding window cannot be sharded by context parallelism"
    TUPLES = "latent layers do not form tuples"
    HIDDEN_ALONE = "hidden-state layers of several types stand alone"
    MERGE = "the layers of a group cannot be merged"
    LAYOUT = "the memory layout cannot hold these pages"
    EMPTY_STAGE = "a worker has no layer, or no block"
    PARTITION = "a layer is in no group"


class RefusedError(PoolproofError):
    """Say that an engine would not start: the answer to a question, not a failure of the tool.

    Args:
        reason: The class of reason.
        detail: The numbers that decided.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(reason, detail)

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


def printable(text: str) -> str:
    """Show control characters as escapes: what a file or a fork says must not command the reader's terminal."""
    return "".join(each if each.isprintable() or each in "\n\t" else repr(each)[1:-1] for each in text)


def _shown(value: object) -> str:
    """Show a value on one line, short enough to read."""
    text = value if isinstance(value, str) else repr(value)
    line = " ".join(printable(text).split())
    return line if len(line) <= 120 else line[:117] + "..."
