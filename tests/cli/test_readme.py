"""README shows what the tool prints: transcripts, theorem table and picture are compared with a fresh run.

`POOLPROOF_REFRESH=1 python -m pytest tests/cli/test_readme.py` writes them anew.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
Command = Callable[..., Any]

_TRANSCRIPT = re.compile(r"<!-- run( network)?: poolproof (.*?) -->\n(.*?)<!-- end -->", re.DOTALL)
_TABLE = re.compile(r"<!-- theorems -->\n(.*?)<!-- end -->", re.DOTALL)
PICTURE = (
    "check --group full:16 --group sliding_window:16:window=32 --max-model-len 512 --max-num-batched-tokens 64 "
    "--num-gpu-blocks-override 39 --design vllm-0.19 --svg"
)


def transcripts(network: bool) -> list[str]:
    return [match[2] for match in _TRANSCRIPT.finditer(README.read_text()) if bool(match[1]) == network]


def shown(words: str) -> str:
    return next(match[3] for match in _TRANSCRIPT.finditer(README.read_text()) if match[2] == words)


def fresh(command: Command, words: str) -> str:
    return f"\n```console\n$ poolproof {words}\n{command(*shlex.split(words)).out}```\n\n"


def without_costs(text: str) -> str:
    """Blank the solver's resource counts, which change with its release."""
    return re.sub(r" +[\d,]+$", "", text, flags=re.MULTILINE)


def replaced(words: str, text: str) -> None:
    def put(match: re.Match[str]) -> str:
        return match[0].replace(match[3], text) if match[3] else match[0].replace("<!-- end -->", f"{text}<!-- end -->")

    contents = _TRANSCRIPT.sub(lambda match: put(match) if match[2] == words else match[0], README.read_text())
    README.write_text(contents)


def compare(command: Command, words: str) -> None:
    text = fresh(command, words)
    if os.environ.get("POOLPROOF_REFRESH"):
        replaced(words, text)
    assert without_costs(shown(words)) == without_costs(text)


@pytest.mark.parametrize("words", transcripts(network=False))
def test_a_transcript_is_what_the_tool_prints(command: Command, words: str) -> None:
    compare(command, words)


@pytest.mark.network
@pytest.mark.parametrize("words", transcripts(network=True))
def test_a_transcript_of_a_release_is_what_the_tool_prints(
    command: Command, fetched: Callable[[str], str], words: str
) -> None:
    fetched(shlex.split(words)[-1])
    compare(command, words)


def test_the_theorem_table_is_the_registry(command: Command) -> None:
    table = f"\n{command('list', '--format', 'markdown').out}\n"
    if os.environ.get("POOLPROOF_REFRESH"):
        README.write_text(_TABLE.sub(lambda _: f"<!-- theorems -->\n{table}<!-- end -->", README.read_text()))
    found = _TABLE.search(README.read_text())
    assert found is not None
    assert found[1] == table


def test_the_picture_is_drawn_by_the_tool(command: Command, tmp_path: Path) -> None:
    kept = ROOT / "docs" / "never-admitted.svg"
    drawn = kept if os.environ.get("POOLPROOF_REFRESH") else tmp_path / "drawn.svg"
    command(*PICTURE.split(), str(drawn))
    assert kept.read_text() == drawn.read_text()
