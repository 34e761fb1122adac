"""The curves of one deployment: what admission demands and what is really held, over the length of the prompt."""

from __future__ import annotations

from pathlib import Path

from ..inputs.numbers import known
from ..render.records import CurvePoint, Curves
from ..spec.admission import first_step_requirement, gate_requirement
from .case import Case
from .listed import peaks
from .predictions import has_aligned_states, prefill_peaks

SAMPLES = 512
"""The most lengths at which a curve is evaluated; between them it is drawn in steps."""


def draw(case: Case, path: Path) -> None:
    """Write the curves of a case as an SVG file; where that fails, it is said and the verdict stands."""
    from ..render.saving import leave
    from ..render.svg import to_svg

    leave("--svg", path, to_svg(curves(case)))


def curves(case: Case) -> Curves:
    """Evaluate the curves."""
    lengths = _lengths(case)
    held_by = peaks if has_aligned_states(case.deployment) else prefill_peaks
    most = held_by(case.deployment, case.design, lengths)
    points = tuple(
        CurvePoint(tokens, _demanded(case, tokens), held) for tokens, held in zip(lengths, most, strict=True)
    )
    title = f"{case.design.name}: {case.blocks} blocks, prompts up to {case.predictions.longest} tokens"
    return Curves(title, case.usable, case.predictions.border, points)


def _demanded(case: Case, tokens: int) -> int:
    gate = known(gate_requirement(tokens, case.deployment, case.design))
    return max(gate, known(first_step_requirement(tokens, case.deployment, case.design)))


def _lengths(case: Case) -> list[int]:
    """Choose lengths evenly, the borders among them."""
    longest = max(1, case.predictions.longest)
    step = max(1, longest // SAMPLES)
    return sorted({*range(1, longest + 1, step), *case.predictions.boundary(), longest})
