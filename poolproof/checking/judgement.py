"""The verdict on a deployment: predictions and observations in, one sentence and its reason out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..inputs.numbers import known
from ..oracle.counting import counted
from ..oracle.verdict import Holds, Inconclusive, Refuted, Vacuous, Verdict, Witness
from ..render.records import BootLine, Observation, Range, Requirement, Run
from ..spec import ChunkedLocal, Lengths
from .case import Case
from .engines import ORACLE
from .excess import Excess
from .formulas import describe, excess_lines
from .predictions import Outcome


@dataclass(frozen=True, slots=True)
class Judgement:
    """Hold a verdict, the sentence that opens the report, and the reason."""

    verdict: Verdict
    headline: str
    why: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Gather what the verdict rests on.

    Args:
        case: The deployment and what is predicted for it.
        admission: What admission requires of the deciding prompt.
        boots: What boot says, by the design and by the implementation.
        runs: The prompts at the borders.
    """

    case: Case
    admission: Requirement
    boots: Sequence[BootLine]
    runs: Sequence[Run]

    @property
    def implementation(self) -> str | None:
        """Name the implementation, where there is one."""
        return self.boots[-1].engine if len(self.boots) > 1 else None

    @property
    def tested(self) -> str:
        """Name who is judged: the implementation where there is one, the design otherwise."""
        return self.boots[-1].engine


def judge(evidence: Evidence) -> Judgement:
    """Give the gravest verdict that the evidence supports; of no prompt there is nothing to say."""
    if evidence.case.predictions.longest < 1:
        return _vacuous(evidence.case)
    return next(_faults(evidence), _sound(evidence))


def _vacuous(case: Case) -> Judgement:
    headline = "no prompt is legal, so that nothing is said about this pool"
    why = f"a prompt and one output token take 2 tokens, and max_model_len is {case.deployment.max_model_len}"
    return Judgement(Vacuous(headline), headline, why)


def _faults(evidence: Evidence) -> Iterator[Judgement]:
    yield from _contradictions(evidence)
    yield from _boot_refuses(evidence)
    yield from _not_served(evidence)
    yield from _holds_too_much(evidence.case)
    yield from _boots_differ(evidence)


def _contradictions(evidence: Evidence) -> Iterator[Judgement]:
    """Find a prompt with which an engine did something else than was predicted."""
    apart = [(run, seen) for run in evidence.runs for seen in run.observations if not seen.agrees]
    for run, seen in sorted(apart, key=lambda pair: pair[1].outcome == Outcome.SERVED.value):
        yield _contradiction(run, seen, evidence)


def _contradiction(run: Run, seen: Observation, evidence: Evidence) -> Judgement:
    told = f"a prompt of {counted(run.prompt, 'token')}: {seen.outcome}; predicted: {run.predicted}"
    where = f"{seen.engine} at {counted(run.prompt, 'token')}"
    if seen.engine == ORACLE:
        return Judgement(Inconclusive(told), f"the formulas and the oracle disagree about {told}", "report this")
    if seen.outcome == Outcome.SERVED.value:
        why = f"{evidence.case.design.name} does not describe it; choose a design with --design"
        return Judgement(Inconclusive(told), f"{where} is better than the formulas say: {told}", why)
    witness = Witness((("prompt", run.prompt), ("blocks", evidence.case.blocks)), (told,))
    why = f"{evidence.case.design.name} serves it, so that the fault is beyond its formulas"
    return Judgement(Refuted(witness), f"{where} is worse than the formulas say: {told}", why)


def _boot_refuses(evidence: Evidence) -> Iterator[Judgement]:
    boot, blocks = evidence.boots[-1], evidence.case.blocks
    if not boot.accepts:
        headline = f"boot refuses a pool of {counted(blocks, 'block')}; the smallest that it accepts is {boot.smallest}"
        why = f"{boot.engine} starts only where one request of the greatest length fits"
        witness = Witness((("blocks", blocks), ("required", boot.smallest)), (headline,))
        yield Judgement(Refuted(witness), headline, f"{why}{_unchecked(evidence.case)}")


def _unchecked(case: Case) -> str:
    if case.design.boot_checks_override:
        return ""
    return "; num_gpu_blocks_override is not checked by this design, which then hangs on what does not fit"


def _not_served(evidence: Evidence) -> Iterator[Judgement]:
    for outcome, lengths in evidence.case.predictions.ranges():
        reason = _why_not_admitted if outcome is Outcome.NEVER_ADMITTED else _why_never_finished
        why = reason(evidence, lengths)
        witness = Witness((("prompt", lengths.first), ("blocks", evidence.case.blocks)), (why,))
        yield Judgement(Refuted(witness), f"{_spelled(lengths)}: {outcome.value}", why)


def _spelled(lengths: Lengths) -> str:
    if lengths.first == lengths.last:
        return f"prompts of {counted(lengths.first, 'token')}"
    return f"prompts of {lengths.first} to {lengths.last} tokens"


def _why_not_admitted(evidence: Evidence, lengths: Lengths) -> str:
    parts = [line.blocks if line.count == 1 else f"{line.count} x {line.blocks}" for line in evidence.admission.groups]
    adds_up = " + ".join(map(str, parts))
    charged = (
        adds_up
        if len(parts) == 1 and evidence.admission.groups[0].count == 1
        else (f"{adds_up} = {evidence.admission.blocks}")
    )
    if evidence.admission.blocks <= evidence.case.usable:
        return (
            "it would begin with a chunk of whole blocks of states, and a step of "
            f"{counted(known(evidence.case.deployment.max_num_batched_tokens), 'token')} has room for none"
        )
    demand = "the gate" if "gate" in evidence.admission.title else "the first step"
    blocks = "block" if charged == "1" else "blocks"
    return (
        f"{demand} demands {charged} {blocks} for {counted(lengths.first, 'token')}, "
        f"and an empty pool has {evidence.case.usable} (one of {evidence.case.blocks} is the null block)"
    )


def _why_never_finished(evidence: Evidence, lengths: Lengths) -> str:
    request, usable = counted(lengths.first, "token"), counted(evidence.case.usable, "usable block")
    return (
        f"a request of {request} comes in, needs more than the {usable} while it is prefilled, "
        "preempts itself and begins again"
    )


def _holds_too_much(case: Case) -> Iterator[Judgement]:
    if case.excess is None:
        return
    excess, cache = case.excess, case.deployment.groups[case.excess.group].cache
    headline = (
        f"a request holds {counted(excess.held, 'block')} of [{describe(cache)}] where boot and gate count {excess.cap}"
    )
    values = [(name, getattr(excess, name)) for name in ("processed", "computed", "scheduled", "lookahead")]
    witness = Witness(
        (*values, ("held", excess.held), ("cap", excess.cap)), excess_lines(excess, case.deployment, case.design)
    )
    yield Judgement(Refuted(witness), headline, _why_excess(case, excess))


def _why_excess(case: Case, excess: Excess) -> str:
    step = f"after {counted(excess.computed, 'token')} a step of {excess.scheduled} leads there"
    cache = case.deployment.groups[excess.group].cache
    if isinstance(cache, ChunkedLocal) and _misaligned(cache):
        without = "" if case.deployment.lookahead else ", or is 2"
        condition = f"the count is right only where the block size divides the chunk{without}"
        return f"{condition} (here {cache.block_size} and {cache.chunk}); {step}"
    return f"lookahead of {counted(excess.lookahead, 'slot')} takes blocks that the count leaves out; {step}"


def _misaligned(cache: ChunkedLocal) -> bool:
    return bool(cache.chunk % cache.block_size) and cache.block_size != 2


def _boots_differ(evidence: Evidence) -> Iterator[Judgement]:
    smallest = {boot.smallest for boot in evidence.boots}
    if len(smallest) > 1:
        told = "; ".join(f"{boot.engine} boots with {counted(boot.smallest, 'block')}" for boot in evidence.boots)
        why = f"{evidence.case.design.name} does not describe its boot; choose a design with --design"
        yield Judgement(Inconclusive(told), f"the formulas and the boot disagree: {told}", why)


def _sound(evidence: Evidence) -> Judgement:
    case = evidence.case
    longest = case.predictions.longest
    headline = f"every prompt up to {counted(longest, 'token')} is served by {counted(case.blocks, 'block')}"
    return Judgement(Holds(headline), headline, _why_served(evidence))


def _why_served(evidence: Evidence) -> str:
    case, demanded = evidence.case, counted(evidence.admission.blocks, "block")
    are = "is" if case.usable == 1 else "are"
    if case.design.gate:
        return f"the longest one requires {demanded} at admission, and {case.usable} {are} usable"
    return f"there is no gate; the longest one begins with {demanded} and never holds more than {case.usable}"


def ranges(case: Case) -> tuple[Range, ...]:
    """List the prompts that are not served."""
    return tuple(Range(outcome.value, lengths) for outcome, lengths in case.predictions.ranges())
