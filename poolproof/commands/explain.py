"""Explain a theorem."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ..render import Format


def run(
    name: Annotated[str, typer.Argument(help="The theorem, as `poolproof list` names it.")],
    form: Annotated[Format, typer.Option("--format", help="How to write it.")] = Format.TEXT,
) -> int:
    """Explain one theorem: what it says, of what, under which hypotheses, and what keeps it honest."""
    from ..proofs import describe
    from ..proofs.registry import find
    from ..render.output import show
    from ..render.records import TheoremExplanation

    told = describe.explain(find(name))
    report = TheoremExplanation(**asdict(told), replay=f"poolproof prove {told.name}")
    show(report, form)
    return 0
