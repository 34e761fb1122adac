"""From plain values, a file's and the command line's, to a legal Deployment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from reprlib import Repr
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..spec import Deployment, UsageError, validate
from ._deployment_flags import groups_from_flags, with_block_size
from ._deployment_model import ALTERNATIVES, GROUP_MODELS, LARGEST, TWO_SPELLINGS, DeploymentModel, schema
from ._document import read_document

__all__ = ["deployment_of", "schema", "to_deployment"]


def deployment_of(
    path: Path | None, flags: Mapping[str, Any], groups: Sequence[str], block_size: int | None
) -> Deployment:
    """Read a deployment from a file, from flags, or from a file that flags override (a flag of None is not given).

    Raises:
        UsageError: Something in it cannot be used.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    document = overridden({} if path is None else read_document(path), given)
    if groups:
        document["groups"] = groups_from_flags(groups, block_size)
    elif block_size is not None and "groups" in document:
        document["groups"] = with_block_size(document["groups"], block_size)
    return to_deployment(document)


def overridden(document: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the fields of a document by those given as flags, whichever way either is spelled."""
    replaced = {name for flag in flags for name in _spellings(flag)}
    return {**{name: value for name, value in document.items() if name not in replaced}, **flags}


def to_deployment(document: Mapping[str, Any]) -> Deployment:
    """Return the legal deployment that a document describes.

    Raises:
        UsageError: A field is unknown, missing, of another type or breaks a condition; the first one is named.
    """
    try:
        model = DeploymentModel.model_validate(dict(document))
    except ValidationError as error:
        raise _usage_error(_most_telling(error.errors(include_url=False))) from error
    try:
        return validate(model.deployment())
    except UsageError as error:
        raise UsageError(model.spelled(error.field), error.value, error.reason, error.hint) from error


def _spellings(name: str) -> tuple[str, ...]:
    return next((names for names in ALTERNATIVES.values() if name in names), (name,))


def _most_telling(errors: Sequence[ErrorDetails]) -> ErrorDetails:
    """Choose an unknown key before the missing one that it may be a misspelling of."""
    return min(errors, key=lambda error: error["type"] != "extra_forbidden")


def _usage_error(error: ErrorDetails) -> UsageError:
    """Put what pydantic found into the words of this tool."""
    field, value, kind = _path(error["loc"]), _short(error["input"]), error["type"]
    if kind == "missing":
        return UsageError(field, "nothing", "this field is needed", "set it")
    if kind == "extra_forbidden":
        return UsageError(field, value, "this field is unknown", _closest(error["loc"]))
    if kind.startswith("union_tag"):
        return _unknown_kind(field, error["input"])
    if kind == TWO_SPELLINGS:
        return UsageError(**error["ctx"])
    reason, hint = _COMPLAINTS.get(kind, (error["msg"].lower(), "see poolproof check --schema"))
    return UsageError(field, value, reason, hint)


_NO_NUMBER = ("this is not a whole number", "write digits only, without quotes")
_COMPLAINTS = {
    "int_type": _NO_NUMBER,
    "int_from_float": _NO_NUMBER,
    "int_parsing": _NO_NUMBER,
    "int_parsing_size": _NO_NUMBER,
    "less_than_equal": ("no engine counts that many", f"set it to {LARGEST} or less"),
    "bool_type": ("this is not a switch", "write true or false"),
    "list_type": ("this is not a list", "write one group per item"),
}
"""What is wrong and what to do, by pydantic's name of the fault."""


def _unknown_kind(field: str, group: object) -> UsageError:
    kind = group.get("kind", "nothing") if isinstance(group, Mapping) else group
    close = get_close_matches(str(kind)[:100], GROUP_MODELS, 1)
    hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(GROUP_MODELS)}"
    return UsageError(f"{field}.kind", _short(kind), "no cache kind has this name", hint)


def _path(location: tuple[int | str, ...]) -> str:
    """Spell a location as `groups[0].window`; the tag that pydantic adds for a union is no part of the file."""
    path = ""
    for index, part in enumerate(location):
        if isinstance(part, int):
            path += f"[{part}]"
        elif not (index == 2 and location[0] == "groups" and part in GROUP_MODELS):
            path += f".{part}" if path else str(part)
    return _one_line(path) or "deployment"


def _closest(location: tuple[int | str, ...]) -> str:
    model = DeploymentModel if len(location) == 1 else GROUP_MODELS.get(str(location[2]), DeploymentModel)
    close = get_close_matches(str(location[-1])[:100], model.model_fields, 1)
    known = f"known here: {', '.join(model.model_fields)}"
    return f"did you mean {close[0]}?" if close else known


def _short(value: object) -> str:
    """Show a value of any size or nesting on one short line."""
    shortened = Repr()
    shortened.maxlevel = 2
    try:
        return value if isinstance(value, str) else shortened.repr(value)
    except ValueError:
        # Python refuses to print an integer of more than 4300 digits.
        return "a number of thousands of digits"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else f"{line[:117]}..."
