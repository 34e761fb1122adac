"""What a theorem is about is read off its computation: every function of `spec` that takes part, and no other."""

from __future__ import annotations

import pytest

from poolproof.proofs.definitions import computed_by, definitions
from poolproof.proofs.registry import THEOREMS, find
from poolproof.proofs.theorem import Theorem
from poolproof.spec.attention import SlidingWindow, blocks_for, slots_needed

BARE = {"rounding", "progress", "requests"}
"""Families with theorems about numbers that are given, not computed."""


def test_functions_are_listed_in_the_order_of_their_first_call() -> None:
    compute = lambda: blocks_for(slots_needed(3, 2, 0, 9), SlidingWindow(2, 4).block_size)  # noqa: E731
    assert computed_by(compute) == [slots_needed, blocks_for]
    assert computed_by(lambda: SlidingWindow(2, 4).bound(1, 9)) == [SlidingWindow.bound, SlidingWindow.retained]
    assert computed_by(lambda: 1) == []


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.name)
def test_every_theorem_says_where_its_formulas_are_written(theorem: Theorem) -> None:
    assert definitions(theorem) or theorem.family in BARE


def test_helpers_are_shown_beside_what_calls_them() -> None:
    lines = definitions(find("aligned_chunk_keeps_states_within_their_reservation"))
    named = [line.strip().partition("(")[0] for line in lines if line.startswith("  ") and line[2] != " "]
    assert named[:3] == ["settled_but_drafts", "advanced", "_retired"]
    assert "held (blocks)" in lines
