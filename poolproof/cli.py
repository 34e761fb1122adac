"""The command line: find the verb, run it, and turn whatever comes back into one exit code."""

from __future__ import annotations

import errno
import os
import pkgutil
import sys
from collections.abc import Iterable, Sequence
from enum import IntEnum
from importlib import import_module
from typing import Annotated, NoReturn, Protocol, runtime_checkable

import typer

from . import commands
from ._help import PlainCommand, PlainGroup
from .spec.errors import InconclusiveError, UnsupportedError, UsageError, printable

DEBUG_VARIABLE = "POOLPROOF_DEBUG"
DEBUG_OPTION = "--debug"


class Exit(IntEnum):
    """Name the exit codes that no verdict gives."""

    USAGE = 2
    UNDECIDED = 3
    INTERNAL = 5
    INTERRUPTED = 130


@runtime_checkable
class _CommandLineError(Protocol):
    """Recognise the command-line library's own errors (their base class moves between its releases)."""

    exit_code: int

    def format_message(self) -> str:
        """Return what went wrong."""
        ...


def verbs() -> list[str]:
    """List the verbs: the modules of `commands` whose names do not start with an underscore."""
    return [module.name for module in pkgutil.iter_modules(commands.__path__) if not module.name.startswith("_")]


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """Build the command line, importing only the verb that the arguments name (all of them where they name none)."""
    app = typer.Typer(
        name="poolproof",
        cls=PlainGroup,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(invoke_without_command=True)(_global_options)
    for verb in _verb(arguments) or verbs():
        app.command(verb, cls=PlainCommand)(import_module(f"{commands.__name__}.{verb}").run)
    return app


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_characters(stream)
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; every error becomes one line on stderr."""
    debug = DEBUG_OPTION in arguments or bool(os.environ.get(DEBUG_VARIABLE))
    arguments = [argument for argument in arguments if argument != DEBUG_OPTION]
    try:
        return _flushed(application(arguments)(args=list(arguments), prog_name="poolproof", standalone_mode=False))
    except (typer.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except UsageError as error:
        return _complain(str(error), Exit.USAGE)
    except (UnsupportedError, InconclusiveError) as error:
        return _complain(str(error), Exit.UNDECIDED)
    except BrokenPipeError:
        return _reader_left()
    except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback reaches a user unasked
        return _unexpected(error, arguments, debug=debug)


def _verb(arguments: Iterable[str]) -> list[str]:
    """Find the verb among the arguments, if one is there."""
    known = verbs()
    return [argument for argument in arguments if argument in known][:1]


def _global_options(
    context: typer.Context,
    debug: Annotated[
        bool, typer.Option(DEBUG_OPTION, help=f"Show the traceback of an internal error (or {DEBUG_VARIABLE}=1).")
    ] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Prove KV-cache block pools, and check real engines against the proof.

    Exit codes: 0 holds, 1 refuted, 2 usage, 3 inconclusive or unsupported, 4 vacuous, 5 internal error.
    """
    del debug  # taken out of the arguments by `run`, wherever it stands; declared here for the help
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"poolproof {installed('poolproof')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(Exit.USAGE)


def _flushed(result: object) -> int:
    """Read a verb's result as an exit code, after its output is known to have been taken."""
    if sys.stdout is not None:
        sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _unexpected(error: Exception, arguments: Sequence[str], *, debug: bool) -> int:
    if isinstance(error, _CommandLineError):
        verb = "".join(f"{verb} " for verb in _verb(arguments))
        told = error.format_message().replace("Value error, ", "")
        return _complain(f"{told} (see 'poolproof {verb}--help')", error.exit_code)
    if isinstance(error, OSError) and _is_about_output(error):
        return _complain(f"standard output: it cannot be written ({error.strerror})", Exit.USAGE)
    if debug:
        import traceback

        traceback.print_exception(error)
    return _complain(
        f"internal error: {type(error).__name__}: {error} (set {DEBUG_VARIABLE}=1 for the traceback)", Exit.INTERNAL
    )


def _complain(message: str, code: int) -> int:
    print(f"poolproof: {' '.join(printable(message).split())}", file=sys.stderr)
    return int(code)


def _reader_left() -> int:
    # Whoever read our output has gone; the interpreter must not complain about it when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + 13


def _is_about_output(error: OSError) -> bool:
    """Say whether an error names no file and is one of writing: a full disk, a stream that is closed."""
    return error.filename is None and error.errno in {errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT}


def _never_fail_on_characters(stream: object) -> None:
    """Write what a terminal's encoding lacks as an escape rather than fail on it."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
