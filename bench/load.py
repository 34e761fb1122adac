"""Time the loading of releases: the first start, which downloads, and the next ones, from the cache.

Run `python bench/load.py`; without --keep the first start uses an empty cache in a temporary folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from poolproof.forks import Implementation, resolve
from poolproof.forks.releases import RELEASES
from poolproof.oracle.engine import Submission
from poolproof.oracle.trace import Scenario, Submit
from poolproof.spec import Deployment, FullAttention, Group, SlidingWindow

GROUPS = Group(FullAttention(16)), Group(SlidingWindow(16, 32))
ONE = Deployment(GROUPS, max_model_len=512, max_num_batched_tokens=64, blocks=64)
MANY = Deployment(GROUPS, max_model_len=512, max_num_batched_tokens=4096, blocks=16_384)


def main(
    versions: Annotated[list[str] | None, typer.Argument(help="Releases; nine of them where none is named.")] = None,
    keep: Annotated[bool, typer.Option(help="Use the ordinary cache, so that nothing may have to be fetched.")] = False,
    repeat: Annotated[int, typer.Option(min=1, help="Cached starts per release; the best counts.")] = 3,
) -> None:
    """Print, per release, the seconds until it is in the cache, until it is loaded, and until a prompt is served."""
    with tempfile.TemporaryDirectory(prefix="poolproof-bench-") as folder:
        if not keep:
            os.environ["POOLPROOF_CACHE_DIR"] = folder
        table = Table(box=None)
        for column in ("release", "first fetch", "cached fetch", "load", "boot and one prompt", "request-steps/s"):
            table.add_column(column, justify="right")
        for version in versions or RELEASES:
            table.add_row(version, *_measured(RELEASES.get(version, f"vllm=={version}"), repeat, empty=not keep))
        Console(width=None if sys.stdout.isatty() else 120).print(table)


def _measured(spec: str, repeat: int, *, empty: bool) -> list[str]:
    first = _seconds_to_fetch(spec)
    fetched = min(_seconds_to_fetch(spec) for _ in range(repeat))
    starts = [_start(spec) for _ in range(repeat)]
    load, serve = (min(column) for column in list(zip(*starts, strict=True))[:2])
    rate = max(start[2] for start in starts)
    return [f"{first:.1f} s" if empty else "-", f"{fetched:.2f} s", f"{load:.2f} s", f"{serve:.2f} s", f"{rate:,.0f}"]


def _seconds_to_fetch(spec: str) -> float:
    begun = time.perf_counter()
    resolve(spec)
    return time.perf_counter() - begun


def _start(spec: str) -> tuple[float, float, float]:
    """Load a release in a fresh process, boot it and serve a prompt; then serve many, for the rate."""
    begun = time.perf_counter()
    with Implementation(resolve(spec)) as implementation:
        loaded = time.perf_counter()
        implementation.boot(ONE)
        implementation.run(_scenario(ONE, 1, 1))
        served = time.perf_counter()
        many = implementation.run(_scenario(MANY, 128, 64))
        ended = time.perf_counter()
    return loaded - begun, served - loaded, sum(len(step.scheduled) for step in many.steps) / (ended - served)


def _scenario(deployment: Deployment, requests: int, output: int) -> Scenario:
    named = (Submission(f"request {number}", 300, output) for number in range(requests))
    return Scenario(deployment, tuple(map(Submit, named)))


if __name__ == "__main__":
    typer.run(main)
