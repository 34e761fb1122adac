"""Numbers with what they count."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Write a number with its noun, in the singular for one: `1 block`, `2 blocks`, `3 batches`."""
    return f"{number} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Put an English noun in the plural."""
    if noun.endswith("is"):
        return f"{noun[:-2]}es"
    return f"{noun}es" if noun.endswith(("ch", "sh", "s", "x")) else f"{noun}s"
