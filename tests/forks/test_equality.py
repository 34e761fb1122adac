"""The oracle equals the real scheduler of every release, step by step; `bench/equality.py` does it at length."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from poolproof.forks import Implementation
from poolproof.forks.releases import DESIGN_OF, RELEASES
from poolproof.spec import named

SHOWN = ("preemption", "recycling", "gate refusal", "draft rejection", "abort", "resume", "recurrent states")


@pytest.mark.network
@pytest.mark.parametrize("batches", [1, 2], ids=["synchronous", "asynchronous"])
@pytest.mark.parametrize("version", RELEASES)
def test_the_oracle_equals_the_release(release: Callable[[str], Implementation], version: str, batches: int) -> None:
    asked = {
        "design": named(DESIGN_OF[version]),
        "scenarios": 150,
        "seed": 20,
        "wild": True,
        "batches": batches,
    }
    found = release(version).call("poolproof.forks.differential:compared", asked)
    assert found.parting is None, found.parting
    assert found.scenarios == 150
    assert all(found.coverage.get(kind, 0) >= 5 for kind in SHOWN if batches == 1), found.coverage
