"""The help of every verb as plain text: nothing that a reader may want to type is ever cut, on any screen."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from typer.core import TyperCommand, TyperGroup

Entry: TypeAlias = tuple[str, str]
"""What is typed, and what it does."""

WIDE = 76
"""The columns from which on the explanations stand beside what they explain, and not below it."""

BESIDE, BELOW = 32, 6
"""Where explanations begin at most, and where they do below."""


class PlainCommand(TyperCommand):
    """Lay out the arguments and options of a verb."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write them, section by section."""
        for title, entries in _sections(self.get_params(ctx), ctx).items():
            _write(title, entries, formatter)


class PlainGroup(TyperGroup):
    """Lay out the global options, and the verbs with their whole sentence."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write both."""
        for title, entries in _sections(self.get_params(ctx), ctx).items():
            _write(title, entries, formatter)
        verbs = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        _write("Commands", [(name, sentence(verb.help or "")) for name, verb in verbs if verb is not None], formatter)


def sentence(text: str) -> str:
    """Return the first paragraph on one line."""
    return " ".join(text.partition("\n\n")[0].split())


def _sections(parameters: Iterable[Any], context: Any) -> dict[str, list[Entry]]:
    sections: dict[str, list[Entry]] = {}
    for parameter in parameters:
        record = parameter.get_help_record(context)
        if record is not None:
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            sections.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(
                (_short(record[0]), record[1])
            )
    return sections


def _write(title: str, entries: Sequence[Entry], formatter: Any) -> None:
    longest = max(len(typed) for typed, _ in entries)
    column = min(BESIDE, longest + 4) if formatter.width >= WIDE else BELOW
    with formatter.section(title):
        for typed, told in entries:
            formatter.write("".join(f"{line}\n" for line in _lines(typed, told, column, formatter.width)))


def _short(typed: str) -> str:
    """Show the type of an item where the library shows that of a list, and no kind of range (the bounds follow)."""
    return re.sub(r"<list\[(.*)\]>", r"<\1>", typed).replace(" range>", ">")


def _lines(typed: str, told: str, column: int, width: int) -> Iterator[str]:
    """Put the explanation beside what is typed where there is room, below it otherwise; words are never broken."""
    lines = textwrap.wrap(told, max(20, width - column), break_long_words=False, break_on_hyphens=False)
    head = f"  {typed}"
    if len(head) + 2 <= column and lines:
        yield f"{head:<{column}}{lines.pop(0)}"
    else:
        yield head
    yield from (f"{'':<{column}}{line}" for line in lines)
