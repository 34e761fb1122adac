"""What an exhaustive search has found: how many states, which faults, and the graph of it all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .trace import Action, Scenario

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, slots=True)
class Violation:
    """Show one fault and the shortest way to it.

    Args:
        name: The invariant, or `progress` for a cycle that leads nowhere, or the goal that was reached.
        fault: What is wrong, in words.
        scenario: The run that ends in it.
        cycle: For `progress`, how many of the last actions repeat for ever.
    """

    name: str
    fault: str
    scenario: Scenario
    cycle: int = 0


@dataclass(frozen=True, slots=True)
class Transition:
    """Name an edge of the state graph: the states by number, and the action between them."""

    source: int
    target: int
    action: Action


@dataclass(slots=True)
class Exploration:
    """Hold the state space of an engine.

    Attributes:
        states: The states that were reached.
        transitions: The actions that were tried in all of them.
        violations: The first violation of each kind, nearest first.
        complete: Every state was reached; otherwise the search stopped at its limit.
    """

    states: int = 0
    transitions: int = 0
    complete: bool = True
    violations: list[Violation] = field(default_factory=list)
    edges: list[Transition] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Say whether nothing was violated in any state that there is."""
        return self.complete and not self.violations

    def found(self, name: str) -> Violation | None:
        """Return the violation of this name, if there is one."""
        return next((violation for violation in self.violations if violation.name == name), None)

    def graph(self) -> nx.MultiDiGraph[int]:
        """Return the states as a graph; an edge carries its action."""
        import networkx as nx

        graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        graph.add_nodes_from(range(self.states))
        graph.add_edges_from((edge.source, edge.target, {"action": edge.action}) for edge in self.edges)
        return graph
