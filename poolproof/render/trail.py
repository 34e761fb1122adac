"""The part of a state graph that matters, a run and the cycle it ends in, as DOT and as an SVG picture."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from .run_records import EngineMoment, Reached

_WIDTH, _ROW, _BOX, _TOP = 640, 86, 46, 48
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.title{font-size:15px;font-weight:600}.small{font-size:11px}"
    ".state{fill:#f6f8fa;stroke:#57606a}.bad{fill:#ffebe9;stroke:#cf222e;stroke-width:2}"
    ".step{stroke:#57606a;fill:none}.again{stroke:#cf222e;stroke-width:2;fill:none}"
)


def to_dot(found: Reached) -> str:
    """Write the run for graphviz; the cycle is drawn back to the state in which it begins."""
    states = _states(found)
    lines = [
        "digraph run {",
        '  rankdir=TB; node [shape=box, fontname="sans-serif"];',
        f"  label={_quoted(f'{found.name}: {found.fault}')};",
        *(f"  s{index} [label={_quoted(state)}{_mark(found, index)}];" for index, state in enumerate(states)),
        *_edges(found, len(states)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _edges(found: Reached, states: int) -> Iterator[str]:
    for index, scene in enumerate(found.scenes):
        target = index + 1 if index + 1 < states else _entry(found)
        colour = ", color=red" if scene.repeats else ""
        yield f"  s{index} -> s{target} [label={_quoted(scene.action)}{colour}];"


def _mark(found: Reached, index: int) -> str:
    return ", color=red" if _is_bad(found, index) else ""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _states(found: Reached) -> list[str]:
    """Name the states of the run; the one that a cycle returns to is named once."""
    after = [_state(scene.engines[-1]) for scene in found.scenes]
    return ["empty", *(after[:-1] if _entry(found) is not None else after)]


def _state(moment: EngineMoment) -> str:
    held = ", ".join(f"{name} holds {sum(map(_real, tables))}" for name, tables in moment.tables) or "nobody is left"
    return f"{held}; {len(moment.free)} free"


def _real(table: tuple[int, ...]) -> int:
    return len(table) - table.count(0)


def _entry(found: Reached) -> int | None:
    """Number the state in which the cycle begins."""
    return next((index for index, scene in enumerate(found.scenes) if scene.repeats), None)


def _is_bad(found: Reached, index: int) -> bool:
    entry = _entry(found)
    return index == len(found.scenes) if entry is None else index >= entry


def to_svg(found: Reached) -> str:
    """Draw the run from top to bottom, and the way back of a cycle to the right of it."""
    states = _states(found)
    height = _TOP + _ROW * len(states)
    title = escape(f"{found.name}: {found.fault}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{title}</title><style>{_STYLE}</style>",
        '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#57606a"/></marker></defs>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text class="title" x="16" y="26">{title}</text>',
        *(line for index, state in enumerate(states) for line in _box(found, index, state)),
        *(line for index in range(len(found.scenes)) for line in _arrow(found, index, len(states))),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _y(index: int) -> int:
    return _TOP + _ROW * index


def _box(found: Reached, index: int, state: str) -> Iterator[str]:
    look = "bad" if _is_bad(found, index) else "state"
    yield f'<rect class="{look}" x="16" y="{_y(index)}" width="400" height="{_BOX}" rx="6"/>'
    yield f'<text x="28" y="{_y(index) + 28}">{escape(state)}</text>'


def _arrow(found: Reached, index: int, states: int) -> Iterator[str]:
    scene = found.scenes[index]
    look = "again" if scene.repeats else "step"
    entry = _entry(found)
    if index + 1 < states or entry is None:
        top, bottom = _y(index) + _BOX, _y(index + 1)
        yield f'<path class="{look}" d="M60,{top} L60,{bottom}" marker-end="url(#to)"/>'
        yield f'<text class="small" x="70" y="{(top + bottom) / 2 + 4}">{escape(scene.action)}</text>'
        return
    start, end = _y(index) + _BOX // 2, _y(entry) + _BOX // 2
    yield f'<path class="{look}" d="M416,{start} C540,{start} 540,{end} 418,{end}" marker-end="url(#to)"/>'
    yield f'<text class="small" x="516" y="{(start + end) / 2 + 4}">{escape(scene.action)}, for ever</text>'
