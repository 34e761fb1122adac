"""Curves as an SVG picture: plain text, the same bytes for the same record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from .records import CurvePoint, Curves

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 860, 380, 70, 20, 60, 56

_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.title{font-size:15px;font-weight:600}"
    ".axis{stroke:#999}.pool{stroke:#1a7f37;stroke-width:2;stroke-dasharray:7 4}.refused{fill:#cf222e;opacity:.10}"
    "polyline{fill:none;stroke-width:2.2}.demanded{stroke:#cf222e}.held{stroke:#0969da}"
)


class _Frame:
    """Place lengths and blocks on the picture."""

    def __init__(self, curves: Curves) -> None:
        self.tokens = max(point.tokens for point in curves.points)
        highest = max(max(point.demanded, point.held) for point in curves.points)
        self.blocks = max(highest, curves.usable) * 1.08

    def x(self, tokens: float) -> float:
        """Place a length."""
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * tokens / self.tokens, 1)

    def y(self, blocks: float) -> float:
        """Place a number of blocks."""
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * blocks / self.blocks, 1)


def to_svg(curves: Curves) -> str:
    """Draw the curves."""
    frame = _Frame(curves)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(curves.title)}</title><style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text class="title" x="{_LEFT}" y="24">{escape(curves.title)}</text>',
        *_refused(curves, frame),
        *_axes(frame),
        _curve("held", curves.points, lambda point: point.held, frame),
        _curve("demanded", curves.points, lambda point: point.demanded, frame),
        *_pool(curves, frame),
        *_legend(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _curve(name: str, points: Sequence[CurvePoint], blocks: Callable[[CurvePoint], int], frame: _Frame) -> str:
    """Draw a staircase: what a length needs holds for all lengths down to the previous one."""
    path: list[str] = []
    before = 0
    for point, following in zip(points, (*points[1:], None), strict=True):
        if following is None or blocks(following) != blocks(point):
            height = frame.y(blocks(point))
            path += [f"{frame.x(before)},{height}", f"{frame.x(point.tokens)},{height}"]
            before = point.tokens
    return f'<polyline class="{name}" points="{" ".join(path)}"/>'


def _pool(curves: Curves, frame: _Frame) -> Iterator[str]:
    height = frame.y(curves.usable)
    yield f'<line class="pool" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{height}" y2="{height}"/>'
    yield f'<text x="{_LEFT + 8}" y="{height - 7}">{curves.usable} usable blocks</text>'


def _refused(curves: Curves, frame: _Frame) -> Iterator[str]:
    if curves.border is None:
        return
    left = frame.x(curves.border - 1)
    width, height = round(_WIDTH - _RIGHT - left, 1), _HEIGHT - _TOP - _BOTTOM
    yield f'<rect class="refused" x="{left}" y="{_TOP}" width="{width}" height="{height}"/>'
    anchor = "end" if left > _WIDTH / 2 else "start"
    at = left - 6 if anchor == "end" else left + 6
    told = f"not served from {curves.border} tokens"
    yield f'<text x="{at}" y="{_HEIGHT - _BOTTOM - 8}" text-anchor="{anchor}">{told}</text>'


def _axes(frame: _Frame) -> Iterator[str]:
    floor = _HEIGHT - _BOTTOM
    yield f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{floor}" y2="{floor}"/>'
    yield f'<line class="axis" x1="{_LEFT}" x2="{_LEFT}" y1="{_TOP}" y2="{floor}"/>'
    for part in range(5):
        tokens, blocks = round(frame.tokens * part / 4), round(frame.blocks / 1.08 * part / 4)
        yield f'<text x="{frame.x(tokens)}" y="{floor + 18}" text-anchor="middle">{tokens}</text>'
        yield f'<text x="{_LEFT - 8}" y="{frame.y(blocks) + 4}" text-anchor="end">{blocks}</text>'
    yield f'<text x="{(_WIDTH + _LEFT) / 2}" y="{_HEIGHT - 12}" text-anchor="middle">tokens of the prompt</text>'


def _legend() -> Iterator[str]:
    for name, text, left in (
        ("demanded", "blocks that admission demands", 0),
        ("held", "the most that the request ever holds", 300),
    ):
        x = _LEFT + left
        yield f'<polyline class="{name}" points="{x},42 {x + 26},42"/><text x="{x + 34}" y="46">{text}</text>'
