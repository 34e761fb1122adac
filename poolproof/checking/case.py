"""One deployment under judgement: its pool known, its predictions made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ..inputs.numbers import known
from ..oracle.counting import counted
from ..spec import Deployment, Design, boot_accepts, boot_requirement, usable
from .excess import Excess, first_excess
from .listed import listed
from .predictions import Predictions, decode_peak, has_aligned_states, predict


@dataclass(frozen=True)
class Case:
    """Hold a deployment with a known number of blocks, and the design that predicts for it.

    Args:
        deployment: The deployment; `blocks` is a known number.
        design: The design.
        pool: Where the number of blocks comes from, in words.
    """

    deployment: Deployment
    design: Design
    pool: str

    @property
    def blocks(self) -> int:
        """Return the size of the pool, null block included."""
        return known(self.deployment.blocks)

    @property
    def usable(self) -> int:
        """Return what requests can have."""
        return known(usable(self.blocks))

    @property
    def boot_minimum(self) -> int:
        """Return the smallest pool that the design's boot accepts."""
        return known(boot_requirement(self.deployment, self.design))

    @property
    def boot_accepts(self) -> bool:
        """Say whether the design's boot accepts the pool."""
        return bool(boot_accepts(self.blocks, self.deployment, self.design))

    @cached_property
    def predictions(self) -> Predictions:
        """Predict which prompts are served."""
        foretell = listed if has_aligned_states(self.deployment) else predict
        return foretell(self.deployment, self.design, self.blocks)

    @cached_property
    def excess(self) -> Excess | None:
        """Find a step after which a group holds more than is counted for it."""
        return first_excess(self.deployment, self.design)

    def growth(self) -> str:
        """Tell what becomes of a request that is admitted, grows, and loses its blocks to others."""
        border, last = self.predictions.never_admitted, self.predictions.longest
        if last < 1:
            return "no request is legal, so that none grows"
        if border is None and has_aligned_states(self.deployment):
            again = f"the gate lets a preempted request of any length up to {counted(last, 'token')} in again"
            return f"{again}; how its chunks are cut then, and whether they get their blocks, was not computed"
        if border is None:
            return f"a preempted request of any length up to {counted(last, 'token')} is admitted again"
        grown = (
            f"a request that grows to {counted(border, 'token')} or more and is then preempted is never admitted again"
        )
        return f"{grown}; {self._alone()}"

    def _alone(self) -> str:
        peak = decode_peak(self.deployment, self.design)
        if peak is None:
            why = "it depends on its chunks" if has_aligned_states(self.deployment) else "its period is too long"
            return f"whether it stays within the pool while it grows alone was not computed ({why})"
        if peak > self.usable:
            return f"alone it outgrows the pool ({counted(peak, 'block')} of {self.usable}) and preempts itself"
        return f"alone it keeps what it has (at most {peak} of {self.usable} blocks)"


def case_of(deployment: Deployment, design: Design) -> Case:
    """Complete a deployment with the smallest pool that boot accepts where none is given."""
    if deployment.blocks is not None:
        return Case(deployment, design, "as given")
    least = known(boot_requirement(deployment, design))
    return Case(replace(deployment, blocks=least), design, f"not given: the smallest that {design.name} boots with")
