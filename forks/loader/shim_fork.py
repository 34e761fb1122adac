"""Names of the fork itself that are replaced: logging, other modalities, profiling scopes."""

# ruff: noqa: ARG002, ARG005 - a stand-in takes what the real one takes

from __future__ import annotations

from collections import deque
from typing import Any, Literal


class Logger:
    """Keep the last messages of the fork, formatted; print nothing."""

    def __init__(self, kept: int = 200) -> None:
        self.messages: deque[str] = deque(maxlen=kept)

    def __getattr__(self, level: str) -> Any:
        if level.startswith("__"):
            raise AttributeError(level)
        return lambda *args, **kwargs: self._keep(level, args)

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - the name that logging gives it
        """Answer no, so that the fork does not prepare what nobody reads."""
        return False

    def _keep(self, level: str, args: tuple[Any, ...]) -> None:
        """Format as logging does; a message that cannot be formatted is kept as it came."""
        if not args or level == "debug":
            return
        text, *values = args
        try:
            formatted = text % tuple(values) if values else str(text)
        except (TypeError, ValueError):
            formatted = f"{text} {values!r}"
        self.messages.append(f"{level}: {formatted}")


class NoMultiModal:
    """A registry of modalities for a model that has none."""

    def supports_multimodal_inputs(self, *args: object, **kwargs: object) -> bool:
        """Answer no."""
        return False


class SilentScope:
    """A profiling scope that costs two calls and measures nothing."""

    def __init__(self, *args: object) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> Literal[False]:
        return False
