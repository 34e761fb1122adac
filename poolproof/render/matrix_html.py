"""A matrix as one self-contained page."""

from __future__ import annotations

from importlib.resources import files

from .matrix_records import MatrixReport
from .matrix_view import view
from .style import gravest


def matrix_html(report: MatrixReport) -> str:
    """Write a matrix as HTML; every text is escaped by the template engine."""
    from jinja2 import Environment, StrictUndefined

    engine = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = engine.from_string(files(__package__).joinpath("matrix.html").read_text(encoding="utf-8"))
    verdict = type(gravest(report.verdicts())).__name__.lower()
    return template.render(report=report, view=view(report), verdict=verdict)
