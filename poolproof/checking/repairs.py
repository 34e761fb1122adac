"""The nearest deployments in which every prompt is served, each judged like the one that is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from ..inputs.deployment_flags import as_flags
from ..inputs.numbers import known
from ..oracle.verdict import Refuted
from ..proofs.repair import Change, Repair, nearest
from ..render.records import RepairLine
from ..spec import Deployment, Design, UnsupportedError
from .case import Case
from .judgement import Judgement
from .predictions import has_aligned_states

MOST_STEPS = 20_000
"""The most steps of the longest prompt for which repairs are sought: each of them is judged anew."""


def repairs(case: Case, verify: Callable[[Case], Judgement], options: str) -> Iterator[RepairLine]:
    """List the nearest repairs of a refuted deployment, with what the same check says of each."""
    steps = case.predictions.longest // known(case.deployment.max_num_batched_tokens)
    if has_aligned_states(case.deployment):
        steps *= case.predictions.longest  # every prompt is run
    if steps > MOST_STEPS:
        return
    for repair in nearest(case.deployment, partial(served, case.design)):
        yield _line(repair, verify(replace(case, deployment=repair.deployment)), options)


def served(design: Design, deployment: Deployment) -> bool:
    """Tell whether boot accepts a pool, every prompt is served and nothing holds more than is counted for it."""
    case = Case(deployment, design, "proposed")
    try:
        return case.boot_accepts and case.predictions.border is None and case.excess is None
    except UnsupportedError:
        # What cannot be judged is no repair.
        return False


def _line(repair: Repair, judgement: Judgement, options: str) -> RepairLine:
    changes = ", ".join(map(_spelled, repair.changes))
    why = judgement.headline if isinstance(judgement.verdict, Refuted) else judgement.why
    return RepairLine(changes, judgement.verdict, why, f"poolproof check {as_flags(repair.deployment)}{options}")


def _spelled(change: Change) -> str:
    return f"{change.field} {change.before} -> {change.after}"
