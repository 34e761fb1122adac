"""Change a fork's source as it is loaded; the files stay as they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


class PatchError(ValueError):
    """Raised when a patch does not apply exactly once."""


@dataclass(frozen=True)
class Patch:
    """Replace `old` by `new` in `file` (its path within the root package); `old` must occur exactly once."""

    file: str
    old: str
    new: str

    def apply(self, text: str) -> str:
        """Return the changed text."""
        found = text.count(self.old)
        if found != 1:
            raise PatchError(f"{self.file}: the text to replace occurs {found} times, not once: {self.old!r}")
        return text.replace(self.old, self.new)


@dataclass
class Patches:
    """All patches of one load, and which of them were applied."""

    patches: tuple[Patch, ...] = ()
    applied: set[Patch] = field(default_factory=set)

    def apply(self, file: str, text: str) -> str:
        """Apply every patch of one file, in order."""
        for patch in self.patches:
            if patch.file == file:
                text = patch.apply(text)
                self.applied.add(patch)
        return text

    def unapplied(self) -> tuple[Patch, ...]:
        """Return the patches whose file was never loaded: such a mutant tests nothing."""
        return tuple(p for p in self.patches if p not in self.applied)


def patches_from(items: Iterable[tuple[str, str, str]]) -> Patches:
    """Make patches from plain triples (file, old, new), as they arrive in a message."""
    return Patches(tuple(Patch(*item) for item in items))
