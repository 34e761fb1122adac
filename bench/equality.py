"""Hold the oracle against the real scheduler of nine releases, thousands of random runs each, and count what they show.

Run `python bench/equality.py`. Every run compares every field of every step and state, and checks every invariant that
the design of the release promises. It fails on any difference, and where something that matters was shown too seldom.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from poolproof.forks import Implementation
from poolproof.forks.parting import Compared
from poolproof.forks.releases import DESIGN_OF, RELEASES
from poolproof.spec import named

SHOWN = ("preemption", "recycling", "gate refusal", "draft rejection", "abort", "resume", "recurrent states")
"""What each release must have shown."""

ROUND = 100
PATIENCE = 900.0


def main(
    scenarios: Annotated[int, typer.Option(min=1, help="Accepted runs per release.")] = 2000,
    least: Annotated[int, typer.Option(min=0, help="The runs that must show each thing, per release.")] = 100,
    seed: Annotated[int, typer.Option(help="The seed of the first round; the next ones count on.")] = 0,
    batches: Annotated[int, typer.Option(min=1, max=2, help="Batches in flight: 2 is asynchronous.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Releases at once.")] = 2,
) -> None:
    """Print, per release, the runs, the differences, and how many runs showed what."""
    begun = time.perf_counter()
    table = Table(box=None)
    for column in ("release", "design", "runs", "differences", *SHOWN):
        table.add_column(column, justify="right")
    refusals: dict[str, Counter[str]] = {}
    partings: list[str] = []
    seldom = False
    with ThreadPoolExecutor(jobs) as pool:
        judge = partial(_compared, scenarios=scenarios, seed=seed, batches=batches)
        for version, found in zip(RELEASES, pool.map(judge, RELEASES), strict=True):
            coverage = [found.coverage.get(kind, 0) for kind in SHOWN]
            parted = found.parting is not None
            table.add_row(version, DESIGN_OF[version], *map(str, (found.scenarios, int(parted), *coverage)))
            refusals[version] = Counter(found.refused)
            seldom = seldom or min(coverage) < least
            if found.parting is not None:
                partings.append(f"{version}: {found.parting.field}: {found.parting.detail}")
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table)
    for version, counted in refusals.items():
        for words, times in counted.most_common():
            console.print(f"{version} refuses: {words} ({times} times)", highlight=False)
    for line in partings:
        console.print(line, highlight=False, markup=False)
    took = time.perf_counter() - begun
    console.print(f"python bench/equality.py --scenarios {scenarios} --seed {seed} --batches {batches}: {took:.0f} s")
    sys.exit(bool(partings) or seldom)


def _compared(version: str, *, scenarios: int, seed: int, batches: int) -> Compared:
    """Compare one release, round by round, until enough runs were accepted or two engines part."""
    design, coverage, refused, runs = named(DESIGN_OF[version]), Counter[str](), Counter[str](), 0
    with Implementation(RELEASES[version]) as implementation:
        while runs < scenarios:
            asked = {
                "design": design,
                "scenarios": min(ROUND, scenarios - runs),
                "seed": seed,
                # Pools far below what boot demands are where requests are preempted and refused.
                "wild": True,
                "batches": batches,
            }
            found = implementation.call("poolproof.forks.differential:compared", asked, seconds=PATIENCE)
            runs, seed = runs + found.scenarios, seed + 1
            coverage.update(found.coverage)
            refused.update(found.refused)
            if found.parting is not None or not found.scenarios:
                return Compared(runs, refused, coverage, found.parting)
    return Compared(runs, refused, coverage, None)


if __name__ == "__main__":
    typer.run(main)
