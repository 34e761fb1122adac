"""Where a formula is written down: the functions of `spec` that take part in computing it, found by computing it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from functools import partial, reduce
from inspect import getdoc, getsource
from textwrap import dedent
from types import FrameType
from typing import Any, TypeAlias, cast

from .theorem import Theorem

Function: TypeAlias = Callable[..., object]

_SPEC = f"{__name__.rpartition('.')[0].rpartition('.')[0]}.spec"
_PLAIN = (f"{_SPEC}.arithmetic", f"{_SPEC}.deployment", f"{_SPEC}.design")
"""Arithmetic needs no explanation, and descriptions compute nothing of their own."""


def definitions(theorem: Theorem) -> tuple[str, ...]:
    """Show what the claim compares: each number's functions, in the words and in the code of `spec`."""
    lines: list[str] = []
    seen: set[Function] = set()
    for title, compute in _computations(theorem):
        functions = [function for function in computed_by(compute) if function not in seen]
        seen.update(functions)
        lines += [title] if functions else []
        lines += [line for function in functions for line in _definition(function)]
    return tuple(lines)


def _computations(theorem: Theorem) -> Iterator[tuple[str, Callable[[], object]]]:
    """List the numbers that a claim compares, and then all of it."""
    at = theorem.symbols()
    for shown in theorem.claim.shown:
        yield f"{shown.name} ({shown.unit})", partial(shown.of, at)
    yield theorem.claim.text, partial(theorem.claim.holds, at)


def computed_by(compute: Callable[[], object]) -> list[Function]:
    """List the functions of `spec` that a computation calls, in the order of their first call."""
    codes: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            codes.setdefault((frame.f_globals.get("__name__", ""), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        compute()
    finally:
        sys.setprofile(before)
    return [_function(module, name) for module, name in codes if _explains(module, name)]


def _explains(module: str, name: str) -> bool:
    """Tell whether a function is one to read: a formula with a name."""
    written = module.startswith(f"{_SPEC}.") and module not in _PLAIN
    return written and "<" not in name


def _function(module: str, name: str) -> Function:
    found: Any = reduce(getattr, name.split("."), sys.modules[module])
    return cast("Function", found.fget if isinstance(found, property) else found)


def _definition(function: Function) -> Iterator[str]:
    """Give a function as one line of words, and its body."""
    (node,) = ast.parse(dedent(getsource(function))).body
    if isinstance(node, ast.FunctionDef):
        words = (getdoc(function) or "").partition("\n")[0]
        parameters = ", ".join(each.arg for each in node.args.args if each.arg != "self")
        yield f"  {function.__qualname__}({parameters}): {words}"
        body = node.body[1:] if ast.get_docstring(node) else node.body
        yield from (f"      {line}" for part in body for line in ast.unparse(part).splitlines())
