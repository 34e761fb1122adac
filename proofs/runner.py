"""Check theorems of the catalogue, one after the other or shared among processes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TypeAlias

from .answers import Answers
from .budget import Budget
from .checking import UnfaithfulError, check
from .outcome import Outcome
from .registry import find, select

__all__ = ["Progress", "UnfaithfulError", "check", "check_all"]

Progress: TypeAlias = Callable[[Outcome], None]
"""Is told each outcome as soon as it is known, in any order."""

Work: TypeAlias = Callable[[], Outcome]
"""The check of one theorem; another process can run it too."""


def check_all(
    names: Sequence[str] | None = None,
    jobs: int = 1,
    budget: Budget | None = None,
    progress: Progress | None = None,
    answers: Path | None = None,
) -> Iterator[Outcome]:
    """Check the theorems of the catalogue (all, or those named by theorem or family) and yield them in its order.

    Args:
        names: The theorems or families; None for all.
        jobs: The processes to share them among.
        budget: What one question may take.
        progress: Told of each outcome as soon as it is known.
        answers: The file in which answers are kept between runs; None for none.

    Raises:
        UsageError: A name is unknown.
    """
    selected = [theorem.name for theorem in select(names)]
    work = [partial(_check_named, name, budget or Budget(), answers) for name in selected]
    tell = progress or _silent
    return _in_turn(work, tell) if jobs <= 1 else _at_once(work, tell, jobs)


def _silent(_: Outcome) -> None:
    """Tell nobody."""


def _in_turn(work: Sequence[Work], progress: Progress) -> Iterator[Outcome]:
    for each in work:
        outcome = each()
        progress(outcome)
        yield outcome


def _at_once(work: Sequence[Work], progress: Progress, jobs: int) -> Iterator[Outcome]:
    """Share the theorems among fresh processes (the solver's own threads do not survive a fork)."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_leave_interrupts_to_us) as pool:
        running = [pool.submit(each) for each in work]
        try:
            for future in running:
                future.add_done_callback(lambda done: _pass_on(done, progress))
            yield from (future.result() for future in running)
        except BaseException:
            # A solver in the middle of a query heeds no signal, and leaving the pool would wait for it.
            for worker in active_children():
                worker.kill()
            raise


def _leave_interrupts_to_us() -> None:
    """Heed no Ctrl-C in a worker: it is this process that ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _pass_on(done: Future[Outcome], progress: Progress) -> None:
    """Tell an outcome; an error is raised where the outcome is awaited."""
    if not done.cancelled() and done.exception() is None:
        progress(done.result())


def _check_named(name: str, budget: Budget, answers: Path | None) -> Outcome:
    return check(find(name), budget, None if answers is None else Answers(answers))
