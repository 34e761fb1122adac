"""Counts of states that follow from their definitions, in numbers worked out by hand."""

from __future__ import annotations

from poolproof.spec.aligned import first_blocks
from poolproof.spec.states import MambaAlign, MambaAll, MambaNone
from poolproof.spec.tables import state_table


def test_a_first_step_is_charged_its_checkpoint() -> None:
    assert first_blocks(100, 0, 0, False, MambaAlign(16, 2, 1)) == 4
    assert first_blocks(100, 0, 0, False, MambaAlign(16, 2)) == 3
    assert first_blocks(10, 0, 0, False, MambaAlign(16, 2, 1)) == 3


def test_a_speculated_state_takes_a_whole_block() -> None:
    assert state_table(MambaNone(16, 2), 20) == 4
    assert state_table(MambaAll(16, 1), 33) == 4
