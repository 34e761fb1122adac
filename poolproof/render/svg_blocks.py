"""Who holds which block over time, as an SVG picture: a column per action, a row per block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from .run_records import EngineMoment, Scene

_CELL, _LEFT, _TOP = 22, 90, 60
_COLOURS = ("#0969da", "#1a7f37", "#bf8700", "#8250df", "#cf222e", "#1b7c83")
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-size:14px;font-weight:600}"
    ".free{fill:#f6f8fa;stroke:#d0d7de}.held{stroke:#fff}.parts{fill:none;stroke:#cf222e;stroke-width:3}"
)


def to_svg(title: str, scenes: Sequence[Scene]) -> str:
    """Draw every engine's pool, one below the other; the action after which engines part is framed."""
    engines = list(dict.fromkeys(moment.engine for scene in scenes for moment in scene.engines))
    names = list(dict.fromkeys(name for scene in scenes for moment in scene.engines for name, _ in moment.tables))
    blocks = 1 + max((block for scene in scenes for moment in scene.engines for block in _all(moment)), default=0)
    tall = _CELL * (blocks + 2)
    width, height = max(560, _LEFT + _CELL * (len(scenes) + 1)), _TOP + tall * len(engines) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text class="title" x="12" y="22">{escape(title)}</text>',
        *_legend(names),
    ]
    for index, engine in enumerate(engines):
        parts += _pool(engine, scenes, names, blocks, _TOP + tall * index)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _all(moment: EngineMoment) -> Iterator[int]:
    yield from moment.free
    yield from (block for _, tables in moment.tables for table in tables for block in table)


def _pool(engine: str, scenes: Sequence[Scene], names: list[str], blocks: int, top: int) -> Iterator[str]:
    yield f'<text x="12" y="{top + 14}">{escape(engine)}</text>'
    for block in range(1, blocks):
        yield f'<text x="{_LEFT - 8}" y="{top + _CELL * block + 15}" text-anchor="end">block {block}</text>'
    for column, scene in enumerate(scenes):
        x = _LEFT + _CELL * column
        yield f'<text x="{x + _CELL / 2}" y="{top + 14}" text-anchor="middle">{scene.number}</text>'
        for moment in scene.engines:
            if moment.engine == engine:
                yield from _column(scene, moment, names, blocks, x, top)


def _column(scene: Scene, moment: EngineMoment, names: list[str], blocks: int, x: int, top: int) -> Iterator[str]:
    owner = {block: name for name, tables in moment.tables for table in tables for block in table}
    for block in range(1, blocks):
        name = owner.get(block)
        look = 'class="free"' if name is None else f'class="held" fill="{_colour(names, name)}"'
        told = f"action {scene.number}, {scene.action}: block {block} {'is free' if name is None else f'of {name}'}"
        place = f'x="{x}" y="{top + _CELL * block}" width="{_CELL}" height="{_CELL}"'
        yield f"<rect {look} {place}><title>{escape(told)}</title></rect>"
    if scene.difference is not None:
        yield f'<rect class="parts" x="{x}" y="{top + _CELL}" width="{_CELL}" height="{_CELL * (blocks - 1)}"/>'


def _colour(names: list[str], name: str) -> str:
    return _COLOURS[names.index(name) % len(_COLOURS)]


def _legend(names: list[str]) -> Iterator[str]:
    for index, name in enumerate(names):
        x = 12 + 90 * index
        yield f'<rect x="{x}" y="32" width="14" height="14" fill="{_colour(names, name)}"/>'
        yield f'<text x="{x + 20}" y="44">{escape(name)}</text>'
