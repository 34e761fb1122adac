"""The comparison of an implementation with the oracle, from the choice of a design to the report."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..checking.under_test import Candidate, candidates, told
from ..inputs.case_file import SavedCase, digest, save
from ..inputs.deployment_flags import as_flags
from ..inputs.numbers import known
from ..oracle.counting import counted
from ..oracle.invariants import STEP_CHECKS, promised
from ..oracle.trace import Scenario
from ..oracle.verdict import Holds, Inconclusive, Refuted, Verdict, Witness
from ..render.output import Progress
from ..render.run_records import BootsParted, Count, DiffReport, Parted
from ..spec import Deployment, Design, FullAttention, Group, InconclusiveError, boot_requirement, named
from .words import action_words

if TYPE_CHECKING:
    from ..forks import Implementation
    from ..forks.parting import BootParting, BootsCompared, Compared, Parting

SIZES = {"smoke": (700, 0), "ci": (4000, 300), "nightly": (40_000, 3000)}
"""The random runs, and the examples for Hypothesis, of each profile."""

ROUND = 25
"""The runs of one question to the implementation's process, so that progress can be told."""

KINDS = (
    "preemption",
    "resume",
    "recycling",
    "gate refusal",
    "draft rejection",
    "abort",
    "finish",
    "failure",
    "recurrent states",
)
"""What is counted, as the comparison names it; `failure` is a step in which both engines raised."""

BOOTS = 15
"""The drawn deployments in which the boots of both are compared."""

PATIENCE = 900.0
"""The seconds that one question may take."""

ROUND_PATIENCE = 120.0
"""The seconds that one round of runs may take; it takes two."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Say what is to be compared, as it was asked for."""

    implementation: str
    design: str | None
    profile: str
    seed: int
    wild: bool
    batches: int
    folder: Path | None

    @property
    def replay(self) -> str:
        """Return the command line that gives it again."""
        asked = "" if self.design is None else f" --design {self.design}"
        switches = f"{' --wild' if self.wild else ''}{' --async' if self.batches == 2 else ''}"
        spec = shlex.quote(self.implementation)
        return f"poolproof diff {spec}{asked} --profile {self.profile} --seed {self.seed}{switches}"


@dataclass(slots=True)
class _Session:
    """What has been found with one design."""

    candidate: Candidate
    scenarios: int = 0
    coverage: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    parting: Parting | None = None

    def add(self, compared: Compared) -> None:
        """Add what a round has shown."""
        self.scenarios += compared.scenarios
        self.coverage.update(compared.coverage)
        self.refused.update(compared.refused)
        self.parting = compared.parting


def differed(plan: Plan, tell: Progress) -> DiffReport:
    """Compare an implementation with the oracle of the design that explains it best."""
    from ..forks import Implementation

    asked = None if plan.design is None else named(plan.design)
    tell(f"loading {plan.implementation}")
    with Implementation(plan.implementation, on_progress=tell) as implementation:
        findings = implementation.findings()
        likely = candidates(implementation, findings) if asked is None else [Candidate(asked, "as asked for")]
        session = _best(implementation, likely, plan, tell)
        design = session.candidate.design
        parted = None
        if session.parting is not None:
            tell(f"making the run small on which {plan.implementation} parts from {design.name}")
            parted = _parted(implementation, session, plan)
        boots = _boots(implementation, session, plan)
        found = told(findings)
        return _report(plan, session, parted, boots, (("boot", boots.told), *found, *_unenforced(implementation)))


@dataclass(frozen=True, slots=True)
class _Boots:
    """Tell how the boots of both compare, in words too; unknown where that could not be found out."""

    parting: BootParting | None
    told: str
    unknown: bool = False


def _boots(implementation: Implementation, session: _Session, plan: Plan) -> _Boots:
    """Compare the boots of both where their runs do not part, and tell of it."""
    if session.parting is not None or not session.scenarios:
        return _Boots(None, "not compared")
    design = session.candidate.design
    arguments = {"design": design, "draws": BOOTS, "seed": plan.seed, "batches": plan.batches}
    try:
        found: BootsCompared = implementation.call("poolproof.forks.differential:boots", arguments, seconds=PATIENCE)
    except InconclusiveError as error:
        return _Boots(None, f"not compared: {error}", unknown=True)
    if not found.deployments:
        return _Boots(None, "not compared: it lays every deployment out otherwise", unknown=True)
    number = counted(found.deployments, "deployment")
    told_so = "in all of them" if found.parting is None else "not in all of them"
    return _Boots(found.parting, f"the smallest pool was compared in {number}: that of {design.name} {told_so}")


def _unenforced(implementation: Implementation) -> Iterator[tuple[str, str]]:
    yield from (("not enforced", what) for what in implementation.unenforced)


def _best(implementation: Implementation, likely: list[Candidate], plan: Plan, tell: Progress) -> _Session:
    """Compare with one likely design after the other until one is never left; else take the one that lasted longest."""
    sessions: list[_Session] = []
    for candidate in likely:
        session = _session(implementation, candidate, plan, tell)
        sessions.append(session)
        if session.parting is None:
            break
    best = next((each for each in sessions if each.parting is None), max(sessions, key=lambda each: each.scenarios))
    best.candidate = _told_apart(best, sessions)
    return best


def _told_apart(best: _Session, sessions: list[_Session]) -> Candidate:
    """Say which designs were tried beside the chosen one."""
    others = [f"{each.candidate.design.name} parts from it" for each in sessions if each is not best]
    return Candidate(best.candidate.design, "; ".join([best.candidate.why, *others]))


def _session(implementation: Implementation, candidate: Candidate, plan: Plan, tell: Progress) -> _Session:
    session = _Session(candidate)
    runs, examples = SIZES[plan.profile]
    doing = f"comparing {plan.implementation} with {candidate.design.name}"
    for index in range(runs // ROUND):
        tell(doing, index * ROUND, runs)
        seed = plan.seed * 1_000_003 + index
        session.add(_ask(implementation, "compared", candidate.design, plan, scenarios=ROUND, seed=seed))
        if session.parting is not None or not session.scenarios:
            return session
    if examples:
        tell(f"{doing}, driven by Hypothesis", runs, runs)
        found = _ask(implementation, "searched", candidate.design, plan, examples=examples, seed=plan.seed)
        session.add(found)
    return session


def _ask(implementation: Implementation, function: str, design: Design, plan: Plan, **numbers: int) -> Compared:
    """Ask one question; an implementation that does not answer it is named.

    Raises:
        InconclusiveError: Its process ended, or hangs, or its own code raised.
    """
    arguments: dict[str, Any] = {"design": design, "wild": plan.wild, "batches": plan.batches, **numbers}
    seconds = ROUND_PATIENCE if function == "compared" else PATIENCE
    try:
        found: Compared = implementation.call(f"poolproof.forks.differential:{function}", arguments, seconds=seconds)
    except InconclusiveError as error:
        told = f"{plan.implementation} beside the oracle of {design.name} gave no answer: {error}"
        raise InconclusiveError(told) from error
    return found


def _parted(implementation: Implementation, session: _Session, plan: Plan) -> Parted:
    """Make the run small and save it."""
    if session.parting is None:
        raise ValueError("they did not part")
    design = session.candidate.design
    arguments = {"design": design, "scenario": session.parting.scenario, "wild": plan.wild, "seed": plan.seed}
    small: Parting = implementation.call("poolproof.forks.differential:shrunk", arguments, seconds=PATIENCE)
    case = SavedCase(small.scenario, design.name, plan.implementation, small.field, small.detail)
    name = f"poolproof-{implementation.source.package}-{design.name}-seed{plan.seed}-{digest(case)}.json"
    path = (plan.folder or Path()) / name
    saved = save(case, path, "--save")
    return Parted(
        field=small.field,
        detail=small.detail,
        words=small.words,
        deployment=_deployment_words(small.scenario),
        actions=tuple(map(action_words, small.scenario.actions)),
        pool=None if small.tries is None else _pool_words(small.scenario.deployment, design, small.tries),
        case=str(path) if saved else None,
        replay=f"poolproof replay {shlex.quote(str(path))}" if saved else None,
    )


def _pool_words(deployment: Deployment, design: Design, tries: int) -> str:
    """Say that boot refuses a pool, so that what was found there is seen only where boot is skipped."""
    least = known(boot_requirement(deployment, design))
    lacking = counted(least - known(deployment.blocks), "block")
    more = counted(tries, "more run")
    return f"boot refuses it by {lacking}; of {more} none parted on a pool that boot accepts"


def _deployment_words(scenario: Scenario) -> str:
    return as_flags(scenario.deployment) + (" (by priority)" if scenario.priority else "")


def _report(
    plan: Plan,
    session: _Session,
    parted: Parted | None,
    boots: _Boots,
    findings: tuple[tuple[str, str], ...],
) -> DiffReport:
    design = session.candidate.design
    verdict, headline = _judged(plan, session, parted, boots)
    return DiffReport(
        verdict=verdict,
        headline=headline,
        implementation=plan.implementation,
        design=design.name,
        chosen=session.candidate.why,
        scenarios=session.scenarios,
        coverage=tuple(Count(kind, session.coverage[kind]) for kind in KINDS),
        refused=tuple(Count(text, times) for text, times in session.refused.most_common()),
        promised=_promised(design, plan.batches),
        parted=parted,
        boots=None if boots.parting is None else _boots_parted(plan, design, boots.parting),
        findings=findings,
        scope=tuple(_scope(plan)),
        replay=plan.replay,
    )


def _boots_parted(plan: Plan, design: Design, boots: BootParting) -> BootsParted:
    flags = as_flags(boots.deployment)
    blocks = min(boots.least, boots.found)
    asked = f"--num-gpu-blocks-override {blocks} --design {design.name} --impl {shlex.quote(plan.implementation)}"
    return BootsParted(flags, boots.least, boots.found, f"poolproof check {flags} {asked}")


def _judged(plan: Plan, session: _Session, parted: Parted | None, boots: _Boots) -> tuple[Verdict, str]:
    name, design = plan.implementation, session.candidate.design.name
    if parted is not None:
        what = "goes wrong beside" if parted.field in STEP_CHECKS else "parts from"
        headline = f"{name} {what} the oracle of {design} at action {len(parted.actions)}: {parted.words}"
        headline += "" if parted.pool is None else ", on a pool that boot refuses"
        return Refuted(Witness((("actions", len(parted.actions)),), (parted.detail,), parted.actions)), headline
    if not session.scenarios:
        reason = f"{name} refused every deployment that was drawn, so that nothing was compared"
        return Inconclusive(reason), reason
    if boots.parting is not None:
        least, found = counted(boots.parting.least, "block"), boots.parting.found
        headline = f"{name} boots otherwise than {design}: its smallest pool has {found} instead of {least}"
        values = ("smallest pool", boots.parting.found), ("of the design", boots.parting.least)
        return Refuted(Witness(values, (as_flags(boots.parting.deployment),))), headline
    if boots.unknown:
        reason = f"the runs of {name} show no difference from the oracle of {design}, but its boot was {boots.told}"
        return Inconclusive(reason), reason
    evidence = f"{counted(session.scenarios, 'run')} of {name} show no difference from the oracle of {design}"
    return Holds(evidence), evidence


def _promised(design: Design, batches: int) -> tuple[str, ...]:
    """List the invariants that the design promises in the plainest deployment of those drawn; others depend on it."""
    plain = Deployment((Group(FullAttention(1)),), 1, 1, max_concurrent_batches=batches)
    kept = promised(design, plain)
    return tuple(name for name in STEP_CHECKS if name in kept)


def _scope(plan: Plan) -> Iterator[str]:
    pools = "pools down to half of what boot demands" if plan.wild else "pools down to one block less than boot demands"
    in_flight = "1 batch" if plan.batches == 1 else f"{plan.batches} batches"
    yield f"profile {plan.profile}, seed {plan.seed}; {in_flight} in flight; {pools}"
    yield (
        "1 to 6 groups of full, latent, sliding-window, chunked-local and recurrent caches, blocks of 1 to 8 tokens, "
        "sequences of 8 to 40, lookahead 0 to 5, chunked prefill on and off, no context parallelism, by arrival and by "
        "priority; 1 to 6 requests"
    )
