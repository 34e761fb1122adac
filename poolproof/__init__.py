"""Prove that a paged KV-cache pool sized at boot covers what admission requires, and check real engines against it.

Five names are enough to begin with: `Deployment` and `Group` say what an operator sets, `never_admitted` names the
prompts that wait for ever, `explore` visits every state of a small engine, and `Implementation` runs a real one.
Each is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .forks import Implementation
    from .oracle.explore import explore
    from .spec import Deployment, Group, never_admitted

__all__ = ["Deployment", "Group", "Implementation", "explore", "never_admitted"]

_HOMES = {
    "Deployment": ".spec",
    "Group": ".spec",
    "Implementation": ".forks",
    "explore": ".oracle.explore",
    "never_admitted": ".spec",
}


def __getattr__(name: str) -> Any:
    """Load a name from its room when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
