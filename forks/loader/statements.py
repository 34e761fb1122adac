"""Which top-level statements of a module bind which name, and how to execute only those."""

from __future__ import annotations
import __future__

import ast
import dis
from collections.abc import Iterator
from types import CodeType

_ANNOTATIONS = __future__.annotations.compiler_flag
_NAME_LOADS = {"LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_OPTIMIZED = 0x1


class Statements:
    """The top-level statements of one source text, indexed by the names that they bind."""

    def __init__(self, text: str, filename: str) -> None:
        tree = ast.parse(text, filename)
        self.filename = filename
        self.flags = _ANNOTATIONS if any(map(_postpones_annotations, tree.body)) else 0
        self.stars = [s for s in tree.body if isinstance(s, ast.ImportFrom) and s.names[0].name == "*"]
        self.binders: dict[str, list[ast.stmt]] = {}
        for statement in tree.body:
            for name in dict.fromkeys(bound_names(statement)):
                self.binders.setdefault(name, []).append(statement)

    def code_for(self, name: str) -> CodeType:
        """Compile exactly the statements that bind `name`, imports narrowed to that name."""
        body = [narrow(statement, name) for statement in self.binders[name]]
        return self._compile(body)

    def _compile(self, body: list[ast.stmt]) -> CodeType:
        module = ast.Module(body=body, type_ignores=[])
        code: CodeType = compile(module, self.filename, "exec", flags=self.flags, dont_inherit=True)
        return code


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds in its own scope, nested blocks included."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.For() | ast.With():
            yield from _stored(statement)
    for block in _blocks(statement):
        for inner in block:
            yield from bound_names(inner)


def narrow(statement: ast.stmt, name: str) -> ast.stmt:
    """Drop from an import, or from the branches of an `if`, what does not bind `name`.

    Other compound statements stay whole: in `try: import x; HAVE = True` the import decides HAVE.
    """
    if isinstance(statement, ast.Import):
        aliases = [a for a in statement.names if name == (a.asname or a.name.partition(".")[0])]
        return ast.copy_location(ast.Import(aliases), statement)
    if isinstance(statement, ast.ImportFrom):
        aliases = [a for a in statement.names if name == (a.asname or a.name)]
        return ast.copy_location(ast.ImportFrom(statement.module, aliases, statement.level), statement)
    if isinstance(statement, ast.If):
        body, orelse = _narrow_block(statement.body, name), _narrow_block(statement.orelse, name)
        passing: list[ast.stmt] = [ast.copy_location(ast.Pass(), statement)]
        return ast.copy_location(ast.If(statement.test, body or passing, orelse), statement)
    return statement


def class_body_names(code: CodeType) -> Iterator[str]:
    """Yield the names that the class bodies in `code` load: they bypass a namespace's `__missing__`."""
    for inner in code.co_consts:
        if not isinstance(inner, CodeType):
            continue
        if not inner.co_flags & _OPTIMIZED:
            yield from (str(i.argval) for i in dis.get_instructions(inner) if i.opname in _NAME_LOADS)
        yield from class_body_names(inner)


def _narrow_block(block: list[ast.stmt], name: str) -> list[ast.stmt]:
    return [narrow(s, name) for s in block if name in bound_names(s)]


def _stored(statement: ast.stmt) -> Iterator[str]:
    """Yield the plain names that the targets of an assignment, loop or `with` store."""
    for field in ("targets", "target", "items"):
        found = getattr(statement, field, [])
        for node in found if isinstance(found, list) else [found]:
            yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for field in ("body", "orelse", "finalbody"):
        yield getattr(statement, field, [])
    for handler in getattr(statement, "handlers", []):
        yield handler.body


def _postpones_annotations(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
