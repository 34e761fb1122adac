"""The catalogue is checked in one process or in several, with the same result to the last figure."""

from __future__ import annotations

import pytest

from poolproof.oracle.verdict import HOLDS, exit_code
from poolproof.proofs.budget import Budget
from poolproof.proofs.outcome import Outcome
from poolproof.proofs.registry import select
from poolproof.proofs.runner import check_all
from poolproof.spec import UsageError

NAMES = ["rounding", "null_block", "window_with_any_lookahead_stays_within_cap"]


def test_processes_change_neither_order_nor_outcome() -> None:
    told: list[Outcome] = []
    alone = list(check_all(NAMES))
    shared = list(check_all(NAMES, jobs=2, progress=told.append))
    assert shared == alone
    assert [outcome.theorem for outcome in alone] == [theorem.name for theorem in select(NAMES)]
    assert sorted(told, key=lambda outcome: outcome.theorem) == sorted(alone, key=lambda outcome: outcome.theorem)
    assert exit_code(outcome.verdict for outcome in alone) == HOLDS


def test_a_run_tells_its_progress_in_order() -> None:
    told: list[Outcome] = []
    assert list(check_all(["rounding"], progress=told.append)) == told


def test_a_run_can_be_left_early() -> None:
    for jobs in (1, 2):
        run = check_all(NAMES, jobs=jobs, budget=Budget())
        assert next(run).theorem == select(NAMES)[0].name
        run.close()


def test_an_unknown_name_is_refused_before_anything_is_checked() -> None:
    with pytest.raises(UsageError):
        check_all(["nonsense"])
