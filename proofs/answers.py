"""Replies kept between runs, by all that the solver reads: whatever changes in a question makes it a new one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from .solving import Answer, Reply

_PATIENCE_SECONDS = 30.0


class Answers:
    """Keep replies in a file that several processes may share, and count what was recalled.

    An unknown is never kept: another run, or another machine, may get further.

    Args:
        file: Where they are kept.
    """

    def __init__(self, file: Path) -> None:
        self._store = _opened(file)
        self.asked = 0
        self.recalled = 0

    def reply(self, text: str, compute: Callable[[], Reply]) -> Reply:
        """Return the kept reply to a question, or compute it and keep it."""
        self.asked += 1
        key = hashlib.sha256(text.encode()).hexdigest()
        kept = self._read(key)
        if kept is not None:
            self.recalled += 1
            return kept
        reply = compute()
        if reply.answer is not Answer.UNKNOWN:
            self._write(key, reply)
        return reply

    def _read(self, key: str) -> Reply | None:
        """Read a reply; one whose seal is broken counts as absent."""
        row = self._store.execute("SELECT reply, seal FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None or _seal(key, row[0]) != row[1]:
            return None
        return _decoded(json.loads(row[0]))

    def _write(self, key: str, reply: Reply) -> None:
        """Keep a reply; on a full disk it is not kept, and nothing else changes."""
        text = json.dumps(_encoded(reply))
        with contextlib.suppress(sqlite3.OperationalError):
            self._store.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (key, text, _seal(key, text)))


def why_not(file: Path) -> str | None:
    """Tell why answers cannot be kept in a file; None where they can."""
    try:
        _opened(file)
    except (OSError, sqlite3.Error) as error:
        return str(error)
    return None


@cache
def _opened(file: Path) -> sqlite3.Connection:
    """Open the file; one that is damaged is begun anew."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _connected(file)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        file.unlink()
        return _connected(file)


def _connected(file: Path) -> sqlite3.Connection:
    store = sqlite3.connect(file, timeout=_PATIENCE_SECONDS, isolation_level=None)
    # What is lost with the power is computed again.
    store.execute("PRAGMA synchronous = OFF")
    store.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, reply TEXT, seal TEXT)")
    return store


def _seal(key: str, text: str) -> str:
    return hashlib.sha256(f"{key}\0{text}".encode()).hexdigest()


def _encoded(reply: Reply) -> dict[str, Any]:
    return {"answer": reply.answer.value, "cost": reply.cost, "values": dict(reply.values), "core": list(reply.core)}


def _decoded(kept: dict[str, Any]) -> Reply:
    return Reply(Answer(kept["answer"]), kept["cost"], kept["values"], tuple(kept["core"]))
