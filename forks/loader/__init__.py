"""Load the KV core of an engine unmodified, without its dependencies."""

from .core import Core, load_core
from .patches import Patch, PatchError, Patches
from .shims import SHIMS, Shim
from .stubs import StubUsedError

__all__ = ["SHIMS", "Core", "Patch", "PatchError", "Patches", "Shim", "StubUsedError", "load_core"]
