"""Run the command line in this process, as its users do."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from poolproof.cli import run
from poolproof.forks import IndexUnreachableError, resolve


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def headline(self) -> str:
        return self.out.splitlines()[0]


Command = Callable[..., Result]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    def invoke(*arguments: str) -> Result:
        capsys.readouterr()
        code = run(list(arguments))
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return invoke


@pytest.fixture
def scaled() -> list[str]:
    """Describe the deployment `swa-gate-scaled`, its pool left out."""
    groups = ["--group", "full:16", "--group", "sliding_window:16:window=32"]
    return [*groups, "--max-model-len", "512", "--max-num-batched-tokens", "64"]


@pytest.fixture
def document(tmp_path: Path) -> Callable[[str, str | bytes], str]:
    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


@pytest.fixture(scope="session")
def fetched() -> Callable[[str], str]:
    """Make sure that a release is in the cache; without an index the test is skipped, but never under CI."""

    def fetch(spec: str) -> str:
        try:
            resolve(spec)
        except IndexUnreachableError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"SKIPPED FOR WANT OF A PACKAGE INDEX, nothing was checked: {error}")
        return spec

    return fetch
