"""The columns of the table of designs: what holds of each, and its smallest counterexample where something does not."""

from __future__ import annotations

from collections.abc import Sequence

from ..oracle.counting import counted
from ..proofs.design_claims import decide_claims
from ..render.matrix_records import Cell, Column, MatrixReport, Row
from ..render.output import Progress
from ..spec import DESIGNS, Design, named


def designs_report(names: Sequence[str], jobs: int, tell: Progress) -> MatrixReport:
    """Hold designs (all where none is named) against everything that is claimed of any design."""
    designs = [named(name) for name in names] or list(DESIGNS)
    cells: dict[str, list[Cell]] = {design.name: [] for design in designs}
    for claim, verdicts in decide_claims(list(cells), jobs, tell):
        row = Row(claim.name, claim.setting, claim.sentence)
        for found, verdict in zip(cells.values(), verdicts, strict=True):
            found.append(Cell(row, verdict))
    columns = tuple(_column(named(name), tuple(found)) for name, found in cells.items())
    title = f"{counted(len(columns), 'design')}, every size symbolic"
    return MatrixReport(title, columns, " ".join(["poolproof matrix --designs", *names]))


def _column(design: Design, cells: tuple[Cell, ...]) -> Column:
    return Column(design.name, design.name.removeprefix("vllm-"), (("what it is", design.summary),), cells)
