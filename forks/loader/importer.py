"""Answer a fork's imports: its own modules from its files, other packages by shim or stub.

The fork sees these through an `__import__` of its own. poolproof, in the same process, keeps the real packages.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from .lazy import LazyModule
from .patches import Patches
from .shim_importlib import private_importlib
from .shims import packages
from .statements import Statements
from .stubs import Stub, Touches

EAGER = (
    "v1.core",
    "v1.kv_cache_interface",
    "v1.kv_cache_spec_registry",
    "v1.kv_cache_layout",
    "v1.request",
    "v1.hisparse",
)


def is_eager(relative: str) -> bool:
    """Tell whether a module, named without the root package, belongs to the KV core and is run as it is."""
    return any(relative == e or relative.startswith(f"{e}.") for e in EAGER)


class ForkImporter(MetaPathFinder, Loader):
    """Find and run the modules of one fork, read from `root` under the package name `package`."""

    def __init__(self, root: Path, package: str, patches: Patches, touches: Touches) -> None:
        self.root = root
        self.package = package
        self.patches = patches
        self.touches = touches
        self.fixed: Mapping[str, Mapping[str, Callable[[], Any]]] = {}
        self.run: dict[str, str] = {}
        self.sources: dict[str, str] = {}
        self._packages = {**packages(touches), "importlib": private_importlib(self.import_name, package)}
        self._builtins = {**vars(builtins), "__import__": self.import_name}

    # -- the fork's view of `import` ---------------------------------------------------------------------------

    def import_name(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """Import as the builtin does, but never a real third-party package."""
        top = name.partition(".")[0]
        found = None if level else self._packages.get(top)
        if found is None and (level or top == self.package or top in sys.stdlib_module_names):
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        if found is None:
            found = self._packages[top] = Stub(top, self.touches)
        return found if not fromlist else self._leaf(found, name)

    def _leaf(self, package: Any, dotted: str) -> Any:
        for part in dotted.split(".")[1:]:
            package = getattr(package, part)
        return package

    # -- finder and loader -------------------------------------------------------------------------------------

    def find_spec(
        self,
        fullname: str,
        path: object = None,  # noqa: ARG002 - the import system's signature
        target: object = None,  # noqa: ARG002 - likewise
    ) -> ModuleSpec | None:
        """Find a module of the fork; every other name is left to the next finder."""
        if fullname != self.package and not fullname.startswith(f"{self.package}."):
            return None
        location = self.root.joinpath(*fullname.split("."))
        if location.is_dir():
            return spec_from_loader(fullname, self, origin=str(location / "__init__.py"), is_package=True)
        file = location.with_name(f"{location.name}.py")
        return spec_from_loader(fullname, self, origin=str(file)) if file.is_file() else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Make a lazy module, or let the import system make an ordinary one for the core."""
        return None if is_eager(self._relative(spec.name)) else LazyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run a core module as it is; give a lazy module its source."""
        relative, origin = self._relative(module.__name__), str(cast("ModuleSpec", module.__spec__).origin)
        text = self._source(Path(origin), relative)
        if isinstance(module, LazyModule):
            self.run[relative] = "lazy"
            module.prepare(Statements(text, origin), self.fixed.get(module.__name__, {}), self._builtins, self.touches)
        else:
            self.run[relative], self.sources[relative] = "eager", text
            module.__dict__["__builtins__"] = self._builtins
            code = compile(text, origin, "exec", dont_inherit=True)
            exec(code, module.__dict__)  # noqa: S102 - running the fork's own module is the point

    def _relative(self, fullname: str) -> str:
        return fullname.removeprefix(self.package).removeprefix(".")

    def _source(self, file: Path, relative: str) -> str:
        """Read a module. The root package is never run: importing it starts the whole engine."""
        if not relative or not file.is_file():
            return ""
        text = file.read_text(encoding="utf-8")
        return self.patches.apply(file.relative_to(self.root / self.package).as_posix(), text)
