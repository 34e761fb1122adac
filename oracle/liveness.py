"""What holds of whole runs: progress, and the two relations between boot and admission."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from ..spec.admission import longest_prompt
from ..spec.deployment import Deployment
from ..spec.design import Design
from ..spec.sizing import boot_requirement
from .engine import Engine, Snapshot
from .invariants import Fault, Turn
from .lone import Fate, LoneOutcome, lone_run, progress_key
from .reference import boot
from .wording import unfinished

Boot = Callable[[Deployment], Engine]
"""Boot an engine on `deployment.blocks`, whatever its startup check says."""


@dataclass(slots=True)
class Progress:
    """Watch a run: a request finishes, delivers output, or some request's highest count of computed tokens grows.

    Computing the same tokens again after a preemption is not progress. The fault is a state that repeats without any,
    no request having come or gone: no number of further steps changes that.
    """

    _tokens: dict[str, int] = field(default_factory=dict)
    _computed: dict[str, int] = field(default_factory=dict)
    _seen: set[object] = field(default_factory=set)

    def observe(self, turn: Turn) -> Fault:
        """Take in one step and say whether the run has begun to repeat itself."""
        if self._moved(turn.before, turn.after):
            self._seen.clear()
        if not turn.after.requests:
            return None
        state = progress_key(turn.after)
        if state in self._seen:
            return f"a state repeats for ever, and {unfinished(turn.after.requests)}"
        self._seen.add(state)
        return None

    def _moved(self, before: Snapshot, after: Snapshot) -> bool:
        moved = before.requests.keys() != after.requests.keys()
        for marks, attribute in ((self._tokens, "tokens"), (self._computed, "computed")):
            for name, view in after.requests.items():
                reached = getattr(view, attribute)
                if reached > marks.get(name, 0):
                    marks[name] = reached
                    moved = True
        return moved


def boot_covers_admission(
    deployment: Deployment, design: Design, make: Boot | None = None, prompts: Iterable[int] | None = None
) -> Fault:
    """A pool that passes the boot check admits and serves any legal request on an empty engine.

    Args:
        deployment: The deployment; its pool is set to the least that boot accepts.
        design: The design whose boot decides.
        make: How to boot the engine under test; the design's own engine where it is not given.
        prompts: The prompt lengths to try, each with the longest output that fits; all of them where not given.
    """
    pool = replace(deployment, blocks=boot_requirement(deployment, design))
    make = make or (lambda booted: boot(booted, design, forced=True))
    for prompt in prompts if prompts is not None else range(1, longest_prompt(deployment) + 1):
        outcome = _longest_run(make(pool), prompt)
        if outcome.fate is not Fate.DONE:
            return f"boot accepts {pool.blocks} blocks and a request of {prompt} tokens is {outcome.fate}"
    return None


def boot_is_tight(deployment: Deployment, design: Design, slack: int, make: Boot | None = None) -> Fault:
    """Boot never demands more than the worst peak of one request, the null block and a stated slack.

    Args:
        deployment: The deployment.
        design: The design whose boot decides.
        slack: The blocks that boot may demand beyond what is ever held.
        make: How to boot the engine under test; the design's own engine where it is not given.
    """
    demanded = boot_requirement(deployment, design)
    roomy = replace(deployment, blocks=2 * demanded + 2)
    make = make or (lambda booted: boot(booted, design, forced=True))
    prompts = range(1, longest_prompt(deployment) + 1)
    worst = max(sum(_longest_run(make(roomy), prompt).peak) for prompt in prompts)
    excess = demanded - worst - (1 if design.boot_reserves_null else 0)
    return f"boot demands {demanded} blocks, one request holds {worst} at most" if excess > slack else None


def _longest_run(engine: Engine, prompt: int) -> LoneOutcome:
    """Run one request until its sequence is as long as the deployment allows."""
    return lone_run(engine, prompt, int(engine.deployment.max_model_len) - prompt)
