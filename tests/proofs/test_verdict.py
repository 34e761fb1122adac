"""A run ends in the exit code of its gravest verdict."""

from __future__ import annotations

import itertools

import pytest

from poolproof.oracle.verdict import (
    HOLDS,
    INCONCLUSIVE,
    REFUTED,
    USAGE,
    VACUOUS,
    Holds,
    Inconclusive,
    Proved,
    Refuted,
    Unsupported,
    Vacuous,
    Verdict,
    Witness,
    exit_code,
)

GRAVEST_FIRST: list[tuple[Verdict, int]] = [
    (Refuted(Witness((("x", 1),))), REFUTED),
    (Vacuous("x > x"), VACUOUS),
    (Inconclusive("too hard"), INCONCLUSIVE),
    (Unsupported("a new kind"), INCONCLUSIVE),
    (Proved(("x >= 0",), 12), HOLDS),
    (Holds("all 12 cases"), HOLDS),
]


@pytest.mark.parametrize(("verdict", "code"), GRAVEST_FIRST, ids=lambda value: type(value).__name__)
def test_each_verdict_has_its_code(verdict: Verdict, code: int) -> None:
    assert exit_code([verdict]) == code


@pytest.mark.parametrize("pair", list(itertools.combinations(GRAVEST_FIRST, 2)))
def test_the_graver_verdict_decides(pair: tuple[tuple[Verdict, int], tuple[Verdict, int]]) -> None:
    (graver, code), (other, _) = pair
    assert exit_code([graver, other]) == exit_code([other, graver]) == code


def test_nothing_judged_is_a_failure() -> None:
    assert exit_code([]) == USAGE


def test_a_witness_adds_up_its_values() -> None:
    assert Witness((("x", 2), ("y", 3))).sum == 5
