"""What must hold of an implementation's recurrent states: they stay within what boot reserves, and are predicted.

What a request holds of them depends on its history, so that its first steps are taken one after the other, for every
length of the prompt, of the steps and of what is rejected. Blocks are counted in loops: their numbers are followed up
to a bound, one path per number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ..spec.arithmetic import Term, Truth, every
from ..spec.deployment import Deployment
from ..spec.states import MambaAlign
from .decisions import Decisions, History, Replay, StateRun
from .proxy import lifted
from .settings import BLOCK_SIZE, BUDGET, LENGTH, PROMPT, Shape, aligned_states, limits, states
from .symbolic import Claim, Property, Together
from .theorem import Assumption, Point, Variable

Claiming: TypeAlias = Callable[[StateRun, Point], Claim]
"""States a claim about the steps that were taken."""

SPECULATIVE = (0, 1, 2)
"""The numbers of drafts per step at which states are decided."""


@dataclass(frozen=True, slots=True)
class Course:
    """Say which first steps of a request are looked at.

    Args:
        shape: The group, and what engines demand of it.
        speculative: The drafts per step.
        batches: How many batches are in flight.
        steps: The number of steps.
        blocks: The most blocks of tokens that a table covers.
        decodes: Every step but the first verifies drafts; otherwise the steps fall anywhere.
    """

    shape: Shape
    speculative: int
    batches: int
    steps: int
    blocks: int
    decodes: bool = False

    @property
    def offered(self) -> tuple[Variable, ...]:
        """Name what the budget leaves for each step."""
        meaning = "the tokens that the budget leaves for a step of the request"
        return tuple(Variable(f"offered_{step}", "tokens", meaning) for step in range(1, self.steps + 1))

    @property
    def accepted(self) -> tuple[Variable, ...]:
        """Name what is accepted of the drafts of each step that settles before the last one is scheduled.

        The first step computes prompt tokens, and has no drafts.
        """
        settled = range(2, self.steps - self.batches + 1) if self.speculative else ()
        return tuple(Variable(f"accepted_{step}", "tokens", "the accepted drafts of a step") for step in settled)

    def deployment(self, at: Point) -> Deployment:
        """Make the deployment at a point."""
        made = self.shape.deployment(at.block_size, at, batches=self.batches)
        return replace(made, lookahead=self.speculative)

    def history(self, at: Point) -> History:
        """Make the steps at a point."""
        offered = tuple(getattr(at, variable.name) for variable in self.offered)
        accepted = tuple(at.get(f"accepted_{step}", 0) for step in range(1, self.steps + 1))
        return History(at.prompt, offered, accepted)

    def premises(self, at: Point) -> Iterator[Assumption]:
        """Assume legal sizes, and steps that an engine can take."""
        yield from self.shape.legal(at.block_size, at)
        yield from limits(at)
        yield from self._prompt(at)
        yield from self._offered(at)
        for variable in self.accepted:
            text = f"{variable.name}: no more than the drafts"
            yield Assumption(text, getattr(at, variable.name) <= self.speculative)

    def _prompt(self, at: Point) -> Iterator[Assumption]:
        yield Assumption("prompt: a request has at least one token", at.prompt >= 1)
        yield Assumption("prompt: a request has room for an answer", at.prompt < at.max_model_len)
        if self.decodes:
            yield Assumption("prompt: it fits into a block", at.prompt <= at.block_size)
            yield Assumption("offered_1: the first step computes the prompt", at.prompt <= at.offered_1)
        else:
            yield Assumption(f"prompt: at most {self.blocks} blocks", at.prompt <= self.blocks * at.block_size)

    def _offered(self, at: Point) -> Iterator[Assumption]:
        offered = [getattr(at, variable.name) for variable in self.offered]
        for variable, tokens in zip(self.offered, offered, strict=True):
            yield Assumption(f"{variable.name}: a step computes at least one token", tokens >= 1)
            yield Assumption(f"{variable.name}: a step keeps to its budget", tokens <= at.max_num_batched_tokens)
        together = sum(offered)
        yield Assumption(f"offered: at most {self.blocks} blocks together", together <= self.blocks * at.block_size)
        # An engine schedules no position that leaves no room for the token that is sampled after it.
        yield Assumption("offered: a sequence keeps to its length", together < at.max_model_len)

    def reached(self, run: StateRun, at: Point) -> Any:
        """Tell whether all steps were taken, into a second block, and drafts were rejected where there can be some."""
        if len(run.steps) < self.steps:
            return False
        (cache,) = self.shape.caches(at.block_size, at)
        blocks = 1 if cache.kind == MambaAlign.kind else 0
        rejections = 1 if self.decodes else 0
        return lifted(_went_far, run.computed, blocks * at.block_size, run.rejected, rejections)


def _went_far(computed: Term, beyond: Term, rejected: Term, rejections: Term) -> Truth:
    return every([computed > beyond, rejected >= rejections])


def courses(speculative: int, counts_in_flight: bool) -> Iterator[Course]:
    """List the first steps at which states are decided, for so many drafts per step.

    Chunks in flight make a difference only to an implementation that counts them. Drafts in flight are rejected one
    step later in any, so that a step more is needed to see one after a rejection.
    """
    for batches in (1, 2):
        if speculative < 2:
            yield Course(states(speculative), speculative, batches, 3, 4)
        if speculative < 2 and (batches == 1 or counts_in_flight):
            yield Course(aligned_states(speculative), speculative, batches, 3, 4)
        if speculative == 2 or (speculative and batches == 2):
            yield Course(aligned_states(speculative), speculative, batches, 2 + batches, 3, decodes=True)


def state_properties(decisions: Decisions, speculative: int) -> Iterator[Together]:
    """List what must hold of states, for so many drafts per step; the steps of one course are taken once for all."""
    for course in courses(speculative, decisions.counts_in_flight):
        yield about_states(decisions, course)


def about_states(decisions: Decisions, course: Course) -> Together:
    """State all that must hold of the states of one course."""
    claims = (_held_within(decisions, course), _predicted(course))

    def program(at: Point) -> tuple[Claim, ...]:
        run = decisions.steps(course.deployment(at), course.history(at))
        return tuple(claim(run, at) for claim in claims)

    return Together((boot_covers_held(decisions, course), prediction_covers_allocation(decisions, course)), program)


def boot_covers_held(decisions: Decisions, course: Course) -> Property:
    """State that a request never holds more states than boot reserves for it."""
    sentence = "A request never holds more states of a group than boot reserves for it."
    return _about(course, "boot_covers_held", sentence, decisions, _held_within(decisions, course))


def _held_within(decisions: Decisions, course: Course) -> Claiming:
    def claim(run: StateRun, at: Point) -> Claim:
        reserved = decisions.reserves(course.deployment(at))
        held = {f"held after step {number}": step.held for number, step in enumerate(run.steps, 1)}
        return Claim(
            all(step.held <= reserved for step in run.steps), course.reached(run, at), {**held, "reserved": reserved}
        )

    return claim


def prediction_covers_allocation(decisions: Decisions, course: Course) -> Property:
    """State that no step fails, or takes more states than it was said to need; less than none counts as none."""
    sentence = "No step fails, or takes more blocks than was predicted of it."
    return _about(course, "prediction_covers_allocation", sentence, decisions, _predicted(course))


def _predicted(course: Course) -> Claiming:
    def claim(run: StateRun, at: Point) -> Claim:
        within = all(step.taken <= max(step.predicted, 0) for step in run.steps)
        shown = {
            "predicted of each step": ", ".join(str(step.predicted) for step in run.steps),
            "taken by each step": ", ".join(str(step.taken) for step in run.steps),
        }
        told = {"failure": run.failure} if run.failure else shown
        return Claim(within and not run.failure, course.reached(run, at), told)

    return claim


def _about(course: Course, name: str, sentence: str, decisions: Decisions, claim: Claiming) -> Property:
    def program(at: Point) -> Claim:
        return claim(decisions.steps(course.deployment(at), course.history(at)), at)

    def replay(values: Mapping[str, int]) -> Replay:
        at = Point(values)
        return decisions.replay_steps(course.deployment(at), course.history(at))

    bounds = (("speculative", course.speculative), ("steps", course.steps), ("table_blocks", course.blocks))
    return Property(
        name,
        sentence,
        (BLOCK_SIZE, BUDGET, LENGTH, PROMPT, *course.offered, *course.accepted),
        course.premises,
        program,
        course.shape.groups,
        (*bounds, ("prefix_caching", 0)),
        str(course.batches),
        replay,
        values=course.blocks + course.speculative + 1,
    )
