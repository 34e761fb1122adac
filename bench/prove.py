"""Time the proofs: the whole suite, and the same contracts under CrossHair, in fresh processes.

Run `python bench/prove.py`; CrossHair comes with `pip install '.[bench]'`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

CONTRACTS = ("window_stays_within_cap", "window_with_any_lookahead_stays_within_cap")
"""The theorems that `bench/contracts.py` states as contracts, under the same names."""


@dataclass(frozen=True)
class Timing:
    """Hold the best of several runs, in seconds, what was answered, and how many questions were asked."""

    seconds: float
    answer: str
    questions: int = 1


def main(
    jobs: Annotated[int, typer.Option(min=1, help="Processes for the whole suite.")] = min(2, os.cpu_count() or 1),
    repeat: Annotated[int, typer.Option(min=1, help="Runs per measurement; the best counts.")] = 3,
    suite: Annotated[bool, typer.Option(help="Time the whole suite too.")] = True,
) -> None:
    """Print what proving costs, and the ratio to CrossHair on the same contracts in the same run."""
    if find_spec("crosshair") is None:
        raise typer.BadParameter("CrossHair is not installed; pip install '.[bench]'", param_hint="environment")
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(_contracts(repeat))
    if suite:
        console.print(_suite(jobs, repeat))


def _contracts(repeat: int) -> Table:
    """Set one theorem, with the covers and mutants that CrossHair does not have, beside one contract."""
    table = Table(title="one contract, fresh process", box=None, title_justify="left")
    for column in ("contract", "prover", "seconds", "questions", "answer", "CrossHair / poolproof", "per question"):
        table.add_column(column)
    for name in CONTRACTS:
        ours, theirs = _best(_poolproof(name), repeat), _best(_crosshair(name), repeat)
        ratio = theirs.seconds / ours.seconds
        shares = f"{ratio:.2f}", f"{ratio * ours.questions / theirs.questions:.2f}"
        table.add_row(name, "poolproof", f"{ours.seconds:.2f}", f"{ours.questions}", ours.answer, *shares)
        table.add_row("", "CrossHair", f"{theirs.seconds:.2f}", f"{theirs.questions}", theirs.answer, "", "")
    return table


def _suite(jobs: int, repeat: int) -> Table:
    table = Table(title="the whole suite, fresh process, seconds", box=None, title_justify="left")
    for column in ("jobs", "seconds", "answer"):
        table.add_column(column)
    whole = _best([sys.executable, "-m", "poolproof", "prove", "--jobs", str(jobs)], repeat)
    table.add_row(str(jobs), f"{whole.seconds:.2f}", whole.answer)
    return table


def _poolproof(name: str) -> list[str]:
    return [sys.executable, "-m", "poolproof", "prove", name, "--jobs", "1", "--format", "json"]


def _crosshair(name: str) -> list[str]:
    options = ["--analysis_kind=PEP316", "--per_condition_timeout=60", "--report_all"]
    return [sys.executable, "-m", "crosshair", "check", f"contracts.{name}", *options]


def _best(command: list[str], repeat: int) -> Timing:
    runs = [_timed(command) for _ in range(repeat)]
    return min(runs, key=lambda run: run.seconds)


def _timed(command: list[str]) -> Timing:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    begun = time.perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    seconds = time.perf_counter() - begun
    return _read_ours(seconds, ran.stdout) if ran.stdout.startswith("{") else Timing(seconds, _said(ran.stdout))


def _read_ours(seconds: float, output: str) -> Timing:
    theorem = json.loads(output)["theorems"][0]
    questions = 1 + len(theorem["covers"]) + len(theorem["mutants"])
    witness = theorem["claim"].get("witness")
    if witness is None:
        return Timing(seconds, theorem["claim"]["kind"], questions)
    return Timing(seconds, f"false at {', '.join(str(value) for _, value in witness['values'])}", questions)


def _said(output: str) -> str:
    """Shorten what CrossHair, or the whole suite, says to its verdict."""
    called = re.search(r"when calling \w+\((.*?)\)", output)
    if called:
        return f"false at {called[1]}"
    line = output.strip().splitlines()[0] if output.strip() else "nothing"
    return re.sub(r"^\S+:\d+: \w+: ", "", line)


if __name__ == "__main__":
    typer.run(main)
