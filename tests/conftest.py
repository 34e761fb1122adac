"""Nine releases of vLLM, fetched by name and kept in the cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from poolproof.forks import Implementation, IndexUnreachableError, Source, resolve
from poolproof.forks.releases import RELEASES

__all__ = ["RELEASES", "release", "released"]


def released(version: str) -> Source:
    """Fetch a release; without an index the test is skipped loudly, but never under CI."""
    try:
        return resolve(RELEASES[version])
    except IndexUnreachableError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"NOT TESTED AGAINST vLLM {version}: {error}")


@pytest.fixture(scope="session")
def release() -> Iterator[Callable[[str], Implementation]]:
    """Give one running implementation per release and session."""
    running: dict[str, Implementation] = {}

    def start(version: str) -> Implementation:
        if version not in running:
            running[version] = Implementation(released(version)).__enter__()
        return running[version]

    yield start
    for implementation in running.values():
        implementation.close()
