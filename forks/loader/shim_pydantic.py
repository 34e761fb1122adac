"""pydantic reduced to dataclasses with defaults: nothing is validated, validators are kept as plain functions."""

# ruff: noqa: ARG001 - a stand-in takes what the real one takes

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from .stubs import Stub, Touches

_MISSING = dataclasses.MISSING


def pydantic_field(
    default: Any = _MISSING, *, default_factory: Any = _MISSING, init: bool = True, **rules: object
) -> Any:
    """Make a dataclass field; bounds and descriptions are dropped."""
    if default is not _MISSING and default is not ...:
        return _with_default(default, init)
    if default_factory is not _MISSING and default_factory is not None:
        return dataclasses.field(default_factory=default_factory, init=init)
    return dataclasses.field(init=init, kw_only=True)  # keyword only: pydantic allows it after fields with defaults


def _with_default(default: Any, init: bool) -> Any:
    if isinstance(default, list | dict | set):
        return dataclasses.field(default_factory=default.copy, init=init)
    return dataclasses.field(default=default, init=init)


def pydantic_dataclass(cls: type | None = None, *, config: object = None, **options: Any) -> Any:
    """Make a standard dataclass, with or without arguments to the decorator."""
    known = {"init", "repr", "eq", "order", "frozen", "kw_only", "slots"}
    kept = {k: v for k, v in options.items() if k in known}
    decorate = dataclasses.dataclass(**kept)
    return decorate if cls is None else decorate(cls)


def decorator_factory(*args: object, **kwargs: object) -> Callable[[Any], Any]:
    """Stand for a validator decorator: the function stays as it is and is never called by itself."""
    return lambda function: function


class SkipValidation:
    """`SkipValidation[int]` is `int`."""

    def __class_getitem__(cls, item: Any) -> Any:
        return item


def names(touches: Touches) -> dict[str, object]:
    """Return the names of pydantic that have a real value."""
    validators = ("field_validator", "model_validator", "field_serializer", "model_serializer", "computed_field")
    dataclass_module = Stub("pydantic.dataclasses", touches, {"dataclass": pydantic_dataclass})
    fields_module = Stub("pydantic.fields", touches, {"Field": pydantic_field})
    return {
        "Field": pydantic_field,
        "ConfigDict": dict,
        "SkipValidation": SkipValidation,
        "dataclasses": dataclass_module,
        "fields": fields_module,
        **dict.fromkeys(validators, decorator_factory),
    }
