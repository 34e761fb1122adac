"""Stand-ins for third-party packages: silent in declarations, loud on use.

A fork's module may name numpy, zmq or transformers in an import, an annotation, a base class or a default.
None of that needs the package. Deciding something from a stand-in (its truth, size, order, value) is an error,
because the answer would be invented.
"""

# ruff: noqa: ARG002 - a stand-in takes what the real one takes

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn


class StubUsedError(RuntimeError):
    """Raised when a fork decides something from a package that is not there."""


class StubBase:
    """The class that a stub turns into when a fork derives from it."""

    def __class_getitem__(cls, item: object) -> type[StubBase]:
        """Accept type arguments, as a generic base would."""
        return cls


class Touches:
    """Count the stubs that were called or asked at run time, by dotted name."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.declaring = 1

    def note(self, name: str) -> None:
        """Count one use, unless a declaration is being executed."""
        if not self.declaring:
            self.counts[name] += 1


class Stub:
    """A name of a package that is not installed; `children` are names that have a real value."""

    def __init__(self, name: str, touches: Touches, children: Mapping[str, object] | None = None) -> None:
        self.__dict__.update(_stub_name=name, _stub_touches=touches, **(children or {}))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        child = Stub(f"{self._stub_name}.{name}", self._stub_touches)
        self.__dict__[name] = child
        return child

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Answer with another stub; a call at run time is counted."""
        self._stub_touches.note(self._stub_name)
        return Stub(f"{self._stub_name}()", self._stub_touches)

    def __getitem__(self, item: object) -> Stub:
        return self

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return () if StubBase in bases else (StubBase,)

    def __or__(self, other: object) -> Any:
        return self

    __ror__ = __or__

    def __instancecheck__(self, instance: object) -> bool:
        """Answer no: without the package nothing is an instance of its classes."""
        return False

    __subclasscheck__ = __instancecheck__

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        """Compare by identity in a declaration, as `typing` does with its arguments; refuse at run time."""
        if not self._stub_touches.declaring:
            self._loud()
        return self is other

    def __repr__(self) -> str:
        return f"<stub {self._stub_name}>"

    def _loud(self, *operands: object) -> NoReturn:
        self._stub_touches.note(self._stub_name)
        raise StubUsedError(f"the fork uses the value of {self._stub_name}, which is only a stand-in here")

    __bool__ = __int__ = __index__ = __float__ = __len__ = __iter__ = __contains__ = _loud
    __lt__ = __le__ = __gt__ = __ge__ = _loud
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _loud
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _loud
