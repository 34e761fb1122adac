"""Reading a YAML, TOML or JSON file into plain values, every way in which it cannot be read being one clear line."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import yaml

from ..spec import UsageError

LARGEST_FILE = 1_000_000
"""The most bytes that are read (a deployment takes a few hundred)."""

FIELD = "DEPLOYMENT"
"""The command-line argument that names the file."""


def read_document(path: Path) -> dict[str, Any]:
    """Read a file whose top level is a mapping.

    Raises:
        UsageError: The file cannot be read, is in no known format, or holds something else.
    """
    if path.is_dir():
        raise UsageError(FIELD, str(path), "is a directory", "name a deployment file in it")
    parse = _parser_of(path)
    document = _parsed(parse, _text(path), path)
    if document is None:
        raise UsageError(FIELD, str(path), "the file is empty", "name at least groups and max_model_len")
    if not isinstance(document, dict):
        raise UsageError(FIELD, str(path), f"holds a {type(document).__name__}", "write a mapping of fields to values")
    return document


def _parser_of(path: Path) -> Callable[[str], Any]:
    parser = _PARSERS.get(path.suffix.lower())
    if parser is None:
        raise UsageError(FIELD, str(path), "the format is told by the suffix", f"use one of {', '.join(_PARSERS)}")
    return parser


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise UsageError(FIELD, str(path), f"cannot be read: {_reason(error)}", "name a readable file") from error
    if len(data) > LARGEST_FILE:
        raise UsageError(FIELD, str(path), f"is longer than {LARGEST_FILE} bytes", "is it a deployment?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(FIELD, str(path), f"is not text (byte {error.start})", "save it as UTF-8") from error


def _parsed(parse: Callable[[str], Any], text: str, path: Path) -> Any:
    try:
        return parse(text) if text.strip() else None
    except RecursionError as error:
        raise UsageError(FIELD, str(path), "is nested too deeply", "flatten it") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise UsageError(FIELD, str(path), _reason(error), f"write it as {path.suffix[1:].upper()}") from error


def _reason(error: Exception) -> str:
    """Say on one line what a parser or the system complained about."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    if "integer string conversion" in str(error):
        return "holds a number of thousands of digits"
    return re.sub(r"\s+", " ", str(error)) or type(error).__name__


class _Loader(yaml.SafeLoader):
    """Load plain values, refusing a key that is given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return the mapping, each key having been seen once."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.constructor.ConstructorError(problem=f"key {key!r} twice", problem_mark=key_node.start_mark)
            if isinstance(key, Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep)


def _yaml(text: str) -> Any:
    # A subclass of the safe loader: it builds plain values only.
    return yaml.load(text, Loader=_Loader)  # noqa: S506


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(f"key {key!r} twice")
        mapping[key] = value
    return mapping


_PARSERS: dict[str, Callable[[str], Any]] = {
    ".yaml": _yaml,
    ".yml": _yaml,
    ".toml": tomllib.loads,
    ".json": _json,
}
