"""Foreign code may print, crash, hang or leave processes behind: it is told, and nothing is left."""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from poolproof.forks import ForkRaisedError, Implementation, Limits, TimedOutError, WorkerDiedError, confinement
from poolproof.forks.confinement import ANYWHERE, SIGNALS
from poolproof.oracle.engine import Submission
from poolproof.oracle.lone import Fate
from poolproof.spec.attention import FullAttention
from poolproof.spec.deployment import Deployment, Group
from poolproof.spec.errors import UnsupportedError, UsageError

from .conftest import released, scenario

Toy = Callable[..., Path]

DEPLOYMENT = Deployment(groups=(Group(FullAttention(4)),), max_model_len=64, max_num_batched_tokens=16, blocks=40)
SCENARIO = scenario(DEPLOYMENT, Submission("a", 8, 2))
SCHEDULE = ("v1/core/sched/scheduler.py", "    def schedule(self) -> SchedulerOutput:\n")


def patched(body: str, limits: Limits | None = None) -> Implementation:
    """Load 0.11.0 with a statement at the start of its `schedule`."""
    file, signature = SCHEDULE
    patch = (file, signature, f"{signature}        {body}\n")
    return Implementation(released("0.11.0"), patches=[patch], limits=limits)


def imported(toy: Toy, text: str, limits: Limits | None = None) -> Implementation:
    """Load a toy that runs some code when its core is imported."""
    return Implementation(str(toy({"v1/request.py": f"{text}\nclass Request: pass\n"})), limits=limits)


# -- a scenario that goes wrong is a result ---------------------------------------------------------------------------


@pytest.mark.network
@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("raise RuntimeError('no blocks')", "RuntimeError: no blocks"),
        ("import os; os._exit(3)", r"its process ended \(3\)"),
        ("import os; os.abort()", "its process ended by signal SIGABRT"),
        ("import os; print('last words'); import sys; sys.stdout.flush(); os._exit(4)", "ended .4.: last words"),
    ],
)
def test_a_crash_in_a_scenario_is_its_outcome(body: str, error: str) -> None:
    with patched(body) as implementation:
        outcome = implementation.run(SCENARIO)
    assert outcome.fate is Fate.FAILED
    assert outcome.error is not None
    assert re.search(error, outcome.error)


@pytest.mark.network
def test_a_hang_is_ended_and_the_next_question_is_answered() -> None:
    with patched("\n        while True: pass", Limits(seconds=3)) as implementation:
        with pytest.raises(TimedOutError, match="no answer within 3 s"):
            implementation.run(SCENARIO)
        assert implementation.smallest_pool(DEPLOYMENT) == 16


@pytest.mark.network
def test_memory_is_limited() -> None:
    limits = Limits(memory_bytes=1 << 30)
    if sys.platform == "darwin":
        limits = Limits(memory_bytes=1 << 62)
    with patched("bytearray(2 << 30)", limits) as implementation:
        outcome = implementation.run(SCENARIO)
    assert outcome.error == ("MemoryError: " if sys.platform != "darwin" else None)


# -- loading ---------------------------------------------------------------------------------------------------------


def test_what_it_prints_is_captured(toy: Toy, capfd: pytest.CaptureFixture[str]) -> None:
    with imported(toy, "print('hello')\nimport os\nos.write(2, b'raw')") as implementation:
        assert implementation.call("poolproof.forks.findings:gate") == "none"
        assert "raw" in implementation.printed
    assert capfd.readouterr() == ("", "")


def test_a_fork_that_does_not_load_is_unsupported_with_the_reason(toy: Toy) -> None:
    with (
        pytest.raises(UnsupportedError, match=r"does not load: RuntimeError: broken \(request.py:1\)"),
        imported(toy, "raise RuntimeError('broken')"),
    ):
        pass


def test_a_fork_that_decides_from_a_stand_in_is_unsupported(toy: Toy) -> None:
    with pytest.raises(UnsupportedError, match=r"numpy\.zeros"), imported(toy, "import numpy\nif numpy.zeros(3): pass"):
        pass


def test_a_fork_that_dies_while_loading(toy: Toy) -> None:
    with pytest.raises(WorkerDiedError, match="its process ended"), imported(toy, "import os; os._exit(5)"):
        pass


def test_an_unknown_required_parameter_is_unsupported(toy: Toy) -> None:
    source = (
        "class FullAttentionSpec:\n    def __init__(self, block_size, mystery): pass\nclass SlidingWindowSpec: pass\n"
    )
    files = {"v1/kv_cache_interface.py": source, "config.py": "from dataclasses import dataclass\n" + CONFIG}
    with Implementation(str(toy(files))) as implementation, pytest.raises(UnsupportedError, match="mystery"):
        implementation.boot(DEPLOYMENT)


CONFIG = """
from dataclasses import field
@dataclass
class Sched:
    max_num_batched_tokens: int = 1
    max_num_seqs: int = 1
    async_scheduling: bool = False
    policy: str = "fcfs"
    enable_chunked_prefill: bool = True
@dataclass
class Cache:
    block_size: int = 1
    enable_prefix_caching: bool = False
    num_gpu_blocks: int = 0
@dataclass
class Parallel:
    decode_context_parallel_size: int = 1
@dataclass
class VllmConfig:
    model_config: object = None
    scheduler_config: Sched = field(default_factory=Sched)
    cache_config: Cache = field(default_factory=Cache)
    parallel_config: Parallel = field(default_factory=Parallel)
    observability_config: object = 1
"""


def test_only_functions_of_poolproof_are_called(toy: Toy) -> None:
    with imported(toy, "") as implementation:
        with pytest.raises(UsageError, match="only functions of poolproof"):
            implementation.call("os:system", {"command": "true"})
        with pytest.raises(ForkRaisedError, match="no_such_function"):
            implementation.call("poolproof.forks.findings:no_such_function")


# -- isolation -------------------------------------------------------------------------------------------------------

LEAVE = """
import os, time
for detach in (False, True, True):
    if os.fork() == 0:
        if detach:
            os.setsid()
            if os.fork():
                os._exit(0)
        with open("pids", "a") as file:
            file.write(f"{os.getpid()}\\n")
        time.sleep(600)
        os._exit(0)
while not os.path.exists("pids") or len(open("pids").readlines()) < 3:
    time.sleep(0.01)
print("started", *open("pids").read().split(), flush=True)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has a sub-reaper")
@pytest.mark.parametrize("end", ["", "os._exit(6)"])
def test_every_descendant_is_ended_with_it(toy: Toy, end: str) -> None:
    """A child, and two processes that detached themselves by a double fork and a session of their own."""
    try:
        with imported(toy, LEAVE + end) as implementation:
            told = implementation.printed
            assert len(alive(noted(told))) == 3
    except WorkerDiedError as death:
        assert end
        told = str(death)
    deadline = time.monotonic() + 5
    while alive(noted(told)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert alive(noted(told)) == []


def noted(told: str) -> list[str]:
    """Find the three processes that were started, in what foreign code printed."""
    pids = told.partition("started")[2].split()
    assert len(pids) == 3
    return pids


def alive(pids: list[str]) -> list[str]:
    """Return those of the processes that still run."""
    return [pid for pid in pids if Path("/proc", pid).exists()]


def test_the_environment_is_scrubbed_and_the_home_is_private(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_USER", "1")
    text = "import os, json\nprint(json.dumps(dict(os.environ)), os.getcwd(), flush=True)"
    with imported(toy, text) as implementation:
        printed = implementation.printed
    assert "SECRET_OF_THE_USER" not in printed
    assert str(Path.home()) + '"' not in printed
    home = printed.split()[-1]
    assert not Path(home).exists()


def test_nothing_is_written_beside_the_source(toy: Toy) -> None:
    with imported(toy, "") as implementation:
        root = implementation.source.root
    assert not list(root.rglob("__pycache__"))


def test_two_processes_hash_alike(toy: Toy) -> None:
    outputs = set()
    for _ in range(2):
        with imported(toy, "print(hash('text'), flush=True)") as implementation:
            outputs.add(implementation.printed)
    assert len(outputs) == 1


CONNECT = """
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), 2)
    print("connected", flush=True)
except OSError:
    print("refused", flush=True)
"""


def test_it_has_no_network_where_the_system_allows_that(toy: Toy) -> None:
    """What the system does not restrict is said instead."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        imported(toy, CONNECT.format(port=server.getsockname()[1])) as implementation,
    ):
        printed, unenforced = implementation.printed.strip(), implementation.unenforced
    assert printed == ("connected" if "it can reach the network" in unenforced else "refused")


def test_its_private_home_lies_in_the_cache_and_goes_with_it(toy: Toy, private_cache: Path) -> None:
    with imported(toy, "import os; print(os.environ['HOME'], flush=True)") as implementation:
        (home,) = (private_cache / "scratch").iterdir()
        assert implementation.printed.split() == [str(home)]
    assert list((private_cache / "scratch").iterdir()) == []


TAMPER = """
import os, pathlib
def attempt(what, deed):
    try:
        deed()
        print(what, flush=True)
    except PermissionError:
        pass
there = pathlib.Path({place!r})
attempt("wrote", lambda: (there / "kept").write_text("spoiled"))
attempt("appended", lambda: (there / "kept").open("a"))
attempt("cut", lambda: os.truncate(there / "kept", 0))
attempt("removed", lambda: (there / "kept").unlink())
attempt("moved", lambda: (there / "kept").rename(there / "gone"))
attempt("linked", lambda: (there / "link").symlink_to("kept"))
attempt("made", lambda: (there / "new").mkdir())
attempt("removed a directory", lambda: (there / "empty").rmdir())
attempt("signalled", lambda: os.kill({pid}, 0))
attempt("wrote at home", lambda: pathlib.Path(os.environ["HOME"], "own").write_text("own"))
attempt("wrote to nowhere", lambda: open(os.devnull, "w").write("nothing"))
"""


def test_it_changes_nothing_outside_of_its_home_where_the_system_allows_that(toy: Toy, tmp_path: Path) -> None:
    """Try on a file of the test's own; what the system does not restrict is said instead."""
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "empty").mkdir()
    with imported(toy, TAMPER.format(place=str(tmp_path), pid=os.getpid())) as implementation:
        done, unenforced = implementation.printed.splitlines(), implementation.unenforced
    assert {"wrote at home", "wrote to nowhere"} <= set(done)
    if not set(unenforced) & {ANYWHERE, SIGNALS}:
        assert done == ["wrote at home", "wrote to nowhere"]
        assert sorted(each.name for each in tmp_path.iterdir() if each.name != "toy") == ["empty", "kept"]
        assert (tmp_path / "kept").read_text() == "kept"


def test_what_an_older_kernel_does_not_restrict_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for version, told in ((-1, (ANYWHERE, SIGNALS)), (0, (ANYWHERE, SIGNALS))):
        monkeypatch.setattr(confinement, "_call", lambda *_, version=version: version)
        assert confinement.confine(tmp_path) == told
    for version, lacking in ((1, 2), (2, 2), (3, 1), (5, 1), (6, 0)):
        monkeypatch.setattr(confinement, "_call", lambda *_, version=version: version)
        monkeypatch.setattr(confinement, "_restrict", lambda *_: True)
        assert len(confinement.confine(tmp_path)) == lacking
    monkeypatch.setattr(confinement, "_restrict", lambda *_: False)
    assert confinement.confine(tmp_path) == (ANYWHERE, SIGNALS)
