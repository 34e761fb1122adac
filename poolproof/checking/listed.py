"""Predictions prompt by prompt, where what a request holds depends on how its prompt is cut into chunks.

Aligned states are such: a prompt may be refused and a longer one, which ends at a boundary, served. Each prompt is run
on the oracle of the design.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ..inputs.numbers import known
from ..oracle.lone import Fate, LoneOutcome, lone_run
from ..oracle.reference import boot
from ..spec import Deployment, Design, Lengths, UnsupportedError, boot_requirement, never_admitted
from ..spec.admission import longest_prompt
from .predictions import Outcome, Predictions

MOST_STEPS = 400_000
"""The steps that all prompts may take together."""

SHOWN = 4
"""The ranges of prompts at whose ends engines are run."""

_OUTCOMES = {
    Fate.DONE: Outcome.SERVED,
    Fate.NEVER_ADMITTED: Outcome.NEVER_ADMITTED,
    Fate.STRANDED: Outcome.NEVER_FINISHES,
    Fate.FAILED: Outcome.CRASHES,
}


@dataclass(frozen=True, slots=True)
class Listed(Predictions):
    """Tell which prompts are served by a pool, range by range.

    Args:
        unserved: The ranges that are not, and what becomes of them.
    """

    unserved: tuple[tuple[Outcome, Lengths], ...] = ()

    def outcome(self, prompt: int) -> Outcome:
        """Predict what becomes of one prompt."""
        found = (outcome for outcome, lengths in self.unserved if lengths.first <= prompt <= lengths.last)
        return next(found, Outcome.SERVED)

    @property
    def border(self) -> int | None:
        """Return the shortest prompt that is not served, or None where all are."""
        return self.unserved[0][1].first if self.unserved else None

    def boundary(self) -> list[int]:
        """List the prompts worth running: both sides of both ends of the first ranges, and the longest."""
        ends = {end for _, lengths in self.unserved[:SHOWN] for end in (lengths.first, lengths.last + 1)}
        beside = {prompt for end in ends for prompt in (end - 1, end)} | {self.longest}
        return sorted(prompt for prompt in beside if 1 <= prompt <= self.longest)

    def ranges(self) -> list[tuple[Outcome, Lengths]]:
        """List the lengths that are not served, by what becomes of them."""
        return list(self.unserved)


def listed(deployment: Deployment, design: Design, blocks: int) -> Listed:
    """Run every prompt alone on the oracle, and list the ranges that are not served.

    Raises:
        UnsupportedError: That are too many steps, or the oracle does not serve the deployment.
    """
    longest = longest_prompt(deployment)
    _refuse_what_takes_too_long(deployment, longest)
    pool = replace(deployment, blocks=min(blocks, _ample(deployment, design)))
    fates = [_OUTCOMES[run_alone(pool, design, prompt).fate] for prompt in range(1, longest + 1)]
    refused = never_admitted(deployment, design, blocks)
    unserved = tuple(_unserved(fates))
    stuck = next((lengths.first for outcome, lengths in unserved if outcome is Outcome.NEVER_FINISHES), None)
    return Listed(refused[0].first if refused else None, stuck, longest, unserved)


def run_alone(deployment: Deployment, design: Design, prompt: int) -> LoneOutcome:
    """Run one prompt on the oracle; a request that is alone shares nothing."""
    return lone_run(boot(replace(deployment, prefix_caching=False), design, forced=True), prompt)


def peaks(deployment: Deployment, design: Design, prompts: Sequence[int]) -> list[int]:
    """Count, for each of some prompts, the most blocks that it holds alone where there are enough."""
    roomy = replace(deployment, blocks=_ample(deployment, design))
    return [sum(run_alone(roomy, design, prompt).peak) for prompt in prompts]


def _ample(deployment: Deployment, design: Design) -> int:
    """Count blocks beyond which a lone request does not meet the end of the pool: one per token in every group."""
    groups = sum(known(group.count) for group in deployment.groups)
    longest = known(deployment.max_model_len) + known(deployment.lookahead)
    return known(boot_requirement(deployment, design)) + groups * longest + 1


def _refuse_what_takes_too_long(deployment: Deployment, longest: int) -> None:
    steps = _steps_together(longest, known(deployment.max_num_batched_tokens))
    if steps > MOST_STEPS:
        told = "what a prompt holds of aligned states depends on how it is cut, so that each of them is run"
        raise UnsupportedError(f"running {longest} prompts, {steps} steps ({told}); lower max_model_len")


def _steps_together(longest: int, budget: int) -> int:
    """Add up 1 + prompt // budget over all prompts, which may be too many to go through."""
    whole, rest = divmod(longest, budget)
    return longest + budget * whole * (whole - 1) // 2 + whole * (rest + 1)


def _unserved(fates: list[Outcome]) -> Iterator[tuple[Outcome, Lengths]]:
    first = 1
    for outcome, same in groupby(fates):
        count = len(list(same))
        if outcome is not Outcome.SERVED:
            yield outcome, Lengths(first, first + count - 1)
        first += count
