"""importlib as the fork sees it: no third-party package can be found, whatever this environment has installed."""

# ruff: noqa: ARG001 - a stand-in takes what the real one takes

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn


def private_importlib(importing: Callable[..., Any], package: str) -> ModuleType:
    """Make a copy of importlib whose lookups see the standard library and the fork only."""

    def ours(name: str) -> bool:
        return name.partition(".")[0] in sys.stdlib_module_names | {package}

    def import_module(name: str, package: str | None = None) -> Any:
        absolute = importlib.util.resolve_name(name, package) if name.startswith(".") else name
        return importlib.import_module(absolute) if ours(absolute) else importing(absolute, fromlist=("__name__",))

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return importlib.util.find_spec(name, package) if ours(name) else None

    util = _copy(importlib.util, find_spec=find_spec)
    metadata = _copy(importlib.metadata, version=_absent, distribution=_absent, entry_points=_no_entry_points)
    return _copy(importlib, import_module=import_module, util=util, metadata=metadata)


def _absent(name: str) -> NoReturn:
    raise importlib.metadata.PackageNotFoundError(name)


def _no_entry_points(**selection: str) -> tuple[()]:
    return ()


def _copy(module: ModuleType, **changed: object) -> ModuleType:
    copy = ModuleType(module.__name__)
    copy.__dict__.update(vars(module) | changed)
    return copy
