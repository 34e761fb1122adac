"""The process that runs foreign code: it answers messages on a private descriptor until that is closed.

Run as `python -P -s -B -c "..."` by `implementation.py`, under the supervision of `supervise.py`.
"""

from __future__ import annotations

import resource
import socket
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..spec.errors import InconclusiveError, PoolproofError, UnsupportedError, UsageError
from .config import StandInAskedError
from .driver import Driver
from .loader import StubUsedError, load_core
from .loader.patches import patches_from
from .wire import ClosedError, receive, send


def serve(descriptor: int, unenforced: tuple[str, ...]) -> None:
    """Load the fork named in the first message, then answer one message after the other.

    `unenforced` tells what the system does not restrict; it goes back with the first answer.
    """
    with socket.socket(fileno=descriptor) as channel:
        request = receive(channel)
        _limit(request["limits"])
        answer, driver = _guarded(lambda: _load(request))
        send(channel, answer or {"ok": {"unenforced": unenforced}})
        if driver is not None:
            _answer_all(channel, driver)


def _answer_all(channel: socket.socket, driver: Driver) -> None:
    while True:
        try:
            request = receive(channel)
        except ClosedError:
            return
        answer, value = _guarded(lambda: _call(driver, request))  # noqa: B023
        send(channel, answer or {"ok": value})


def _call(driver: Driver, request: Mapping[str, Any]) -> Any:
    return getattr(driver, request["method"])(*request["arguments"], **request["options"])


def _load(request: Mapping[str, Any]) -> Driver:
    """Load the fork.

    Raises:
        UnsupportedError: Its modules cannot be imported in this way; the reason is theirs.
    """
    try:
        core = load_core(Path(request["root"]), request["package"], patches_from(request["patches"]))
    except (StubUsedError, StandInAskedError, PoolproofError):
        raise
    except Exception as error:
        raise UnsupportedError(f"the KV core does not load: {_where(error)}") from error
    return Driver(core, request["runner"])


def _guarded(work: Any) -> tuple[dict[str, Any] | None, Any]:
    """Do the work; an error becomes data: its kind, its text, and where it was raised."""
    try:
        return None, work()
    except UsageError as error:
        return _error(
            "usage", error, field=error.field, value=str(error.value), reason=error.reason, hint=error.hint
        ), None
    except (UnsupportedError, StubUsedError, StandInAskedError) as error:
        return _error("unsupported", error, what=str(error).removeprefix("unsupported: ")), None
    except InconclusiveError as error:
        return _error("inconclusive", error), None
    except Exception as error:  # noqa: BLE001 - whatever foreign code raises crosses the boundary as data
        return _error("raised", error, text=_where(error)), None


def _error(kind: str, error: BaseException, **details: str) -> dict[str, Any]:
    trace = "".join(traceback.format_exception(error))
    return {"error": kind, "text": str(error), "trace": trace, **details}


def _where(error: BaseException) -> str:
    """Name an error with the last place it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def _limit(limits: Mapping[str, int]) -> None:
    """Limit memory, file size and core dumps; macOS does not enforce the first."""
    sys.setrecursionlimit(10_000)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"], limits["file_bytes"]))
    if sys.platform != "darwin":
        resource.setrlimit(resource.RLIMIT_AS, (limits["memory_bytes"], limits["memory_bytes"]))
