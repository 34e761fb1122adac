"""A group of layers: one block id stands for a page of each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .arithmetic import Term, maximum, total
from .deployment import Deployment, Group
from .design import Design
from .layers import Layer, known_page, page_bytes
from .sizing import group_requirement


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Name the layers of a group and what stands for them.

    Args:
        names: The layers, in the order of their pages.
        members: The one layer that stands for all, or each of them where their pages differ.
        owners: The names that members belong to, where their pages differ; else empty.
    """

    names: tuple[str, ...]
    members: tuple[Layer, ...]
    owners: tuple[str, ...] = ()

    @property
    def layer(self) -> Layer:
        """Return the layer that stands for the group: the scheduler sees no other."""
        return self.members[0]

    @property
    def mixed(self) -> bool:
        """Tell whether the pages of the group may differ."""
        return bool(self.owners)

    def layer_of(self, name: str) -> Layer:
        """Return what stands for one layer of the group."""
        return self.members[self.owners.index(name)] if self.mixed else self.layer


def alike(names: list[str] | tuple[str, ...], layer: Layer) -> LayerGroup:
    """Form a group of layers for which one stands."""
    return LayerGroup(tuple(names), (layer,))


def mixed(layers: Mapping[str, Layer]) -> LayerGroup:
    """Form a group of layers whose pages may differ."""
    return LayerGroup(tuple(layers), tuple(layers.values()), tuple(layers))


def pages_held(group: LayerGroup) -> Term:
    """Add up the pages that one block id of a group stands for, in bytes.

    Source: vLLM `UniformTypeKVCacheSpecs.page_size_bytes`; a page times the layers of the group elsewhere.
    """
    return total(page_bytes(group.layer_of(name)) for name in group.names)


def own_page(group: LayerGroup) -> Term:
    """Count the bytes that the group's own spec calls a page: of all members where they differ, else of one layer."""
    return total(page_bytes(member) for member in group.members)


def blocks_required(group: LayerGroup, deployment: Deployment, design: Design) -> Term:
    """Count the blocks that one request of the greatest length takes of a group.

    Source: vLLM `UniformTypeKVCacheSpecs.max_memory_usage_pages`: the most that any member asks for.
    """
    result: Term = 0
    for member in group.members:
        result = maximum(result, group_requirement(member.cache, deployment, design))
    return result


def page_counts(group: LayerGroup) -> dict[int, int]:
    """Count the members of each page size, in the order in which the sizes appear."""
    counts: dict[int, int] = {}
    for member in group.members:
        page = known_page(member)
        counts[page] = counts.get(page, 0) + 1
    return counts


def projected(group: LayerGroup, present: frozenset[str], design: Design) -> LayerGroup:
    """Cut a group down to the layers that a worker has; a group without any keeps its members.

    Source: vLLM `_project_kv_cache_groups_to_worker` (0.19.1 and later; 0.11.0 keeps the members always).
    """
    names = tuple(name for name in group.names if name in present)
    if not (names and group.mixed and design.planning.projects):
        return replace(group, names=names)
    return LayerGroup(names, tuple(group.layer_of(name) for name in names), names)


def block_tables(groups: list[LayerGroup]) -> tuple[Group, ...]:
    """Say what a deployment's groups are, in blocks: one for each group of layers."""
    return tuple(Group(group.layer.cache) for group in groups)
