"""A toy fork that needs no network; the releases are those of all tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from poolproof.oracle.engine import Submission
from poolproof.oracle.trace import Abort, Scenario, Step, Submit
from poolproof.spec.deployment import Deployment

from ..conftest import RELEASES, released

__all__ = ["RELEASES", "released", "scenario"]

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
