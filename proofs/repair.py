"""The nearest deployments that a predicate accepts: one field changed first, then the smallest change.

The search is exact where acceptance is monotone in a field, as it is for every formula of sizing and admission: more
blocks, a shorter sequence, a smaller batch and fewer lookahead slots never harm. Windows and chunks belong to the
model and never change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from ..spec.deployment import Deployment, Group, legal

BLOCK_SIZES = tuple(2**power for power in range(9))
"""The block sizes that are proposed: 1 to 256."""

MOST_BLOCKS = 1 << 40
"""The largest pool that is proposed."""

SHORTEST = 2
"""The shortest greatest length that is proposed: a prompt of one token and one to generate."""

Accepts: TypeAlias = Callable[[Deployment], bool]
"""Tells whether a legal deployment is as it should be."""


@dataclass(frozen=True, slots=True)
class Change:
    """Set one field to another value."""

    field: str
    before: int
    after: int

    @property
    def distance(self) -> float:
        """Measure the change in relation to what was there."""
        return abs(self.after - self.before) / max(1, self.before)


@dataclass(frozen=True, slots=True)
class Repair:
    """Propose a deployment that is accepted, and the changes that lead to it."""

    changes: tuple[Change, ...]
    deployment: Deployment

    @property
    def distance(self) -> tuple[int, float]:
        """Measure the repair: the number of fields first, then how far each goes."""
        return len(self.changes), sum(change.distance for change in self.changes)


def nearest(deployment: Deployment, accepts: Accepts) -> list[Repair]:
    """List the smallest change of each field that alone suffices, or else of two fields; the nearest repair first.

    Every field of the deployment is a known number, the number of blocks included. One that is accepted needs none.
    """
    sought = partial(_legal_and, accepts)
    if sought(deployment):
        return []
    found = list(_one_field(deployment, sought)) or list(_two_fields(deployment, sought))
    return sorted(found, key=lambda repair: (repair.distance, repair.changes[0].field))


def _legal_and(accepts: Accepts, deployment: Deployment) -> bool:
    return all(constraint.holds for constraint in legal(deployment)) and accepts(deployment)


def _one_field(deployment: Deployment, accepts: Accepts) -> Iterator[Repair]:
    yield from _more_blocks(deployment, deployment, accepts)
    for field, least in (("max_model_len", SHORTEST), ("max_num_batched_tokens", 1), ("lookahead", 0)):
        yield from _less(deployment, deployment, field, least, accepts)


def _two_fields(deployment: Deployment, accepts: Accepts) -> Iterator[Repair]:
    """Combine a field of few values with one that is searched."""
    for changed in _fewer_slots(deployment):
        yield from _more_blocks(deployment, changed, accepts)
        yield from _less(deployment, changed, "max_model_len", SHORTEST, accepts)
        yield from _less(deployment, changed, "max_num_batched_tokens", 1, accepts)
    for changed in _other_block_sizes(deployment):
        if accepts(changed):
            yield _repair(deployment, changed)
        else:
            yield from _more_blocks(deployment, changed, accepts)


def _fewer_slots(deployment: Deployment) -> Iterator[Deployment]:
    yield from (replace(deployment, lookahead=slots) for slots in (1, 0) if slots < _number(deployment.lookahead))


def _other_block_sizes(deployment: Deployment) -> Iterator[Deployment]:
    """Give every group one other block size, and the pool as many tokens as it had."""
    old = _block_size(deployment)
    for size in BLOCK_SIZES:
        if size != old:
            groups = tuple(Group(replace(group.cache, block_size=size), group.count) for group in deployment.groups)
            yield replace(deployment, groups=groups, blocks=max(1, _number(deployment.blocks) * old // size))


def _more_blocks(original: Deployment, deployment: Deployment, accepts: Accepts) -> Iterator[Repair]:
    """Find the smallest larger pool that is accepted, if one is."""
    refused = accepted = _number(deployment.blocks)
    while not accepts(replace(deployment, blocks=accepted)):
        refused, accepted = accepted, 2 * accepted
        if accepted > MOST_BLOCKS:
            return
    while accepted - refused > 1:
        middle = (refused + accepted) // 2
        if accepts(replace(deployment, blocks=middle)):
            accepted = middle
        else:
            refused = middle
    yield _repair(original, replace(deployment, blocks=accepted))


def _less(original: Deployment, deployment: Deployment, field: str, least: int, accepts: Accepts) -> Iterator[Repair]:
    """Find the largest smaller value of a field that is accepted, if one is."""
    accepted, refused = least, _number(getattr(deployment, field))
    if refused <= least or not accepts(_with(deployment, field, least)):
        return
    while refused - accepted > 1:
        middle = (refused + accepted) // 2
        if accepts(_with(deployment, field, middle)):
            accepted = middle
        else:
            refused = middle
    yield _repair(original, _with(deployment, field, accepted))


def _with(deployment: Deployment, field: str, value: int) -> Deployment:
    changed: dict[str, Any] = {field: value}
    return replace(deployment, **changed)


def _repair(before: Deployment, after: Deployment) -> Repair:
    fields = ("blocks", "max_model_len", "max_num_batched_tokens", "lookahead")
    values = {field: (_number(getattr(before, field)), _number(getattr(after, field))) for field in fields}
    values["block_size"] = (_block_size(before), _block_size(after))
    changes = tuple(Change(field, old, new) for field, (old, new) in values.items() if old != new)
    return Repair(changes, after)


def _block_size(deployment: Deployment) -> int:
    """Return the block size of the first group, which stands for all."""
    return _number(deployment.groups[0].cache.block_size)


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("a deployment is repaired when every field is a known number")
    return value
