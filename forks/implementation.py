"""An implementation under test, from the caller's side: one worker process, one message per question."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..oracle.lone import Fate, LoneOutcome
from ..oracle.outcome import Outcome
from ..oracle.trace import Scenario
from ..spec.deployment import Deployment
from ..spec.errors import InconclusiveError, UnsupportedError, UsageError
from . import wire
from .boot import Boot
from .cache import scratch_directory
from .findings import Findings
from .source import Source, resolve

_PACKAGE = __name__.partition(".")[0]
_BOOTSTRAP = (
    f"import sys; sys.path.append(sys.argv[1]); from {_PACKAGE}.forks.supervise import main; "
    "main(int(sys.argv[2]), int(sys.argv[3]))"
)


class NoAnswerError(InconclusiveError):
    """Say that nothing is known of the implementation: its process ended, or gave no answer in time."""


class TimedOutError(NoAnswerError):
    """Say that the process which runs the implementation did not answer in time; that shows nothing about it."""


class WorkerDiedError(NoAnswerError):
    """Say that the process which runs the implementation ended."""


class ForkRaisedError(InconclusiveError):
    """Say that the implementation raised outside a scenario; `trace` is its traceback."""

    def __init__(self, text: str, trace: str) -> None:
        self.trace = trace
        super().__init__(text)


@dataclass(frozen=True)
class Limits:
    """Limit the process that runs foreign code.

    Args:
        seconds: How long one answer may take.
        memory_bytes: Its address space (not enforced on macOS).
        file_bytes: The largest file it may write, its captured output included.
    """

    seconds: float = 120.0
    memory_bytes: int = 4 << 30
    file_bytes: int = 64 << 20


class Implementation:
    """Load a fork in a process of its own and ask it; a context manager.

    `unenforced` tells, once it runs, what the system does not restrict of that process.

    Args:
        source: A resolved source, or how a user spells one.
        patches: Triples (file within the root package, old text, new text) applied while loading.
        limits: What the process may use.
        runner: The generation of the fork's model runner (1 or 2); it changes how many batches are in flight with
            pipeline stages.
        on_progress: Told, in words, what takes long.
    """

    def __init__(
        self,
        source: Source | str,
        *,
        patches: Iterable[tuple[str, str, str]] = (),
        limits: Limits | None = None,
        runner: int = 1,
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        self.source = resolve(source, on_progress=on_progress) if isinstance(source, str) else source
        self._patches = tuple(patches)
        self._limits = limits or Limits()
        self._runner = runner
        self._worker: _Worker | None = None
        self.unenforced: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        self._started()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process and all its descendants."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def findings(self) -> Findings:
        """Tell what was found in the fork and what was assumed."""
        found: Findings = self._ask("findings")
        return found

    def boot(self, deployment: Deployment) -> Boot:
        """Ask the fork's own start-up code whether it accepts `deployment.blocks` blocks."""
        answer: Boot = self._ask("boot", deployment)
        return answer

    def smallest_pool(self, deployment: Deployment) -> int:
        """Find the smallest number of blocks that the fork's start-up accepts."""
        blocks: int = self._ask("smallest_pool", deployment)
        return blocks

    def run(
        self,
        scenario: Scenario,
        *,
        drain: bool = True,
        accept: int = 0,
        gate: bool = True,
        snapshots: bool = False,
        seconds: float | None = None,
    ) -> Outcome:
        """Run a scenario on the fork's real scheduler; a process that dies of it is an outcome too.

        Args:
            scenario: What is done to it.
            drain: Go on afterwards until every request has finished or the state repeats.
            accept: Of the drafts that settle while draining, accept at most so many per request.
            gate: Keep the engine's full-sequence gate on, as it is by default.
            snapshots: Keep the state after every action.
            seconds: The time limit of this answer, instead of the one in `Limits`.
        """
        options = {"drain": drain, "accept": accept, "gate": gate, "snapshots": snapshots}
        try:
            outcome: Outcome = self._ask("run", scenario, options=options, seconds=seconds)
        except WorkerDiedError as death:
            return Outcome(Fate.FAILED, error=str(death))
        return outcome

    def lone(self, deployment: Deployment, prompt: int, output: int = 1, *, gate: bool = True) -> LoneOutcome:
        """Run one request alone on the fork's real scheduler until its fate is known."""
        try:
            outcome: LoneOutcome = self._ask("lone", deployment, prompt, output, options={"gate": gate})
        except WorkerDiedError as death:
            return LoneOutcome(Fate.FAILED, 0, error=str(death))
        return outcome

    def call(self, function: str, arguments: Mapping[str, Any] | None = None, seconds: float | None = None) -> Any:
        """Call `function(core, **arguments)` in the process, for a `package.module:name` of poolproof.

        `seconds` replaces the time limit of `Limits` for this answer.
        """
        return self._ask("call", function, dict(arguments or {}), seconds=seconds)

    @property
    def printed(self) -> str:
        """Return what the fork has written to its standard output and error."""
        return self._worker.printed() if self._worker is not None else ""

    def _ask(
        self, method: str, *arguments: Any, options: Mapping[str, Any] | None = None, seconds: float | None = None
    ) -> Any:
        """Ask one question; after a death the next question gets a new process."""
        worker = self._started()
        question = {"method": method, "arguments": list(arguments), "options": dict(options or {})}
        try:
            return _unpack(worker.ask(question, seconds))
        except NoAnswerError:
            self.close()
            raise

    def _started(self) -> _Worker:
        if self._worker is None:
            worker = _Worker(self._limits, self._runner)
            try:
                self.unenforced = _unpack(worker.ask(self._loading()))["unenforced"]
            except BaseException:
                worker.close()
                raise
            self._worker = worker
        return self._worker

    def _loading(self) -> dict[str, Any]:
        return {
            "root": str(self.source.root),
            "package": self.source.package,
            "patches": [list(p) for p in self._patches],
            "limits": asdict(self._limits),
            "runner": self._runner,
        }


class _Worker:
    """One process, its channel, its private home and its captured output."""

    def __init__(self, limits: Limits, runner: int) -> None:
        self._limits = limits
        self._home = tempfile.TemporaryDirectory(dir=scratch_directory().absolute(), ignore_cleanup_errors=True)
        self._channel, channel = socket.socketpair()
        self._lifeline, lifeline = socket.socketpair()
        self._output = Path(self._home.name, "output")
        with channel, lifeline, self._output.open("wb") as output:
            passed = [channel.fileno(), lifeline.fileno()]
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-B", "-c", _BOOTSTRAP, str(_parent_of_package()), *map(str, passed)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=passed,
                cwd=self._home.name,
                env=_environment(self._home.name, runner),
                start_new_session=True,
            )

    def ask(self, message: dict[str, Any], seconds: float | None = None) -> Any:
        """Send a message and wait for its answer, for `seconds` or as long as the limits say.

        Raises:
            WorkerDiedError: The process ended.
            TimedOutError: It did not answer in time.
        """
        patience = self._limits.seconds if seconds is None else seconds
        self._channel.settimeout(patience)
        try:
            wire.send(self._channel, message)
            return wire.receive(self._channel)
        except TimeoutError:
            raise TimedOutError(f"no answer within {patience:g} s") from None
        except (wire.ClosedError, BrokenPipeError, ConnectionResetError):
            raise WorkerDiedError(f"its process ended{self._how()}{self._last_words()}") from None

    def printed(self) -> str:
        """Return what was written to standard output and error."""
        return self._output.read_text(errors="replace")

    def close(self) -> None:
        """Close the lifeline, so that the supervisor ends everything, and wait for it."""
        self._lifeline.close()
        self._channel.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._home.cleanup()

    def _how(self) -> str:
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            return ""
        signalled = 256 - code
        return f" by signal {signal.Signals(signalled).name}" if signalled in list(signal.Signals) else f" ({code})"

    def _last_words(self) -> str:
        lines = self.printed().strip().splitlines()
        return f": {lines[-1]}" if lines else ""


def _unpack(answer: Mapping[str, Any]) -> Any:
    """Return the value of an answer, or raise the error that it carries."""
    match answer.get("error"):
        case None:
            return answer["ok"]
        case "usage":
            raise UsageError(answer["field"], answer["value"], answer["reason"], answer["hint"])
        case "unsupported":
            raise UnsupportedError(answer["what"])
        case "inconclusive":
            raise InconclusiveError(answer["text"])
        case _:
            raise ForkRaisedError(answer["text"], answer["trace"])


def _environment(home: str, runner: int) -> dict[str, str]:
    """Give the process nothing of ours: fixed hashing, no locale, a home of its own."""
    return {
        "HOME": home,
        "TMPDIR": home,
        "PATH": os.defpath,
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "VLLM_USE_V2_MODEL_RUNNER": str(runner - 1),
    }


def _parent_of_package() -> Path:
    return Path(sys.modules[_PACKAGE].__path__[0]).absolute().parent
