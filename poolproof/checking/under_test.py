"""An implementation under test: which design predicts for it, and what its own boot and scheduler say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..inputs.numbers import known
from ..render.records import BootLine
from ..spec import (
    DESIGNS,
    SOUND,
    Cap,
    Deployment,
    Design,
    FullAttention,
    Group,
    InconclusiveError,
    UnsupportedError,
    boot_requirement,
)
from ..spec.states import MambaAll
from .case import Case

if TYPE_CHECKING:
    from ..forks import Findings, Implementation


@dataclass(frozen=True, slots=True)
class Choice:
    """Name the design that predicts, and why it does."""

    design: Design
    why: str


def choose(implementation: Implementation, findings: Findings) -> Choice:
    """Choose the design that predicts, by what was found and never by a version number.

    Of the named designs, the newest that shares most of what was found, or the oldest that runs like it; where it does
    not share all, it is adapted.
    """
    found = _traits(implementation, findings)
    likely = _counting_alike(implementation, _by_likeness(found))
    alike = [design for design in likely if _running(design) == _running(likely[0])]
    nearest = alike[-1]
    adapted = replace(nearest, **found)
    design = nearest if adapted == nearest else replace(adapted, name=f"{nearest.name}, adapted")
    return Choice(design, f"by what was found{_not_told_apart(likely, alike)}")


def _not_told_apart(likely: list[Design], alike: list[Design]) -> str:
    """Name the designs that might as well have been chosen."""
    same = [design.name for design in reversed(alike[:-1])]
    others = [design.name for design in reversed(likely) if design not in alike]
    are = "is" if len(same) == 1 else "are"
    told = f"; {' and '.join(same)} {are} the same here, and the oldest is named" if same else ""
    return f"{told}; it does not tell {' or '.join(others)} apart from it, and the newest is named" if others else told


@dataclass(frozen=True, slots=True)
class Candidate:
    """Name a design that an implementation may follow, and why it is thought to."""

    design: Design
    why: str


def candidates(implementation: Implementation, findings: Findings) -> list[Candidate]:
    """List the named designs that share most of what was found, newest first; of those that run alike only one.

    They are not adapted to what was found: a fork is held to what its family does.
    """
    found = _traits(implementation, findings)
    likely: dict[Design, Candidate] = {}
    for design in _counting_alike(implementation, _by_likeness(found)):
        apart = [f"{name} is {found[name]}" for name in found if getattr(design, name) != found[name]]
        why = f"nearest to what was found, though {', '.join(apart)}" if apart else "by what was found"
        likely.setdefault(_running(design), Candidate(design, why))
    return list(likely.values())


def _by_likeness(found: dict[str, Any]) -> list[Design]:
    """List the designs that share most of what was found, newest first."""
    shared = {design: sum(getattr(design, name) == found[name] for name in found) for design in _releases()}
    return [design for design, count in shared.items() if count == max(shared.values())]


PLAIN, SPECULATED = (Deployment((Group(MambaAll(16, states)),), 64, 64) for states in (0, 2))
"""Where boots differ that forget speculated states at every block and those that count them."""


def _counting_alike(implementation: Implementation, likely: list[Design]) -> list[Design]:
    """Keep the designs whose boot counts speculated states as an implementation's does; all where it has no such."""
    try:
        more = implementation.smallest_pool(SPECULATED) - implementation.smallest_pool(PLAIN)
    except UnsupportedError:
        return likely
    return [each for each in likely if _more_for_speculated(each) == more] or likely


def _more_for_speculated(design: Design) -> int:
    return known(boot_requirement(SPECULATED, design)) - known(boot_requirement(PLAIN, design))


def _running(design: Design) -> Design:
    """Reduce a design to what shows while it serves; how memory becomes blocks does not."""
    return replace(design, name="", summary="", planning=SOUND.planning)


def _releases() -> Iterator[Design]:
    return (design for design in reversed(DESIGNS) if design.name.startswith("vllm-"))


def _traits(implementation: Implementation, findings: Findings) -> dict[str, Any]:
    """Name the fields of a design that findings decide."""
    return {
        "gate": findings.gate != "none",
        "gate_cap": Cap.NONE if findings.cap is None else Cap.BOUND,
        "boot_reserves_null": findings.null_block_reserved,
        "in_flight_budget": findings.smallest_pool_async > findings.smallest_pool,
        "admission_lookahead": _first_step_takes_lookahead(implementation),
    }


def _first_step_takes_lookahead(implementation: Implementation) -> bool:
    """Admit a prompt that fills one block exactly and see whether its first step takes a second one."""
    from ..oracle.engine import Submission
    from ..oracle.trace import Scenario, Step, Submit

    deployment = Deployment((Group(FullAttention(16)),), 64, 64, lookahead=4, blocks=16)
    ended = implementation.run(Scenario(deployment, (Submit(Submission("request", 16)), Step())), drain=False)
    taken = next((each.taken for step in ended.steps for each in step.allocations if not each.refused), (0,))
    return sum(taken) > 1


def boot_line(implementation: Implementation, name: str, case: Case) -> BootLine:
    """Ask the implementation's own boot about the pool."""
    accepted = implementation.boot(case.deployment).accepted
    return BootLine(name, accepted, implementation.smallest_pool(case.deployment))


@contextmanager
def refusals(name: str) -> Iterator[None]:
    """Tell a release's own refusal of a deployment from a failure of the tool.

    Raises:
        InconclusiveError: The release raised; the words are its own.
    """
    from ..forks import ForkRaisedError

    try:
        yield
    except ForkRaisedError as error:
        kind, _, words = str(error).partition(": ")
        if kind not in {"AssertionError", "ValueError", "NotImplementedError"}:
            raise
        raise InconclusiveError(f"{name} refuses this deployment: {words.strip()}") from error


def told(findings: Findings) -> tuple[tuple[str, str], ...]:
    """List what was found and assumed, for the report."""
    touched = ", ".join(f"{name} ({count})" for name, count in sorted(findings.stubs_touched.items()))
    return (
        ("gate", findings.gate),
        ("cap", findings.cap or "none"),
        ("null block", "kept back at boot" if findings.null_block_reserved else "not counted at boot"),
        ("boot probe", f"{findings.smallest_pool} blocks, {findings.smallest_pool_async} async; {findings.probe}"),
        *(("assumed", f"{name}: {value}") for name, value in findings.assumed.items()),
        ("stand-ins", touched or "none was used at run time"),
    )
