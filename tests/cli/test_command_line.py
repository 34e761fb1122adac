"""The command line itself: fast, one clear line per error, one exit code per outcome."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from poolproof import cli
from poolproof.spec import InconclusiveError, UnsupportedError

Command = Callable[..., Any]


def test_every_verb_is_listed_with_its_sentence(command: Command) -> None:
    result = command("--help")
    assert result.code == 0
    for verb in ("check", "diff", "explain", "explore", "list", "prove", "replay"):
        assert verb in cli.verbs()
        assert f" {verb} " in result.out


def test_nothing_selected_is_a_usage_error_with_help(command: Command) -> None:
    result = command()
    assert result.code == 2
    assert "Usage" in result.out


def test_the_version_is_printed(command: Command) -> None:
    result = command("--version")
    assert (result.code, result.out.split()[0]) == (0, "poolproof")


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, poolproof.cli as cli; cli.run(['--help']); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(ran.stdout.splitlines()[-1].split())
    assert "poolproof.commands.check" in loaded
    assert not loaded & {"z3", "networkx", "hypothesis", "pydantic", "yaml"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["chekc"], "poolproof: No such command 'chekc'. Did you mean 'check'? (see 'poolproof --help')"),
        (["check", "--max-model-len", "x"], "poolproof: Invalid value for '--max-model-len'"),
        (["check", "--no-such-option"], "poolproof: No such option: --no-such-option"),
        (["check", "--format", "xml"], "poolproof: Invalid value for '--format'"),
        (["explain"], "poolproof: Missing argument 'NAME'. (see 'poolproof explain --help')"),
        (["explain", "nope"], "poolproof: theorem = nope: no theorem has this name"),
        (["prove", "nope"], "poolproof: theorem = nope: no theorem has this name"),
        (["prove", "--jobs", "0"], "poolproof: Invalid value for '--jobs'"),
        (["list", "nope"], "poolproof: theorem = nope: no theorem has this name"),
    ],
)
def test_a_usage_error_is_one_line_and_exit_code_2(command: Command, arguments: list[str], told: str) -> None:
    result = command(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert result.err.casefold().startswith(told.casefold())


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (UnsupportedError("a stub\nwas asked"), 3, "poolproof: unsupported: a stub was asked\n"),
        (InconclusiveError("no answer"), 3, "poolproof: no answer\n"),
        (KeyboardInterrupt(), 130, ""),
        (
            RuntimeError("oh"),
            5,
            "poolproof: internal error: RuntimeError: oh (set POOLPROOF_DEBUG=1 for the traceback)\n",
        ),
    ],
)
def test_every_error_has_its_exit_code(
    command: Command, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, told: str
) -> None:
    from poolproof.proofs import registry

    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(registry, "select", fail)
    result = command("list")
    assert (result.code, result.err) == (code, told)


def test_the_traceback_is_shown_on_request_only(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from poolproof.proofs import registry

    def fail(_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(registry, "select", fail)
    assert "Traceback" not in command("list").err
    assert "Traceback" in command("list", "--debug").err
    monkeypatch.setenv("POOLPROOF_DEBUG", "1")
    assert "Traceback" in command("list").err


def test_a_reader_that_leaves_is_no_error() -> None:
    pipeline = f"{sys.executable} -m poolproof list --format json | head -1"
    ran = subprocess.run(pipeline, shell=True, capture_output=True, text=True, check=True)  # noqa: S602
    assert ran.stderr == ""


def test_piped_output_is_plain_even_in_a_poor_encoding() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run([sys.executable, "-m", "poolproof", "list"], capture_output=True, check=True, env=environment)
    assert b"\x1b" not in ran.stdout
    assert all(line == line.rstrip() for line in ran.stdout.decode("ascii").splitlines())


@pytest.mark.parametrize("columns", ["60", "80", "120"])
@pytest.mark.parametrize("verb", cli.verbs())
def test_help_cuts_nothing_that_a_reader_may_type(
    command: Command, monkeypatch: pytest.MonkeyPatch, verb: str, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    whole = command(verb, "--help").out
    monkeypatch.setenv("COLUMNS", columns)
    narrow = command(verb, "--help").out
    typed = {word for word in whole.split() if word.startswith("-") or "=" in word or "[" in word}
    assert typed <= set(narrow.split())
    assert max(map(len, narrow.splitlines())) <= int(columns)
    assert "-h, --help" in narrow
    assert not set(narrow) & set("…│╭")
    assert "<bool>" not in narrow


def test_help_names_every_spelling_and_the_default_design(command: Command) -> None:
    out = command("check", "--help").out
    assert "--num-gpu-blocks-override, --blocks <int>" in out
    assert "KIND[:BLOCK_SIZE][:KEY=VALUE,...]" in out
    assert "[default: sound" in " ".join(out.split())
