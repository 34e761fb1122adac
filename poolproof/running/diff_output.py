"""Where the report of a comparison goes: stdout, or a file for a CI system."""

from __future__ import annotations

from pathlib import Path

from ..render import DiffFormat, Format
from ..render.output import show, written
from ..render.run_records import DiffReport
from ..render.saving import leave


def put(report: DiffReport, form: DiffFormat, output: Path | None) -> None:
    """Write a report; beside a file, its sentence still goes to stdout, and all of it where there is no file."""
    if output is not None and leave("--output", output, _text(report, form) + "\n"):
        print(report.headline)
    elif form is DiffFormat.JUNIT:
        print(_text(report, form))
    else:
        show(report, Format(form.value))


def _text(report: DiffReport, form: DiffFormat) -> str:
    if form is DiffFormat.JUNIT:
        from ..render.junit import to_junit

        return to_junit(report)
    return written(report, Format(form.value))
