"""Trees of Python files kept between runs: addressed by content, written by one rename, checked on every read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..spec.errors import UsageError

_VARIABLE = "POOLPROOF_CACHE_DIR"
_MANIFEST = "poolproof-tree.json"
_KEY = re.compile(r"(git-)?[0-9a-f]{40,64}")
"""What trees are kept under: the hash of a wheel, or of a commit. Nothing else may name a place."""


@dataclass(frozen=True)
class Tree:
    """A directory of Python files and what is known about it."""

    root: Path
    facts: Mapping[str, Any]


def cache_directory() -> Path:
    """Return the directory that POOLPROOF_CACHE_DIR names, else the user's cache directory."""
    chosen = os.environ.get(_VARIABLE)
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("poolproof", appauthor=False)


def load_tree(key: str) -> Tree | None:
    """Return a stored tree; one whose files are not those that were stored is deleted and counts as absent."""
    root = _place(key)
    if not root.is_dir():
        return None
    try:
        facts = json.loads((root / _MANIFEST).read_text(encoding="utf-8"))
        intact = facts["digest"] == tree_digest(root)
    except (ValueError, KeyError, OSError):
        intact = False
    if intact:
        return Tree(root, facts)
    shutil.rmtree(root)
    return None


def store_tree(key: str, fill: Callable[[Path], Mapping[str, Any]]) -> Tree:
    """Store what `fill` writes into the directory it is given, together with the facts that it returns.

    The directory appears under its key in one rename; of two writers the first wins.
    """
    place = _place(key)
    with scratch() as directory:
        made = directory / "tree"
        made.mkdir()
        facts = {**fill(made), "digest": tree_digest(made)}
        (made / _MANIFEST).write_text(json.dumps(facts, indent=1, sort_keys=True), encoding="utf-8")
        place.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError, NotADirectoryError):
            _rename_new(made, place)
    return Tree(place, facts)


def remember(name: str, key: str) -> None:
    """Note which tree a released version is."""
    path = _index(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with scratch() as directory:
        note = directory / "note"
        note.write_text(key, encoding="utf-8")
        note.replace(path)


def recall(name: str) -> str | None:
    """Return the key of the tree that a released version is, if it was ever fetched."""
    path = _index(name)
    if not path.is_file():
        return None
    key = path.read_text(encoding="utf-8", errors="replace").strip()
    return key if _KEY.fullmatch(key) else None


def scratch_directory() -> Path:
    """Return where what is not kept is made: inside the cache, on its own file system.

    Raises:
        UsageError: It cannot be made.
    """
    parent = cache_directory() / "scratch"
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"the cache cannot be kept there ({error.strerror})"
        raise UsageError(_VARIABLE, str(cache_directory()), reason, "name a directory that can be written") from error
    return parent


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Make a directory on the cache's own file system, and delete it afterwards."""
    with tempfile.TemporaryDirectory(dir=scratch_directory(), ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def tree_digest(root: Path) -> str:
    """Return one SHA-256 over the names and contents of all Python files below a directory."""
    digest = hashlib.sha256()
    for directory, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(f for f in files if f.endswith(".py")):
            path = os.path.join(directory, name)
            with open(path, "rb") as file:
                content = hashlib.sha256(file.read()).digest()
            digest.update(os.path.relpath(path, root).replace(os.sep, "/").encode() + b"\0" + content)
    return digest.hexdigest()


def _rename_new(made: Path, place: Path) -> None:
    """Rename a directory to a place that is free; a full directory at the place refuses (FileExistsError)."""
    try:
        made.rename(place)
    except OSError as error:
        if place.is_dir():
            raise FileExistsError(place) from error
        raise


def _place(key: str) -> Path:
    """Return where a tree is kept.

    What is found there may be deleted, so that a key which could name any other place is refused, whoever passes it.

    Raises:
        ValueError: The key is no hash.
    """
    if not _KEY.fullmatch(key):
        raise ValueError(f"no tree is kept under {key!r}")
    return cache_directory() / "trees" / key


def _index(name: str) -> Path:
    return cache_directory() / "index" / name
