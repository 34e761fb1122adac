"""Renderers: functions of a record and of nothing else."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"


class ListFormat(StrEnum):
    """How the list of theorems is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class MatrixFormat(StrEnum):
    """How a matrix is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


class DiffFormat(StrEnum):
    """How a comparison is written."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
