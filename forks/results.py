"""Results kept between runs: addressed by everything that they follow from, so that none is ever stale."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from . import wire
from .cache import cache_directory, scratch, tree_digest

_PACKAGE = __name__.partition(".")[0]
_ROOMS = ("spec", "oracle", "proofs", "forks")


@dataclass(frozen=True, slots=True)
class Results:
    """Keep answers by what they follow from.

    Args:
        kept: Whether anything is read or written; every answer is computed otherwise.
    """

    kept: bool

    def answer(self, question: tuple[str, ...], compute: Callable[[], Any]) -> Any:
        """Return the kept answer to a question, or compute it and keep it."""
        if not self.kept:
            return compute()
        place = _place(question)
        if (kept := _read(place)) is not None:
            return kept
        answer = compute()
        _write(place, json.dumps(wire.encode(answer)))
        return answer


def may_keep(*, asked: bool) -> bool:
    """Tell whether results are kept: never under CI, where each run shows what it says it shows."""
    return asked and not os.environ.get("CI")


@cache
def own_digest() -> str:
    """Return one hash over poolproof's own code and the solver's version."""
    digests = [tree_digest(Path(sys.modules[f"{_PACKAGE}.{room}"].__path__[0])) for room in _ROOMS]
    return _hash(version("z3-solver"), *digests)


def _place(question: tuple[str, ...]) -> Path:
    return cache_directory() / "results" / f"{_hash(own_digest(), *question)}.json"


def _read(place: Path) -> Any:
    """Read a kept result; one that is damaged counts as absent, and is computed again."""
    try:
        return wire.decode(json.loads(place.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _write(place: Path, text: str) -> None:
    """Write a file that appears whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with scratch() as directory:
        made = directory / "result"
        made.write_text(text, encoding="utf-8")
        made.replace(place)
