"""Whether yours does: find an implementation, load it without its dependencies, drive it."""

from .boot import Boot
from .engine import ForkEngine
from .findings import Findings
from .implementation import ForkRaisedError, Implementation, Limits, TimedOutError, WorkerDiedError
from .loader import SHIMS, Core, load_core
from .prove import PROPERTIES, prove_implementation, prove_running
from .source import IndexUnreachableError, Source, resolve

__all__ = [
    "PROPERTIES",
    "SHIMS",
    "Boot",
    "Core",
    "Findings",
    "ForkEngine",
    "ForkRaisedError",
    "Implementation",
    "IndexUnreachableError",
    "Limits",
    "Source",
    "TimedOutError",
    "WorkerDiedError",
    "load_core",
    "prove_implementation",
    "prove_running",
    "resolve",
]
