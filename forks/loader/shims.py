"""The trusted base: every name that is answered by poolproof instead of by the fork or by a real package.

`SHIMS` is the whole list, so that it can be printed with a verdict. A shim is either a third-party package
(or one name in it), or one name in a module of the fork.
"""

# ruff: noqa: ARG001, ARG005 - a stand-in takes what the real one takes

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import shim_msgspec, shim_pydantic, shim_torch
from .shim_fork import Logger, NoMultiModal, SilentScope
from .stubs import Stub, Touches


@dataclass(frozen=True)
class Shim:
    """One replaced name: `where` it is, and `why` the real one is not needed."""

    where: str
    why: str


SHIMS: tuple[Shim, ...] = (
    Shim("torch", "dtypes and their sizes; every other name of torch is a stub"),
    Shim("msgspec", "Struct and field as plain classes; no encoding"),
    Shim("pydantic", "dataclass and Field over the standard library; no validation"),
    Shim("typing_extensions", "names of typing; decorators that return their argument"),
    Shim("regex", "the standard library's re"),
    Shim("importlib", "finds the standard library and the fork only, whatever is installed here"),
    Shim("<root>.logger:init_logger", "keeps the last messages; prints nothing"),
    Shim("<root>.multimodal:MULTIMODAL_REGISTRY", "answers that the model has no other modality"),
    Shim("<root>.platforms:current_platform", "the fork's own Platform base class, so that no device is looked for"),
    Shim("<root>.v1.utils:record_function_or_nullcontext", "profiling scopes do nothing"),
)


def packages(touches: Touches) -> dict[str, object]:
    """Make the third-party packages that have a shim, by top-level name."""
    return {
        "torch": Stub("torch", touches, shim_torch.names()),
        "msgspec": Stub("msgspec", touches, shim_msgspec.names()),
        "pydantic": Stub("pydantic", touches, shim_pydantic.names(touches)),
        "typing_extensions": Stub("typing_extensions", touches, _typing_names()),
        "regex": re,
    }


def fork_names(root: str, fork: Callable[[str], Any], logger: Logger) -> dict[str, dict[str, Callable[[], Any]]]:
    """Make the shims for names of the fork: module -> name -> factory. `fork` imports a module of the fork."""
    return {
        f"{root}.logger": {"init_logger": lambda: lambda name: logger},
        f"{root}.multimodal": {"MULTIMODAL_REGISTRY": NoMultiModal},
        f"{root}.platforms": {"current_platform": lambda: fork("platforms.interface").UnspecifiedPlatform()},
        f"{root}.v1.utils": {"record_function_or_nullcontext": lambda: SilentScope},
    }


def _identity(value: Any) -> Any:
    return value


def _deprecated(*args: object, **kwargs: object) -> Callable[[Any], Any]:
    return _identity


def _type_var(name: str, *constraints: Any, **options: Any) -> Any:
    """Make a type variable; its default is dropped, which typing knows from Python 3.13 on."""
    options.pop("default", None)
    return typing.TypeVar(name, *constraints, **options)


def _typing_names() -> dict[str, object]:
    names: dict[str, object] = {n: getattr(typing, n) for n in typing.__all__}
    names["TypeVar"] = _type_var
    names |= {"deprecated": _deprecated, "override": _identity, "TypeIs": typing.TypeGuard}
    return names | {"TypeAliasType": getattr(typing, "TypeAliasType", types.SimpleNamespace)}
