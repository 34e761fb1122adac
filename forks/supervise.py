"""End every descendant of foreign code together with it.

The process that poolproof starts forks at once. The child runs the fork; the parent waits for it, or for poolproof
to close the lifeline, and then kills whatever is left: on Linux it is the sub-reaper, so that a process which
detached itself (a double fork, a session of its own) comes back to it as a child.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000

UNENFORCED_ELSEWHERE = (
    "detached descendants may outlive it",
    "it can reach the network",
    "its memory is not limited",
)
"""What is not enforced on systems other than Linux, beside what `confine` tells of its own."""


def main(channel: int, lifeline: int) -> None:
    """Split into supervisor and worker; return in neither."""
    linux = sys.platform.startswith("linux")
    unenforced = _isolate() if linux else UNENFORCED_ELSEWHERE
    worker = os.fork()
    if worker == 0:
        os.close(lifeline)
        _work(channel, linux, unenforced)
    os.close(channel)
    status = _wait(worker, lifeline)
    _end_descendants(linux)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF if status is not None else 1)


def _isolate() -> tuple[str, ...]:
    """Become sub-reaper and leave the network; return what the system does not allow."""
    libc = ctypes.CDLL(None, use_errno=True)
    reaper = libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    network = libc.unshare(_CLONE_NEWNET) and libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    refused = {"detached descendants may outlive it": reaper, "it can reach the network": network}
    return tuple(what for what, failed in refused.items() if failed)


def _work(channel: int, linux: bool, unenforced: tuple[str, ...]) -> None:
    """Run the worker and exit with what it deserves."""
    if linux:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    code = 1
    try:
        from .confinement import confine
        from .worker import serve

        serve(channel, (*unenforced, *confine(Path(os.environ["HOME"]))))
        code = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(worker: int, lifeline: int) -> int | None:
    """Wait for the worker to end, or for poolproof to close the lifeline; None means that the worker still runs."""
    ended, alarm = os.pipe()
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        pid, status = os.waitpid(worker, os.WNOHANG)
        if pid:
            return status
        ready, _, _ = select.select([lifeline, ended], [], [])
        if lifeline in ready:
            return None
        os.read(ended, 512)


def _end_descendants(linux: bool) -> None:
    """Kill children, and the children that come back through their death, until none is left."""
    if not linux:
        os.killpg(os.getpgid(0), signal.SIGKILL)
    while children := _children():
        for pid in children:
            _kill(pid)
        _reap()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended by itself in the meantime


def _reap() -> None:
    """Collect one ended child, and then all others that have ended."""
    try:
        os.waitpid(-1, 0)
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return  # no child is left


def _children() -> set[int]:
    """Find the children of this process, those that were handed to it included."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we looked
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.add(int(stat.parent.name))
    return found
