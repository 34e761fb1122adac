"""Call a fork's functions by what their signatures ask for, never by what version they come from."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..spec.errors import UnsupportedError

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@functools.cache
def parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the named parameters of a function, or of a class's constructor over its whole MRO.

    A subclass whose constructor takes `*args, **kwargs` hands on what its bases take.
    """
    if not inspect.isclass(function):
        return _named(inspect.signature(function))
    found: dict[str, inspect.Parameter] = {}
    for base in function.__mro__:
        if "__init__" not in vars(base):
            continue
        signature = inspect.signature(vars(base)["__init__"])
        found = {**_named(signature), **found}
        if not any(p.kind in _VARIADIC for p in signature.parameters.values()):
            break
    found.pop("self", None)
    return found


def call(function: Callable[..., Any], offered: Mapping[str, Any]) -> Any:
    """Call a function with those of the offered arguments that it takes.

    Raises:
        UnsupportedError: It requires an argument that is not offered: what to pass would be a guess.
    """
    taken = parameters(function)
    missing = [n for n, p in taken.items() if p.default is inspect.Parameter.empty and n not in offered]
    if missing:
        raise UnsupportedError(f"{_name(function)} requires {', '.join(missing)}, which poolproof does not know")
    return function(**{n: v for n, v in offered.items() if n in taken})


def accepts(function: Callable[..., Any] | None, name: str) -> bool:
    """Tell whether a function takes a parameter of that name."""
    return function is not None and name in parameters(function)


def bare(cls: type, given: Mapping[str, Any] | None = None) -> Any:
    """Make a dataclass instance with the fork's own defaults, without its `__init__` and `__post_init__`.

    A required field stays unset, so that reading it is an error rather than an invention.

    Raises:
        UnsupportedError: A given field does not exist.
    """
    instance: Any = object.__new__(cls)
    fields = {f.name: f for f in dataclasses.fields(cls)}
    unknown = sorted((given or {}).keys() - fields.keys())
    if unknown:
        raise UnsupportedError(f"{cls.__name__} has no field {', '.join(unknown)}")
    for name, field in fields.items():
        if name in (given or {}):
            object.__setattr__(instance, name, (given or {})[name])
        else:
            _set_default(instance, field)
    return instance


def has_field(cls: type, name: str) -> bool:
    """Tell whether a dataclass declares a field."""
    return any(f.name == name for f in dataclasses.fields(cls))


def _set_default(instance: Any, field: dataclasses.Field[Any]) -> None:
    if field.default is not dataclasses.MISSING:
        object.__setattr__(instance, field.name, field.default)
    elif field.default_factory is not dataclasses.MISSING:
        object.__setattr__(instance, field.name, _made_by(field.default_factory))


def _made_by(factory: Callable[[], Any]) -> Any:
    """Make a default; a configuration class (or its `default_factory`) is made bare, like its owner."""
    owner = getattr(factory, "__self__", factory)
    if inspect.isclass(owner) and dataclasses.is_dataclass(owner):
        return bare(owner)
    return factory()


def _named(signature: inspect.Signature) -> dict[str, inspect.Parameter]:
    return {n: p for n, p in signature.parameters.items() if p.kind not in _VARIADIC}


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))
