"""A record as JSON: its fields under their own names and in their order, so that two runs give the same bytes.

A verdict is an object whose `kind` is one of proved, holds, refuted, inconclusive, vacuous and unsupported.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from ..oracle.verdict import Holds, Inconclusive, Proved, Refuted, Unsupported, Vacuous
from .records import Report

FORMAT = 1
"""The version of this format: it changes when a field is renamed, removed or given another meaning."""

_VERDICTS = (Proved, Holds, Refuted, Inconclusive, Vacuous, Unsupported)


def to_json(report: Report) -> str:
    """Write a report."""
    return json.dumps({"format": FORMAT, "report": type(report).__name__, **plain(report)}, indent=2)


def plain(value: Any) -> Any:
    """Turn a record into what JSON can hold."""
    if is_dataclass(value):
        named = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return {"kind": type(value).__name__.lower(), **named} if isinstance(value, _VERDICTS) else named
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value
