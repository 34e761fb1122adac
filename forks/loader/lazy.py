"""A module whose names come into being when somebody asks for them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from .statements import Statements, class_body_names
from .stubs import Touches


class Namespace(dict[str, Any]):
    """Globals of a lazy module: a name that is missing is bound by executing its statement."""

    bind: Callable[[str], Any]

    def __missing__(self, name: str) -> Any:
        return self.bind(name)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class LazyModule(ModuleType):
    """A module of a fork that executes only the statement binding the requested name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__dict__["_lazy_submodules"] = {}

    def prepare(
        self, statements: Statements, fixed: Mapping[str, Callable[[], Any]], builtins: dict[str, Any], touches: Touches
    ) -> None:
        """Attach the source; `fixed` names have a shim instead of their statement."""
        namespace = Namespace(__builtins__=builtins)
        namespace.update({k: v for k, v in self.__dict__.items() if k.startswith("__")})
        # Builtins that the module does not redefine: without them every `len` would pass through `__missing__`.
        namespace.update({k: v for k, v in builtins.items() if k not in statements.binders and not k.startswith("__")})
        namespace.bind = self._bind
        self.__dict__.update(
            _lazy_statements=statements,
            _lazy_fixed=fixed,
            _lazy_globals=namespace,
            _lazy_busy=set(),
            _lazy_absent=set(),
            _lazy_touches=touches,
        )

    def __getattr__(self, name: str) -> Any:
        namespace = self.__dict__.get("_lazy_globals")
        if namespace is None or (_is_special(name) and name not in self._lazy_statements.binders):
            if name == "__all__" and namespace is not None:
                return [n for n in self._lazy_statements.binders if not n.startswith("_")]  # `from module import *`
            raise AttributeError(name)
        try:
            return namespace[name]
        except KeyError:
            return self._fall_back(name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a name; a submodule set by the import system never hides a name that the source binds."""
        namespace = self.__dict__.get("_lazy_globals")
        if namespace is None or _is_special(name):
            super().__setattr__(name, value)
        elif isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}":
            self._lazy_submodules[name] = value
        else:
            namespace[name] = value

    def _bind(self, name: str) -> Any:
        """Execute what binds `name`; KeyError when nothing does, as a dict would say."""
        statements: Statements = self._lazy_statements
        if name in self._lazy_fixed:
            value = self._lazy_globals[name] = self._lazy_fixed[name]()
            return value
        if name not in statements.binders or name in self._lazy_busy or name in self._lazy_absent:
            raise KeyError(name)
        self._lazy_busy.add(name)
        try:
            self._execute(statements, name)
        finally:
            self._lazy_busy.discard(name)
        return self._bound(name)

    def _execute(self, statements: Statements, name: str) -> None:
        code = statements.code_for(name)
        namespace: Namespace = self._lazy_globals
        self._lazy_touches.declaring += 1
        try:
            for needed in set(class_body_names(code)) & statements.binders.keys():
                if needed not in namespace and needed not in self._lazy_busy:
                    self._bind(needed)
            exec(code, namespace)  # noqa: S102 - running the fork's own statement is the point
        finally:
            self._lazy_touches.declaring -= 1

    def _bound(self, name: str) -> Any:
        namespace = self._lazy_globals
        if name not in namespace:
            self._lazy_absent.add(name)  # bound in a branch that was not taken, such as `if TYPE_CHECKING`
            raise KeyError(name)
        value = namespace[name]
        if getattr(value, "__module__", "") in {"typing", "dataclasses"}:
            self.__dict__[name] = value  # dataclasses looks for ClassVar and InitVar in the module's own dict
        return value

    def _fall_back(self, name: str) -> Any:
        """Look at submodules, star imports and the module's own `__getattr__`, in that order."""
        if name in self._lazy_submodules:
            return self._lazy_submodules[name]
        statements: Statements = self._lazy_statements
        for star in statements.stars:
            found = getattr(self._import_star(star), name, None)
            if found is not None:
                self._lazy_globals[name] = found
                return found
        if name != "__getattr__" and "__getattr__" in statements.binders:
            return self._lazy_globals["__getattr__"](name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def _import_star(self, star: ast.ImportFrom) -> ModuleType:
        importing: Callable[..., ModuleType] = self._lazy_globals["__builtins__"]["__import__"]
        return importing(star.module or "", self._lazy_globals, None, ("__name__",), star.level)
