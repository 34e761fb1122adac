"""Let foreign code write into its home only, and signal none but its own, where the kernel sees to that (Landlock)."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""The numbers of the system calls, the same on every architecture."""

_VERSION_ONLY = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
_SIGNAL = 1 << 1

_WRITE_FILE = 1 << 1
_REFER = 1 << 13
_TRUNCATE = 1 << 14
_REMOVE_AND_MAKE = sum(1 << right for right in range(4, 13))
_CUTTING_SHORT_SINCE, _SIGNALS_SINCE, _MOVING_SINCE = 3, 6, 2

ANYWHERE = "it can write wherever you can"
_CUT_SHORT = "it can cut files short wherever you can"
SIGNALS = "it can signal other processes"


class _Ruleset(ctypes.Structure):
    """What a ruleset takes charge of; an older kernel accepts what it does not know as zeros."""

    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    """What is allowed beneath a directory, or of a file."""

    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("place", ctypes.c_int32))


def confine(home: Path) -> tuple[str, ...]:
    """Give up, for this process and all that it starts, whatever is not needed; return what is not enforced."""
    version = _call(_CREATE_RULESET, None, 0, _VERSION_ONLY) if sys.platform.startswith("linux") else -1
    if version < 1:
        return ANYWHERE, SIGNALS
    if not _restrict(version, home):
        return ANYWHERE, SIGNALS
    untold = {_CUT_SHORT: _CUTTING_SHORT_SINCE, SIGNALS: _SIGNALS_SINCE}
    return tuple(what for what, since in untold.items() if version < since)


def _restrict(version: int, home: Path) -> bool:
    """Allow writing beneath home and to nowhere else; return whether that is in force."""
    rights = _rights(version)
    asked = _Ruleset(rights, 0, _SIGNAL if version >= _SIGNALS_SINCE else 0)
    ruleset = _call(_CREATE_RULESET, ctypes.byref(asked), ctypes.sizeof(asked), 0)
    if ruleset < 0:
        return False
    try:
        allowed = _allow(ruleset, home, rights) and _allow(ruleset, Path(os.devnull), _WRITE_FILE)
        privileges = ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return allowed and privileges == 0 and _call(_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _rights(version: int) -> int:
    """List the rights to change files that a kernel can take charge of."""
    moving = _REFER if version >= _MOVING_SINCE else 0
    cutting = _TRUNCATE if version >= _CUTTING_SHORT_SINCE else 0
    return _WRITE_FILE | _REMOVE_AND_MAKE | moving | cutting


def _allow(ruleset: int, path: Path, rights: int) -> bool:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _Beneath(rights, place)
        return _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0) == 0
    finally:
        os.close(place)


def _call(number: int, *arguments: object) -> int:
    words = [ctypes.c_ulong(word) if isinstance(word, int) else word for word in arguments]
    return int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *words))
