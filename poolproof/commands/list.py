"""List the theorems."""

from __future__ import annotations

from typing import Annotated

import typer

from ..render import Format, ListFormat


def run(
    names: Annotated[list[str] | None, typer.Argument(help="Theorems or families; all where none is named.")] = None,
    form: Annotated[ListFormat, typer.Option("--format", help="How to write the list.")] = ListFormat.TEXT,
) -> int:
    """List the theorems, family by family, with what each is recorded to be."""
    from ..proofs.registry import select
    from ..render.output import show
    from ..render.records import TheoremEntry, TheoremList
    from ..render.text import to_markdown

    report = TheoremList(
        tuple(
            TheoremEntry(each.name, each.family, each.expected.value, each.sentence) for each in select(names or None)
        )
    )
    if form is ListFormat.MARKDOWN:
        print(to_markdown(report))
    else:
        show(report, Format(form.value))
    return 0
