"""Every state that a small engine can reach, the shortest way to each fault, and the cycles that lead nowhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from ..spec.deployment import Deployment
from ..spec.design import Design
from .counting import counted
from .engine import RequestView, Snapshot, Status, StepRecord, Submission
from .explorable import Explorable, reexecuted
from .exploration import Exploration, Transition, Violation
from .goals import GOALS
from .invariants import STATE_CHECKS, STEP_CHECKS, Check, Setting, Turn, promised
from .reference import boot
from .trace import Abort, Action, Scenario, Step, Submit, perform

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "GOALS",
    "Explorable",
    "Exploration",
    "Transition",
    "Violation",
    "explore",
    "reexecuted",
    "search",
    "searched_for",
]


Tell = Callable[[int, int], None]
"""Is told how many states were reached, and how many of them were left behind."""


def explore(
    deployment: Deployment,
    design: Design,
    requests: Sequence[Submission],
    *,
    priority: bool = False,
    aborts: bool = False,
    goals: Iterable[str] = (),
    everything: bool = False,
    forced: bool = False,
    limit: int = 1_000_000,
    tell: Tell | None = None,
) -> Exploration:
    """Explore a design's engine; see `search`.

    Args:
        deployment: The deployment; without a number of blocks the pool is the least that boot accepts.
        design: The design.
        requests: What may be submitted, each once, at any time and in any order.
        priority: Serve by priority.
        aborts: Requests may be dropped at any time.
        goals: Names from GOALS to search for as well.
        everything: Check also the invariants that the design is known not to promise.
        forced: Skip the startup check, as for a block count set by hand where the design does not check that.
        limit: The states after which the search gives up.
        tell: Told now and then how many states were reached, and how many of them were left behind.

    Raises:
        UsageError: The deployment is not legal, or boot refuses its pool.
    """
    engine = boot(deployment, design, priority=priority, forced=forced)
    checks = searched_for(design, engine.deployment, goals, everything=everything)
    return search(engine, design, requests, checks, priority=priority, aborts=aborts, limit=limit, tell=tell)


def searched_for(
    design: Design, deployment: Deployment, goals: Iterable[str] = (), *, everything: bool = False
) -> dict[str, Check]:
    """List what a search checks at every step: what the design promises, that nothing raises or waits for ever, goals.

    With `everything`, also what the design is known not to promise.
    """
    checks = dict(STEP_CHECKS if everything else promised(design, deployment))
    always = ("idle_means_done", "prediction_covers_allocation")
    return checks | {name: STEP_CHECKS[name] for name in always} | {name: GOALS[name] for name in goals}


def search(
    engine: Explorable,
    design: Design,
    requests: Sequence[Submission],
    checks: Mapping[str, Check],
    *,
    priority: bool = False,
    aborts: bool = False,
    limit: int = 1_000_000,
    tell: Tell | None = None,
) -> Exploration:
    """Visit every state that a booted engine can reach, breadth first, and check every step.

    The first violation of a kind is therefore one of the shortest. A cycle of steps is `progress` violated: a state is
    repeated although no request came, went or finished; delivered output and the greatest number of computed tokens,
    which never shrink, do not grow on its second round. Where there are more states than the limit, the search stops
    there and says that it is not complete.
    """
    return _Search(engine, design, tuple(requests), checks, priority, aborts, limit).run(tell)


@dataclass(slots=True)
class _Node:
    """One state: the engine in it, what may still be submitted, and how it was reached."""

    number: int
    engine: Explorable
    pending: tuple[int, ...]
    shown: Snapshot


class _LimitError(Exception):
    """Say that there are more states than the limit."""


class _Search:
    def __init__(
        self,
        engine: Explorable,
        design: Design,
        requests: tuple[Submission, ...],
        checks: Mapping[str, Check],
        priority: bool,
        aborts: bool,
        limit: int,
    ) -> None:
        self.requests, self.checks = requests, dict(checks)
        self.step_checks = {name: check for name, check in checks.items() if name not in STATE_CHECKS}
        self.state_checks = {name: check for name, check in checks.items() if name in STATE_CHECKS}
        self.priority, self.aborts, self.limit = priority, aborts, limit
        self.deployment = engine.deployment
        self.setting = Setting(engine.deployment, design)
        self.result = Exploration()
        self.numbers: dict[object, int] = {}
        self.parents: list[tuple[int, Action] | None] = []
        self.steps: list[Transition] = []
        self.frontier: deque[_Node] = deque()
        self._enter(engine, tuple(range(len(requests))), None)

    def run(self, tell: Tell | None) -> Exploration:
        visited = 0
        while self.frontier:
            node = self.frontier.popleft()
            visited += 1
            if tell is not None and visited % 500 == 0:
                tell(len(self.numbers), visited)
            try:
                for action, pending in self._actions(node):
                    self._try(node, action, pending)
            except _LimitError:
                self.result.complete = False
                break
        self.result.states = len(self.numbers)
        self._find_cycle()
        return self.result

    def _actions(self, node: _Node) -> Iterator[tuple[Action, tuple[int, ...]]]:
        """List what can happen in a state: a submission, a step with each choice of acceptance, an abort."""
        for index in node.pending:
            yield Submit(self.requests[index]), tuple(other for other in node.pending if other != index)
        if not node.shown.requests:
            return
        for accepted in acceptances(node.shown, self.deployment):
            yield Step(accepted), node.pending
        if self.aborts:
            for name in node.shown.requests:
                yield Abort(name), node.pending

    def _try(self, node: _Node, action: Action, pending: tuple[int, ...]) -> None:
        engine = node.engine.copy()
        record = perform(engine, action)
        self.result.transitions += 1
        if record is not None and record.error is not None:
            self._check(self.checks, node, action, record, engine.snapshot())
            return
        known = len(self.numbers)
        # A state that is known already is shown only where a step into it is to be checked.
        shown = None if record is None else engine.snapshot()
        number = self._enter(engine, pending, (node.number, action), shown)
        if number == known:
            checks = self.checks if record is not None else self.state_checks
            self._check(checks, node, action, record or StepRecord(), self.frontier[-1].shown)
        elif record is not None and shown is not None:
            # What a state alone decides was checked when it was first reached.
            self._check(self.step_checks, node, action, record, shown)
        edge = Transition(node.number, number, action)
        self.result.edges.append(edge)
        if record is not None and not record.finished:
            self.steps.append(edge)

    def _enter(
        self,
        engine: Explorable,
        pending: tuple[int, ...],
        parent: tuple[int, Action] | None,
        shown: Snapshot | None = None,
    ) -> int:
        """Number a state, and visit it later if it is new.

        Raises:
            _LimitError: There are too many.
        """
        key = (engine.key(), pending)
        known = self.numbers.get(key)
        if known is not None:
            return known
        if len(self.numbers) >= self.limit:
            raise _LimitError
        number = self.numbers[key] = len(self.numbers)
        self.parents.append(parent)
        self.frontier.append(_Node(number, engine, pending, shown or engine.snapshot()))
        return number

    def _check(
        self, checks: Mapping[str, Check], node: _Node, action: Action, record: StepRecord, after: Snapshot
    ) -> None:
        turn = Turn(self.setting, node.shown, record, after)
        for name, check in tuple(checks.items()):
            fault = check(turn)
            if fault is not None:
                for remaining in (self.checks, self.step_checks, self.state_checks):
                    remaining.pop(name, None)
                scenario = self._scenario([*self._path(node.number), action])
                self.result.violations.append(Violation(name, fault, scenario))

    def _path(self, number: int) -> list[Action]:
        """List the actions by which a state was first reached."""
        actions = []
        while (parent := self.parents[number]) is not None:
            number, action = parent
            actions.append(action)
        return actions[::-1]

    def _scenario(self, actions: list[Action]) -> Scenario:
        return Scenario(self.deployment, tuple(actions), self.priority)

    def _find_cycle(self) -> None:
        """Find the nearest state on a cycle of steps in which something is computed, and the cycle through it."""
        import networkx as nx

        graph: nx.DiGraph[int] = nx.DiGraph()
        for edge in self.steps:
            graph.add_edge(edge.source, edge.target, action=edge.action)
        caught = [part for part in nx.strongly_connected_components(graph) if len(part) > 1]
        if not caught:
            return
        entry, part = min((min(part), part) for part in caught)
        cycle = nx.find_cycle(graph.subgraph(part), entry)
        lead, loop = self._path(entry), [graph.edges[edge[:2]]["action"] for edge in cycle]
        fault = f"after {counted(len(lead), 'action')} the same {counted(len(loop), 'state')} repeat for ever"
        self.result.violations.append(Violation("progress", fault, self._scenario(lead + loop), len(loop)))


def acceptances(shown: Snapshot, deployment: Deployment) -> list[tuple[tuple[str, int], ...]]:
    """List every way in which the drafts that may settle in the next step can be accepted."""
    if not deployment.lookahead:
        return [()]
    able = [name for name, view in shown.requests.items() if view.drafts or view.in_flight or _may_be_padded(view)]
    choices = product(range(deployment.lookahead + 1), repeat=len(able))
    return [tuple(zip(able, choice, strict=True)) for choice in choices]


def _may_be_padded(view: RequestView) -> bool:
    return view.status is not Status.RUNNING and view.tokens - view.computed == 1
