"""What can be searched for beside the invariants; a goal is no fault of an engine."""

from __future__ import annotations

from .invariants import Check, Turn


def runs_out(turn: Turn) -> str | None:
    """Reach the refusal of a block to a running request: its admission promised more than the pool had."""
    for allocation in turn.record.allocations:
        if allocation.refused and not allocation.waiting:
            return f"{allocation.name!r} runs and is refused, with {allocation.free_before} free"
    return None


def gate_then_refused(turn: Turn) -> str | None:
    """Reach a request that passes the gate and is refused the blocks of its first step in the same breath."""
    for allocation in turn.record.allocations:
        if allocation.refused and allocation.gate_passed:
            return f"{allocation.name!r} passes the gate and is refused with {allocation.free_before} free"
    return None


def raises(turn: Turn) -> str | None:
    """Reach a step in which the engine raises."""
    return turn.record.error


GOALS: dict[str, Check] = {check.__name__: check for check in (runs_out, gate_then_refused, raises)}
"""Every goal by its name."""
