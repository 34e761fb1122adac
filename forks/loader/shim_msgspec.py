"""msgspec reduced to `Struct` and `field`: plain classes with an `__init__` made from annotations."""

# ruff: noqa: ARG001 - a stand-in takes what the real one takes

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable
from typing import Any, ClassVar

_MISSING = object()


class _Field:
    def __init__(self, default: Any, factory: Callable[[], Any] | None) -> None:
        self.default = default
        self.factory = factory


def field(*, default: Any = _MISSING, default_factory: Callable[[], Any] | None = None, name: str | None = None) -> Any:
    """Describe a field by its default or by the factory of its default."""
    return _Field(default, default_factory)


class Struct:
    """A record with keyword or positional construction; options of the class statement are accepted and ignored."""

    __struct_fields__: ClassVar[tuple[str, ...]] = ()
    __struct_defaults__: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__()
        own = [n for n, hint in annotations_of(cls).items() if "ClassVar" not in str(hint)]
        inherited = tuple(n for n in cls.__struct_fields__ if n not in own)
        cls.__struct_fields__ = (*inherited, *own)
        cls.__struct_defaults__ = cls.__struct_defaults__ | {n: cls.__dict__[n] for n in own if n in cls.__dict__}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(self.__struct_fields__, args, strict=False)) | kwargs
        unknown = given.keys() - set(self.__struct_fields__)
        if unknown or len(args) > len(self.__struct_fields__):
            raise TypeError(f"{type(self).__name__} has no field {sorted(unknown)}")
        for name in self.__struct_fields__:
            setattr(self, name, given[name] if name in given else self._default(name))
        post_init = getattr(self, "__post_init__", None)
        if post_init is not None:
            post_init()

    def _default(self, name: str) -> Any:
        if name not in self.__struct_defaults__:
            raise TypeError(f"{type(self).__name__} is missing the required field {name!r}")
        default = self.__struct_defaults__[name]
        if isinstance(default, _Field):
            return default.factory() if default.factory is not None else default.default
        return copy.copy(default) if isinstance(default, list | dict | set) else default

    def __repr__(self) -> str:
        fields = ", ".join(f"{n}={getattr(self, n)!r}" for n in self.__struct_fields__)
        return f"{type(self).__name__}({fields})"


def annotations_of(cls: type) -> dict[str, Any]:
    """Return the annotations that a class itself declares, unevaluated names included."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(cls)


def names() -> dict[str, object]:
    """Return the names of msgspec that have a real value."""
    return {"Struct": Struct, "field": field, "UNSET": None, "UnsetType": type(None)}
