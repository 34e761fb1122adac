"""What commands find out, as plain records: the renderers read these and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ..oracle.verdict import Verdict
from ..proofs.describe import Explanation
from ..spec import Lengths
from .audit_records import AuditReport
from .implementation_records import ImplementationReport
from .matrix_records import MatrixReport
from .run_records import DiffReport, ExploreReport, ReplayReport
from .trust_records import TrustReport


@dataclass(frozen=True, slots=True)
class GroupLine:
    """Tell what one kind of group needs.

    Args:
        group: The group, with its sizes.
        count: How many groups are alike.
        formula: The formula with the numbers substituted, down to the result.
        blocks: The result, for one of them.
    """

    group: str
    count: int
    formula: str
    blocks: int


@dataclass(frozen=True, slots=True)
class Requirement:
    """Add up what all groups need.

    Args:
        title: What is required, and when.
        groups: A line per kind of group.
        null_block: 1 where the null block is counted too.
        blocks: The sum.
    """

    title: str
    groups: tuple[GroupLine, ...]
    null_block: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Range:
    """Tell what becomes of an unbroken range of prompt lengths."""

    outcome: str
    lengths: Lengths


@dataclass(frozen=True, slots=True)
class Observation:
    """Tell what one engine did with a prompt.

    Args:
        engine: The engine: the oracle, or the implementation under test.
        outcome: What became of the request.
        steps: The steps until then.
        peak: The real blocks held per group at the step of the largest total.
        agrees: It did what was predicted.
    """

    engine: str
    outcome: str
    steps: int
    peak: tuple[int, ...]
    agrees: bool


@dataclass(frozen=True, slots=True)
class Run:
    """Set a prediction beside what engines did with the same prompt."""

    prompt: int
    predicted: str
    observations: tuple[Observation, ...]


@dataclass(frozen=True, slots=True)
class BootLine:
    """Tell what boot says about the pool.

    Args:
        engine: Who says it: the design, or the implementation under test.
        accepts: The pool passes.
        smallest: The smallest pool that passes.
    """

    engine: str
    accepts: bool
    smallest: int


@dataclass(frozen=True, slots=True)
class RepairLine:
    """Propose a change after which every prompt is served.

    Args:
        changes: The fields to change, with their values before and after.
        verdict: What the same check says of the changed deployment.
        why: The reason for that, in a sentence.
        replay: The command line that checks it.
    """

    changes: str
    verdict: Verdict
    why: str
    replay: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Judge one deployment.

    Args:
        verdict: The judgement.
        headline: The judgement in a sentence.
        why: The reason in a sentence.
        design: The design that predicts.
        implementation: The implementation that was run, or None.
        judged_by: What it means to be judged by this design, where that is not what it says.
        blocks: The pool, null block included.
        usable: What requests can have of it.
        pool: Where the number of blocks comes from.
        boot: What boot requires.
        admission: What admission requires of the prompt that decides.
        concurrency: What the boot log reports: requests of the greatest length per pool.
        boots: What boot says about this pool, by design and by implementation.
        unserved: The prompts that are not served, as exact ranges.
        runs: The prompts at the borders, predicted and run.
        growth: What becomes of a request that grows past the border.
        findings: What was found in the implementation, and what was assumed.
        repairs: The nearest deployments in which every prompt is served, where not every one is here.
        scope: What the judgement is about.
        replay: The command line that gives it again.
    """

    verdict: Verdict
    headline: str
    why: str
    design: str
    implementation: str | None
    judged_by: str | None
    blocks: int
    usable: int
    pool: str
    boot: Requirement
    admission: Requirement
    concurrency: float
    boots: tuple[BootLine, ...]
    unserved: tuple[Range, ...]
    runs: tuple[Run, ...]
    growth: str
    findings: tuple[tuple[str, str], ...]
    repairs: tuple[RepairLine, ...]
    scope: tuple[str, ...]
    replay: str


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Tell what admission demands for a length, and the most that such a request then holds."""

    tokens: int
    demanded: int
    held: int


@dataclass(frozen=True, slots=True)
class Curves:
    """Draw what admission demands and what is held over the length of the prompt, beside what the pool has.

    Args:
        title: What is drawn.
        usable: The blocks that requests can have.
        border: The first length that is not served, or None.
        points: The curves, by rising length.
    """

    title: str
    usable: int
    border: int | None
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """Record what became of a cover or of a mutant."""

    text: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class TheoremOutcome:
    """Record what became of a theorem.

    Args:
        name: Its name.
        family: Its family.
        sentence: What it says.
        expected: What it is recorded to be: `holds` or `refuted`.
        verdict: The judgement that counts: claim, covers and mutants as recorded, or not.
        claim: What was found about the claim alone.
        covers: The cases that must be reachable.
        mutants: The wrong claims that must be refuted.
        cost: What the solver spent, in its resource counts.
    """

    name: str
    family: str
    sentence: str
    expected: str
    verdict: Verdict
    claim: Verdict
    covers: tuple[Finding, ...]
    mutants: tuple[Finding, ...]
    cost: int


@dataclass(frozen=True, slots=True)
class ProveReport:
    """Judge a selection of theorems.

    Args:
        theorems: What became of each.
        replay: The command line that gives it again.
    """

    theorems: tuple[TheoremOutcome, ...]
    replay: str


@dataclass(frozen=True, slots=True)
class TheoremEntry:
    """Name a theorem, what it is recorded to be, and what it says."""

    name: str
    family: str
    expected: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TheoremList:
    """List theorems, those of a family together."""

    theorems: tuple[TheoremEntry, ...]


@dataclass(frozen=True, slots=True)
class TheoremExplanation(Explanation):
    """Hold everything there is to read about a theorem, and the command line that proves it."""

    replay: str


Report: TypeAlias = (
    CheckReport
    | ProveReport
    | ImplementationReport
    | MatrixReport
    | TrustReport
    | AuditReport
    | TheoremList
    | TheoremExplanation
    | DiffReport
    | ReplayReport
    | ExploreReport
)
"""Anything that a renderer renders."""
