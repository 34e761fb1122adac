"""Actions and steps in words."""

from __future__ import annotations

from collections.abc import Iterator

from ..oracle.counting import counted
from ..oracle.engine import StepRecord, Submission
from ..oracle.trace import Abort, Action, Step, Submit


def action_words(action: Action) -> str:
    """Say what was done."""
    match action:
        case Submit(submission):
            return f"submit {submission_words(submission)}"
        case Abort(name):
            return f"abort {name}"
        case Step(accepted):
            kept = ", ".join(f"{name} {count}" for name, count in accepted if count)
            return f"step, accepting {kept}" if kept else "step"


def submission_words(submission: Submission) -> str:
    """Describe a request."""
    priority = f", priority {submission.priority}" if submission.priority else ""
    return f"{submission.name}: {counted(submission.prompt, 'token')} + {submission.output:,} to generate{priority}"


def event_words(record: StepRecord | None) -> Iterator[str]:
    """Tell what a step did beside scheduling."""
    if record is None:
        return
    for done in ("admitted", "resumed", "preempted", "finished"):
        names = getattr(record, done)
        if names:
            yield f"{done} {', '.join(names)}"
    for allocation in record.allocations:
        if allocation.refused:
            where = "not admitted" if allocation.waiting else "refused a block"
            yield f"{allocation.name} {where} with {allocation.free_before} free"
