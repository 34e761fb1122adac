"""Compare a fork's start-up with a design's: groups, blocks, verdict and fitted length, over drawn models and memory.

Run as `python -m poolproof.forks.boot_bytes --release SPEC [--cases N] [--seed N] [--design NAME]`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..spec.design import DESIGNS, Design, named
from ..spec.errors import PoolproofError, RefusedError, UsageError
from ..spec.fitting import Fitted, Start, start
from ..spec.shared import LayerGroup, own_page
from .byte_cases import drawn
from .implementation import Implementation
from .layer_specs import CLASSES
from .source import Source

WORKER = "poolproof.forks.byte_answers:answer_drawn"
"""What answers beside the fork."""


@dataclass(frozen=True)
class Compared:
    """Tell how one case came out.

    Args:
        case: Its number; with the seed it says all.
        outcome: What the design makes of it: a number of groups, or a reason.
        differences: Where the fork's answer is another one, in words.
    """

    case: int
    outcome: str
    differences: tuple[str, ...]


def compare(
    implementation: Implementation, design: Design, seed: int, cases: Iterable[int], *, against: Design | None = None
) -> Iterator[Compared]:
    """Start the fork and a design on the same cases.

    Args:
        implementation: The fork.
        design: The design for which cases are drawn: what its release can describe.
        seed: The seed of the cases.
        cases: Their numbers.
        against: Another design to compare with.

    Raises:
        UnsupportedError: The fork cannot describe a layer, or refuses in a way whose meaning is not known.
    """
    for case in cases:
        wanted = expected(drawn(design, seed, case), against or design)
        found = implementation.call(WORKER, {"design": design.name, "seed": seed, "case": case})
        yield Compared(case, _outcome(wanted), tuple(differences(found, wanted)))


def design_of(source: Source) -> Design:
    """Find the design that describes the release which a source says it is: the newest that is not newer.

    Raises:
        UsageError: It does not say what it is, or is older than any design.
    """
    version = _numbers(source.version or "")
    known = [(numbers, design) for design in DESIGNS if (numbers := _numbers(design.name.removeprefix("vllm-")))]
    fitting = [pair for pair in known if pair[0] <= version]
    if not fitting:
        raise UsageError("release", source.origin, "its version names no design", "give one with --design")
    return max(fitting, key=lambda pair: pair[0])[1]


def expected(asked: Start, design: Design) -> dict[str, Any]:
    """Say what a design makes of a case."""
    try:
        return _fitted(start(asked, design))
    except RefusedError as refusal:
        return {"refused": refusal.reason.name}


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """List where an implementation's answer is another one than the design's."""
    keys = sorted({*found, *wanted})
    return [
        f"{key}: {found.get(key)} in the implementation, {wanted.get(key)} in the design"
        for key in keys
        if found.get(key) != wanted.get(key)
    ]


def _fitted(fitted: Fitted) -> dict[str, Any]:
    if not fitted.groups:
        return {"groups": (), "blocks": fitted.blocks}
    return {
        "groups": tuple(tuple(map(_group, stage)) for stage in fitted.stages),
        "blocks": fitted.blocks,
        "max_model_len": fitted.max_model_len,
        "concurrency": fitted.concurrency,
        "tokens": fitted.logged_tokens,
    }


def _group(group: LayerGroup) -> tuple[Any, ...]:
    kind = "mixed" if group.mixed else CLASSES[group.layer.cache.kind]
    return (group.names, kind, group.layer.cache.block_size, own_page(group))


def _outcome(wanted: Mapping[str, Any]) -> str:
    """Name an outcome; how many groups there are is told up to three."""
    if "refused" in wanted:
        return str(wanted["refused"])
    count = len(wanted["groups"][0]) if wanted["groups"] else 0
    return f"groups: {count}" if count < 4 else "groups: more"


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    return tuple(map(int, parts)) if len(parts) == 2 and all(part.isdigit() for part in parts) else ()


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print the differences and a summary, and return the exit code."""
    asked = _parser().parse_args(arguments)
    try:
        with Implementation(asked.release, on_progress=_tell) as implementation:
            design = named(asked.design) if asked.design else design_of(implementation.source)
            compared = list(compare(implementation, design, asked.seed, range(asked.cases)))
    except UsageError as error:
        _tell(str(error))
        return 2
    except PoolproofError as error:
        _tell(str(error))
        return 3
    return _report(asked, design, compared)


def _report(asked: argparse.Namespace, design: Design, compared: Sequence[Compared]) -> int:
    different = [case for case in compared if case.differences]
    for case in different:
        print(f"case {case.case} of seed {asked.seed}: {'; '.join(case.differences)}")
    outcomes = Counter(case.outcome for case in compared)
    print(f"{asked.release} against {design.name}: {len(different)} of {len(compared)} cases differ, seed {asked.seed}")
    print(", ".join(f"{outcome} {count}" for outcome, count in sorted(outcomes.items())))
    return 1 if different or not compared else 0


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m poolproof.forks.boot_bytes", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--release", required=True, metavar="SPEC", help="a path, a wheel, or NAME==VERSION")
    parser.add_argument("--design", metavar="NAME", help="compare with this design (default: the release's own)")
    parser.add_argument("--cases", type=int, default=500, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    return parser


if __name__ == "__main__":
    sys.exit(main())
