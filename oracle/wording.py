"""What two engines do otherwise, in words; the second engine is "it"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from .counting import counted
from .engine import Allocation, RequestView, real_blocks

Tables = tuple[tuple[int, ...], ...]

_DONE = {"admitted": "admit", "resumed": "resume", "preempted": "preempt", "finished": "finish"}


def quoted(names: Iterable[str]) -> str:
    """List names, each between quotes."""
    *others, last = [repr(name) for name in names]
    return f"{', '.join(others)} and {last}" if others else last


def unfinished(names: Iterable[str]) -> str:
    """Say that requests are unfinished."""
    given = list(names)
    return f"{quoted(given)} {'is' if len(given) == 1 else 'are'} unfinished"


def difference_words(field: str, oracle: Any, other: Any) -> str:
    """Say in one sentence what the other engine does, where it differs in a field of a step or of a state.

    Args:
        field: The field, as `record.scheduled` or `after.free`.
        oracle: Its value in the oracle.
        other: Its value in the other engine.
    """
    name = field.partition(".")[2]
    if name in _DONE:
        return _done_words(_DONE[name], oracle, other)
    if field in _WORDED:
        return _WORDED[field](oracle, other)
    return f"it differs in {name.replace('_', ' ')}"


def _error_words(oracle: str | None, other: str | None) -> str:
    del other  # one of the two is there
    return "it raises, and the oracle does not" if oracle is None else "the oracle raises, and it does not"


def _tables_words(oracle: Mapping[str, Tables], other: Mapping[str, Tables]) -> str:
    name = _first_apart(oracle, other)
    ours, theirs = (sum(real_blocks(tables.get(name, ()))) for tables in (oracle, other))
    if ours == theirs:
        return f"it holds other blocks for {name!r}"
    return f"it holds {counted(theirs, 'block')} for {name!r}, the oracle {ours}"


def _scheduled_words(ours: Iterable[tuple[str, int]], theirs: Iterable[tuple[str, int]]) -> str:
    oracle, other = dict(ours), dict(theirs)
    if oracle == other:
        return "it schedules in another order"
    name = _first_apart(oracle, other)
    if name not in other:
        return f"it does not schedule {name!r}, the oracle does"
    return f"it schedules {counted(other[name], 'token')} of {name!r}, the oracle {oracle.get(name, 'none')}"


def _done_words(verb: str, oracle: Sequence[str], other: Sequence[str]) -> str:
    lacking = [name for name in oracle if name not in other]
    if lacking:
        return f"it does not {verb} {quoted(lacking)}, the oracle does"
    more = [name for name in other if name not in oracle]
    if more:
        return f"it does {verb} {quoted(more)}, the oracle does not"
    return f"it does {verb} {quoted(other)} in another order"


def _allocations_words(oracle: Any, other: Any) -> str:
    if not isinstance(oracle, Allocation) or not isinstance(other, Allocation):
        return f"it asks its pool {counted(other, 'time')}, the oracle {oracle}"
    if oracle.name != other.name:
        return f"it asks its pool for {other.name!r}, the oracle for {oracle.name!r}"
    if oracle.refused != other.refused:
        return f"it {'refuses' if other.refused else 'grants'} blocks to {other.name!r}, the oracle does not"
    if oracle.predicted != other.predicted:
        predicted = "none" if other.predicted is None else counted(other.predicted, "block")
        return f"it predicts {predicted} for {other.name!r}, the oracle {oracle.predicted}"
    return f"it serves {other.name!r} otherwise from its pool"


def _free_words(oracle: Sequence[int], other: Sequence[int]) -> str:
    if len(oracle) != len(other):
        return f"it has {counted(len(other), 'block')} free, the oracle {len(oracle)}"
    if set(oracle) == set(other):
        return "its free blocks stand in another order"
    return "other blocks of it are free"


def _requests_words(oracle: Mapping[str, RequestView], other: Mapping[str, RequestView]) -> str:
    name = _first_apart(oracle, other)
    if name not in other:
        return f"{name!r} is gone, in the oracle it is unfinished"
    if name not in oracle:
        return f"{name!r} is unfinished, in the oracle it is gone"
    if oracle[name].tables != other[name].tables:
        return _tables_words({name: oracle[name].tables}, {name: other[name].tables})
    field = _first_field(oracle[name], other[name])
    return f"{field} of {name!r} is {getattr(other[name], field)}, in the oracle {getattr(oracle[name], field)}"


def _first_apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Name the first entry in which two mappings differ."""
    return next((name for name in (*one, *other) if one.get(name) != other.get(name)), next(iter(one), ""))


def _first_field(one: RequestView, other: RequestView) -> str:
    return next(field.name for field in fields(one) if getattr(one, field.name) != getattr(other, field.name))


_WORDED: dict[str, Callable[[Any, Any], str]] = {
    "record.error": _error_words,
    "record.tables": _tables_words,
    "record.scheduled": _scheduled_words,
    "record.allocations": _allocations_words,
    "after.free": _free_words,
    "after.requests": _requests_words,
}


def value_words(field: str, value: Any, beside: Any) -> str:
    """Show one side of a difference: what is alike on both sides is left out.

    Args:
        field: The field that differs.
        value: Its value on this side.
        beside: Its value on the other side.
    """
    if field == "record.scheduled":
        value, beside = dict(value), dict(beside)
    if isinstance(value, Mapping) and isinstance(beside, Mapping):
        apart = [name for name in dict.fromkeys((*value, *beside)) if value.get(name) != beside.get(name)]
        return "; ".join(f"{name} {_plain(value.get(name), beside.get(name))}" for name in apart or value) or "nothing"
    return _plain(value, beside)


def _plain(value: Any, beside: Any) -> str:
    match value:
        case None:
            return "nothing"
        case RequestView():
            field = _first_field(value, beside) if isinstance(beside, RequestView) else "status"
            return f"{field} {_plain(getattr(value, field), None)}"
        case Allocation():
            return _allocation(value)
        case tuple() | list():
            return _listed(value)
        case _:
            return str(value)


def _listed(values: Sequence[Any]) -> str:
    """List names or blocks with commas, and block tables between brackets."""
    if values and all(isinstance(each, tuple) for each in values):
        return " ".join(f"({' '.join(map(str, each))})" for each in values)
    return ", ".join(map(str, values)) or "nothing"


def _allocation(asked: Allocation) -> str:
    answer = "refused" if asked.refused else f"{sum(asked.taken)} taken"
    predicted = "" if asked.predicted is None else f", {asked.predicted} predicted"
    passed = "" if asked.gate_passed is None else f", gate {'passed' if asked.gate_passed else 'not passed'}"
    return f"{asked.name} asks with {asked.free_before} free: {answer}{predicted}{passed}"
