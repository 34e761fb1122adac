"""Theorems are found by name and by family, and listing them costs no solver."""

from __future__ import annotations

import subprocess
import sys
from itertools import groupby

import pytest

from poolproof.oracle.verdict import Witness
from poolproof.proofs.catalogue import FAMILIES
from poolproof.proofs.describe import counterexample_lines, explain
from poolproof.proofs.registry import THEOREMS, find, select
from poolproof.proofs.theorem import Theorem
from poolproof.spec import UsageError


def test_names_are_unique_and_families_stay_together() -> None:
    names = [theorem.name for theorem in THEOREMS] + [family.name for family in FAMILIES]
    assert len(names) == len(set(names))
    runs = [family for family, _ in groupby(THEOREMS, key=lambda theorem: theorem.family)]
    assert runs == [family.name for family in FAMILIES]


def test_a_selection_keeps_the_order_of_the_catalogue() -> None:
    last, first = THEOREMS[-1], THEOREMS[0]
    assert select([last.name, first.name]) == (first, last)
    assert select(["rounding"]) == tuple(theorem for theorem in THEOREMS if theorem.family == "rounding")
    assert select() == THEOREMS


@pytest.mark.parametrize("names", [[], ["window_stays_within_cup"], ["", "boot"]])
def test_an_unknown_name_is_a_usage_error(names: list[str]) -> None:
    with pytest.raises(UsageError):
        select(names)


def test_a_misspelt_name_brings_the_nearest_ones() -> None:
    with pytest.raises(UsageError, match="did you mean window_stays_within_cap"):
        find("window_stays_within_cup")


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.name)
def test_every_theorem_can_be_read(theorem: Theorem) -> None:
    words = explain(theorem)
    assert all([words.sentence, words.claim, words.variables, words.premises or words.left_out, words.covers])
    assert len(words.premises) == len(set(words.premises))
    assert words.expected in ("holds", "refuted")


def test_a_counterexample_reads_as_values_facts_and_steps() -> None:
    witness = Witness((("a", 1), ("b", 2)), ("held = 3 blocks",), ("step 1",))
    assert counterexample_lines(witness) == ("a = 1, b = 2 (sum 3)", "held = 3 blocks", "step 1")


def test_listing_imports_no_solver() -> None:
    code = "import sys, poolproof.proofs.registry, poolproof.proofs.outcome; sys.exit('z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
