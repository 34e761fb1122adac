"""What a symbolic number cannot answer is found by reading; no release asks it, and a fork that does is not proved."""

from __future__ import annotations

import pytest

from poolproof.forks import Implementation
from poolproof.forks.blind_spots import spots
from poolproof.forks.prove import prove_running
from poolproof.forks.releases import RELEASES
from poolproof.oracle.verdict import Inconclusive

from ..conftest import released

MANAGERS = "v1/core/single_type_kv_cache_manager.py"
SKIPPED = "tokens_out_of_the_window_are_skipped"


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("x = (n > 5) is True", "a truth value by identity"),
        ("if (n > 5) is not False: pass", "a truth value by identity"),
        ("large = n > 5; small = large is False", "a truth value by identity"),
        ("x = type(n) is int", "the type of a number"),
        ("x = n in {3, 4}", "a member among known numbers"),
        ("x = n not in {3: 'three'}", "a member among known numbers"),
    ],
)
def test_each_kind_is_found(source: str, what: str) -> None:
    assert list(spots(source)) == [(1, what)]


@pytest.mark.parametrize(
    "source", ["x = n is None", "x = flag is False", "x = n in (3, 4)", "x = kind in {'full'}", "x = type(n) is Spec"]
)
def test_what_can_be_answered_is_none(source: str) -> None:
    assert list(spots(source)) == []


@pytest.mark.network
@pytest.mark.parametrize("version", RELEASES)
def test_no_release_has_any(version: str) -> None:
    with Implementation(released(version)) as release:
        assert not release.call("poolproof.forks.blind_spots:blind_spots")


@pytest.mark.network
def test_a_fork_that_asks_by_identity_is_not_proved() -> None:
    old = "        return max(0, num_computed_tokens - self.sliding_window + 1)\n"
    new = f"        if (num_computed_tokens > 600) is True:\n            return 0\n{old}"
    with Implementation(released("0.21.0"), patches=[(MANAGERS, old, new)]) as fork:
        found = list(prove_running(fork, [SKIPPED]))
    assert all(isinstance(each.verdict, Inconclusive) for each in found)
    assert "a truth value by identity" in str(found[0].verdict)
