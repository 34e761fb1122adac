"""One column of the matrix: an implementation judged, its results kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from ..forks import Implementation, Source
from ..forks.observations import SETTING, facts, observe
from ..forks.prove import QUESTIONS, prove_running
from ..forks.results import Results
from ..oracle.verdict import Inconclusive, Proved, Refuted, Unsupported, Verdict
from ..proofs.judgement import Judgement
from ..render.matrix_records import Cell, Column, Row
from ..render.style import gravest
from ..spec import InconclusiveError, UnsupportedError


def column(source: Source, block_sizes: Sequence[int], results: Results, tell: Callable[[str], None]) -> Column:
    """Judge an implementation; one that does not load is a column of its own kind, not an error."""
    label = source.version or source.origin
    try:
        with closing(Implementation(source)) as implementation:
            known = results.answer((source.sha256, "facts"), lambda: list(facts(implementation.findings())))
            told = (("sha256", source.sha256), *known)
            return Column(source.origin, label, told, tuple(_cells(implementation, block_sizes, results, tell)))
    except UnsupportedError as error:
        return Column(source.origin, label, (), (), Unsupported(error.what))
    except InconclusiveError as error:
        return Column(source.origin, label, (), (), Inconclusive(str(error)))


def _cells(
    implementation: Implementation, block_sizes: Sequence[int], results: Results, tell: Callable[[str], None]
) -> Iterator[Cell]:
    key = implementation.source.sha256
    sizes = ", ".join(map(str, block_sizes))
    for names in QUESTIONS:
        tell(f"{implementation.source.origin}: {', '.join(names)}")
        proved = lambda names=names: list(prove_running(implementation, names, block_sizes=block_sizes))  # noqa: E731
        yield from folded(results.answer((key, *names, sizes), proved))
    for name, sentence, verdict in results.answer((key, "observations"), lambda: list(observe(implementation))):
        yield Cell(Row(name, SETTING, sentence), verdict)


def folded(judgements: Iterable[Judgement]) -> Iterator[Cell]:
    """Put the judgements of one setting together over the block sizes; the gravest one decides."""
    rows: dict[Row, list[Verdict]] = {}
    for judgement in judgements:
        rows.setdefault(_row(judgement), []).append(_located(judgement))
    return (Cell(row, _together(verdicts)) for row, verdicts in rows.items())


def _row(judgement: Judgement) -> Row:
    scope = judgement.scope
    groups = ", ".join(scope.groups)
    # How many batches the cap's own budget counts is the implementation's choice; elsewhere it is the setting's.
    batches = "; 2 batches in flight" if scope.batches_in_flight == "2" else ""
    return Row(judgement.name, f"{groups}{batches}", judgement.sentence)


def _located(judgement: Judgement) -> Verdict:
    """Say with a counterexample at which fixed sizes it was found."""
    verdict, fixed = judgement.verdict, judgement.scope.concrete
    if not isinstance(verdict, Refuted) or not fixed:
        return verdict
    at = f"at {', '.join(f'{name} {value}' for name, value in fixed)}"
    return Refuted(replace(verdict.witness, facts=(at, *verdict.witness.facts)))


def _together(verdicts: Sequence[Verdict]) -> Verdict:
    """Choose the smallest counterexample, or else the gravest verdict; proofs add up."""
    refuted = [verdict for verdict in verdicts if isinstance(verdict, Refuted)]
    if refuted:
        return min(refuted, key=lambda verdict: verdict.witness.sum)
    worst = gravest(verdicts)
    if isinstance(worst, Proved):
        return replace(worst, cost=sum(verdict.cost for verdict in verdicts if isinstance(verdict, Proved)))
    return worst
