"""Code that asks something of a number which no stand-in for a number can answer: found by reading, not by running.

A symbolic integer answers arithmetic and comparisons. Whether a truth value *is* `True`, which type a number has, or
whether it is a member of a set of known numbers, Python decides by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from .loader import Core


def blind_spots(core: Core) -> tuple[str, ...]:
    """List such places in the modules that are executed on symbolic integers."""
    return tuple(f"{module}:{line} ({what})" for module, source in core.sources.items() for line, what in spots(source))


def spots(source: str) -> Iterator[tuple[int, str]]:
    """List the lines of a source that ask such a thing, and what it is.

    A truth value is taken for one of numbers where it is a comparison, or a name that is given one.
    """
    tree = ast.parse(source)
    compared = _names_of_comparisons(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield from ((node.lineno, what) for what in _asked(node, compared))


def _names_of_comparisons(tree: ast.AST) -> set[str]:
    given = (node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr))
    named = ((node.targets if isinstance(node, ast.Assign) else [node.target], node.value) for node in given)
    return {
        target.id
        for targets, value in named
        for target in targets
        if isinstance(target, ast.Name) and isinstance(value, ast.Compare | ast.BoolOp)
    }


def _asked(node: ast.Compare, compared: Collection[str]) -> Iterator[str]:
    left = node.left
    numbers = isinstance(left, ast.Compare | ast.BoolOp) or (isinstance(left, ast.Name) and left.id in compared)
    for operator, right in zip(node.ops, node.comparators, strict=True):
        if numbers and isinstance(operator, ast.Is | ast.IsNot) and _is_truth(right):
            yield "a truth value by identity"
        if isinstance(right, ast.Name) and right.id == "int" and _is_call_of(left, "type"):
            yield "the type of a number"
        if isinstance(operator, ast.In | ast.NotIn) and isinstance(right, ast.Set | ast.Dict) and _has_numbers(right):
            yield "a member among known numbers"


def _is_truth(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def _is_call_of(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _has_numbers(node: ast.Set | ast.Dict) -> bool:
    members = node.elts if isinstance(node, ast.Set) else node.keys
    return any(isinstance(member, ast.Constant) and isinstance(member.value, int) for member in members)
