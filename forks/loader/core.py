"""Load the KV core of a fork into this process."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .importer import ForkImporter
from .patches import PatchError, Patches
from .shim_fork import Logger
from .shims import fork_names
from .stubs import Touches

CORE = (
    "v1.kv_cache_interface",
    "v1.request",
    "v1.core.kv_cache_utils",
    "v1.core.kv_cache_manager",
    "v1.core.sched.scheduler",
    "v1.core.sched.async_scheduler",
)


class Core:
    """A loaded fork: its modules by name without the root package, and a record of how they were loaded."""

    def __init__(self, importer: ForkImporter, logger: Logger) -> None:
        self._importer = importer
        self.package = importer.package
        self.logger = logger

    def module(self, relative: str) -> Any:
        """Import a module of the fork, for example `v1.core.kv_cache_utils`."""
        return importlib.import_module(f"{self.package}.{relative}")

    def find(self, *candidates: str) -> Any:
        """Return the first of `module:name` that exists, else None: releases move functions between modules."""
        for candidate in candidates:
            relative, _, name = candidate.partition(":")
            if not self.has_module(relative):
                continue
            found = getattr(self.module(relative), name, None)
            if found is not None:
                return found
        return None

    def has_module(self, relative: str) -> bool:
        """Tell whether the fork has such a module."""
        return self._importer.find_spec(f"{self.package}.{relative}") is not None

    def torch_dtype(self, name: str) -> Any:
        """Return the element type that the fork sees under this name."""
        return getattr(self._importer.import_name("torch"), name)

    @property
    def stubs_touched(self) -> Mapping[str, int]:
        """Count, by name, the stubs that were used at run time."""
        return dict(sorted(self._importer.touches.counts.items()))

    @property
    def modules_run(self) -> Mapping[str, str]:
        """Tell for each module of the fork that was read whether it was run `eager` or `lazy`."""
        return dict(sorted(self._importer.run.items()))

    @property
    def sources(self) -> Mapping[str, str]:
        """Return the source of each module that was run as a whole, as it was run."""
        return dict(sorted(self._importer.sources.items()))

    def unapplied(self) -> tuple[str, ...]:
        """Name the files of patches that did not take effect."""
        return tuple(p.file for p in self._importer.patches.unapplied())


def load_core(root: Path, package: str, patches: Patches | None = None) -> Core:
    """Load the fork's KV core from `root/package`, once per process.

    Raises whatever the fork's modules raise while they are imported, and PatchError for a patch without effect.
    """
    touches, logger = Touches(), Logger()
    importer = ForkImporter(root, package, patches or Patches(), touches)
    core = Core(importer, logger)
    importer.fixed = fork_names(package, core.module, logger)
    sys.meta_path.insert(0, importer)
    for relative in CORE:
        core.module(relative)
    touches.declaring = 0
    if core.unapplied():
        raise PatchError(f"patches of files that are not part of the core: {', '.join(core.unapplied())}")
    return core
