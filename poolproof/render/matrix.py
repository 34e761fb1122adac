"""Where a matrix goes, in which form."""

from __future__ import annotations

from pathlib import Path

from . import Format, MatrixFormat
from .matrix_html import matrix_html
from .matrix_records import MatrixReport
from .matrix_text import matrix_markdown
from .output import show as show_report
from .output import written
from .saving import leave


def show(report: MatrixReport, form: MatrixFormat) -> None:
    """Write a matrix to stdout."""
    if form is MatrixFormat.TEXT:
        show_report(report, Format.TEXT)
    else:
        print(_written(report, form))


def write(report: MatrixReport, form: MatrixFormat, path: Path) -> bool:
    """Write a matrix into a file, and tell whether that succeeded."""
    return leave("--output", path, f"{_written(report, form)}\n")


def _written(report: MatrixReport, form: MatrixFormat) -> str:
    if form is MatrixFormat.HTML:
        return matrix_html(report)
    if form is MatrixFormat.MARKDOWN:
        return matrix_markdown(report)
    return written(report, Format(form.value))
