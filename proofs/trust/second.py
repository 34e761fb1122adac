"""The second solver: cvc5, on the exported text, in this process and with none of our terms."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

from ...spec.errors import UnsupportedError
from ..solving import Answer, Question, Reply
from .smtlib import exact, linear, with_lemmas

RLIMITS = (200_000, 1_000_000)
"""How much one script may take, in cvc5's resource count: little at first, so that an easy way is found early."""

_VALUE = re.compile(r"\(([^\s()]+) (\d+)\)")


def ask_second(question: Question) -> Reply:
    """Ask cvc5, in ever more exact scripts; only those that lose no case may say that there is one.

    Raises:
        UnsupportedError: cvc5 is not installed.
    """
    reply = Reply(Answer.UNKNOWN, 0)
    for limit, (write, lossless) in product(RLIMITS, _SCRIPTS):
        reply = _run(write(question), question.variables, limit)
        if reply.answer is Answer.UNSATISFIABLE or (lossless and reply.answer is Answer.SATISFIABLE):
            return reply
    return Reply(Answer.UNKNOWN, 0, reason=reply.reason or "only relaxed questions were answered")


_SCRIPTS: tuple[tuple[Callable[[Question], str], bool], ...] = (
    (partial(linear, of_three=False), False),
    (partial(linear, of_three=True), False),
    (partial(with_lemmas, of_three=False), True),
    (exact, True),
    (partial(with_lemmas, of_three=True), True),
)
"""How a question is written, and whether that loses none of its cases and adds none."""


def _run(script: str, variables: tuple[str, ...], limit: int) -> Reply:
    cvc5 = _solver()
    solver = cvc5.Solver()
    solver.setOption("rlimit-per", str(limit))
    solver.setOption("produce-models", "true")
    parser = cvc5.InputParser(solver)
    answer = _said(_perform(cvc5, solver, parser, script))
    if answer is not Answer.SATISFIABLE:
        return Reply(answer, 0, reason="" if answer is Answer.UNSATISFIABLE else "cvc5 gave up")
    told = _perform(cvc5, solver, parser, f"(get-value ({' '.join(variables)}))\n")
    return Reply(answer, 0, values={name: int(value) for name, value in _VALUE.findall(told)})


def _perform(cvc5: Any, solver: Any, parser: Any, script: str) -> str:
    """Run every command of a script and return what was printed."""
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "poolproof")
    printed = []
    while not (command := parser.nextCommand()).isNull():
        printed.append(command.invoke(solver, parser.getSymbolManager()))
    return "".join(printed).strip()


def _said(text: str) -> Answer:
    known = {"sat": Answer.SATISFIABLE, "unsat": Answer.UNSATISFIABLE}
    return known.get(text, Answer.UNKNOWN)


def _solver() -> Any:
    try:
        import cvc5
    except ImportError:
        raise UnsupportedError("the second solver is not installed: pip install 'poolproof[trust]'") from None
    return cvc5
