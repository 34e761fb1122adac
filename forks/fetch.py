"""Fetch a released version through the pip client of the running interpreter."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ..spec.errors import UsageError

PATIENCE = 2.0
_GLIBC = ("2_35", "2_34", "2_31", "2_28", "2_27", "2_24", "2_17", "2_12", "2_5")
_PLATFORMS = (*(f"manylinux_{v}_x86_64" for v in _GLIBC), "manylinux2014_x86_64", "manylinux1_x86_64")
_PYTHONS = ("3.12", "3.11", "3.13", "3.10")
_FAILED_CONNECTION = re.compile(
    r"Retrying \(Retry|Connection(Error| refused| reset)|Name or service|timed out|SSLError"
)
_VERSIONS = re.compile(r"\(from versions: (?P<versions>[^)]*)\)")


class IndexUnreachableError(UsageError):
    """Say that no package index answered: the version may exist all the same."""


def download_wheel(name: str, version: str, target: Path, on_progress: Callable[[str], None] | None) -> Path:
    """Download the wheel of a version that suits any common Python on Linux; only its Python files matter.

    pip checks the hash that the index publishes, and honours the user's own index configuration.

    Raises:
        IndexUnreachableError: No index could be reached.
        UsageError: The version does not exist, or pip refuses it.
    """
    complaints: list[str] = []
    for python in _PYTHONS:
        complaints.append(_pip(f"{name}=={version}", python, target, on_progress))
        wheels = sorted(target.glob("*.whl"))
        if wheels:
            return wheels[0]
        if not _VERSIONS.search(complaints[0]) or _FAILED_CONNECTION.search(complaints[0]):
            break
    raise _explain(name, version, complaints[0])


def _pip(requirement: str, python: str, target: Path, on_progress: Callable[[str], None] | None) -> str:
    """Run pip once and return what it complained about."""
    tag = python.replace(".", "")
    command = [sys.executable, "-m", "pip", "download", requirement, "--dest", str(target)]
    command += ["--no-deps", "--only-binary=:all:", "--no-input", "--progress-bar=off", "--retries=2"]
    command += ["--implementation=cp", f"--python-version={python}", f"--abi=cp{tag}", "--abi=abi3", "--abi=none"]
    command += [f"--platform={p}" for p in (*_PLATFORMS, "any")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            _, complaints = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            if on_progress is not None:
                on_progress(f"fetching {requirement}; only its Python files are kept")
            _, complaints = process.communicate()
    return complaints


def _explain(name: str, version: str, complaints: str) -> UsageError:
    """Tell an unreachable index, an unknown version and a pip that does not work apart."""
    spelled, listed = f"{name}=={version}", _VERSIONS.search(complaints)
    versions = listed["versions"].split(", ") if listed and listed["versions"] != "none" else []
    if versions:
        hint = f"the newest are {', '.join(versions[-5:])}"
        return UsageError("implementation", spelled, "the package index has no such version", hint)
    if _FAILED_CONNECTION.search(complaints):
        hint = "check the network and pip's index settings, or name a path or a wheel file"
        return IndexUnreachableError("implementation", spelled, "no package index could be reached", hint)
    if listed:
        return UsageError("implementation", spelled, "the package index has no such package", "check the spelling")
    lines = [line for line in complaints.strip().splitlines() if line.strip()]
    reason = f"pip could not fetch it ({lines[-1].strip() if lines else 'without a word'})"
    return UsageError("implementation", spelled, reason, "name a path or a wheel file instead")
