"""Read the Python files of a git revision without running anything that the repository configures."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ..spec.errors import UsageError

_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "diff.external=", "--no-optional-locks")
_REGULAR = {b"100644", b"100755"}


def commit_of(checkout: Path, revision: str) -> str:
    """Resolve a revision to its commit.

    Raises:
        UsageError: It is no git checkout, or has no such revision.
    """
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    answer = _git(checkout, *asked)
    if answer.returncode != 0:
        words = answer.stderr.decode(errors="replace").strip().splitlines()
        reason = words[-1] if words else "the repository has no such revision"
        raise UsageError("implementation", f"{checkout}@{revision}", reason, "name a commit, a tag or a branch")
    return answer.stdout.decode().strip()


def head_of(checkout: Path) -> str | None:
    """Return the commit that is checked out; None outside of git."""
    try:
        answer = _git(checkout, "rev-parse", "--verify", "--quiet", "HEAD")
    except UsageError:
        return None
    return answer.stdout.decode().strip() if answer.returncode == 0 else None


def write_revision(checkout: Path, commit: str, target: Path) -> None:
    """Write the regular Python files of a commit below `target`."""
    listed = _git(checkout, "ls-tree", "-r", "-z", "--full-tree", commit).stdout
    entries = [_entry(line) for line in listed.split(b"\0") if line]
    wanted = [(blob, name) for mode, blob, name in entries if mode in _REGULAR and name.endswith(".py")]
    contents = _blobs(checkout, [blob for blob, _ in wanted])
    for (_, name), content in zip(wanted, contents, strict=True):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _entry(line: bytes) -> tuple[bytes, bytes, str]:
    facts, _, name = line.partition(b"\t")
    mode, _, blob = facts.split(b" ")
    return mode, blob, os.fsdecode(name)


def _blobs(checkout: Path, names: list[bytes]) -> list[bytes]:
    """Read many blobs in one process."""
    stream = _git(checkout, "cat-file", "--batch", given=b"\n".join(names) + b"\n").stdout
    contents, at = [], 0
    for _ in names:
        end = stream.index(b"\n", at)
        size = int(stream[at:end].split(b" ")[2])
        contents.append(stream[end + 1 : end + 1 + size])
        at = end + 2 + size
    return contents


def _git(checkout: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    command = ["git", "-C", str(checkout), *_QUIET, *arguments]
    try:
        return subprocess.run(command, input=given, capture_output=True, env=environment, check=False)
    except FileNotFoundError:
        raise UsageError("implementation", str(checkout), "git is not installed", "name a path") from None
