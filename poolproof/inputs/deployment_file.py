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
from .deployment_flags import flag_of, groups_from_flags, with_block_size
from .deployment_model import ALTERNATIVES, GROUP_MODELS, LARGEST, TWO_SPELLINGS, DeploymentModel, schema
from .document import read_document
from .recurrent import check_recurrent

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
    return to_deployment(document, by_flags=path is None)


def overridden(document: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the fields of a document by those given as flags, whichever way either is spelled."""
    replaced = {name for flag in flags for name in _spellings(flag)}
    return {**{name: value for name, value in document.items() if name not in replaced}, **flags}


def to_deployment(document: Mapping[str, Any], *, by_flags: bool = False) -> Deployment:
    """Return the legal deployment that a document describes; what it lacks is named as a flag where flags gave it.

    Raises:
        UsageError: A field is unknown, missing, of another type or breaks a condition; the first one is named.
    """
    try:
        model = DeploymentModel.model_validate(dict(document))
    except ValidationError as error:
        raise _usage_error(error.errors(include_url=False), by_flags) from error
    try:
        return check_recurrent(validate(model.deployment()))
    except UsageError as error:
        raise UsageError(model.spelled(error.field), error.value, error.reason, error.hint) from error


def _spellings(name: str) -> tuple[str, ...]:
    return next((names for names in ALTERNATIVES.values() if name in names), (name,))


def _usage_error(errors: Sequence[ErrorDetails], by_flags: bool) -> UsageError:
    """Choose what to tell: an unknown key before the missing ones that it may be a misspelling of."""
    first = min(errors, key=lambda error: error["type"] != "extra_forbidden")
    if first["type"] == "missing":
        return _missing([_path(error["loc"]) for error in errors if error["type"] == "missing"], by_flags)
    return _told(first)


def _missing(fields: Sequence[str], by_flags: bool) -> UsageError:
    """Name all that is missing at once, as the reader would give it."""
    names = [f"{field} ({flag_of(field)})" if by_flags else field for field in fields]
    reason = "this field is needed" if len(names) == 1 else "these fields are needed"
    return UsageError(", ".join(names), "nothing", reason, "set it" if len(names) == 1 else "set them")


def _told(error: ErrorDetails) -> UsageError:
    """Put what pydantic found into the words of this tool."""
    field, value, kind = _path(error["loc"]), _short(error["input"]), error["type"]
    if kind == "extra_forbidden":
        return UsageError(field, value, "this field is unknown", _closest(error["loc"]))
    if kind.startswith("union_tag"):
        return _unknown_kind(field, error["input"])
    if kind == TWO_SPELLINGS:
        return UsageError(**error["ctx"])
    reason, hint = _COMPLAINTS.get(kind, (error["msg"].lower(), "see poolproof check --schema"))
    if isinstance(error["input"], str) and kind in _QUOTED:
        return UsageError(field, repr(value), reason, "remove the quotes" if _is_plain(value) else hint)
    return UsageError(field, value, reason, hint)


def _is_plain(text: str) -> bool:
    """Tell whether a text would be a number or a switch, were it not quoted."""
    return text.strip().isdecimal() or text.strip().lower() in {"true", "false"}


_QUOTED = {"int_type", "int_parsing", "bool_type"}
"""The faults that quotes make."""

_NO_NUMBER = ("this is not a whole number", "write digits only")
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
    """Say what a key may have been meant to be, or where it belongs."""
    at_top, name = len(location) == 1, str(location[-1])[:100]
    in_group = GROUP_MODELS.get(str(location[2]), DeploymentModel).model_fields if not at_top else {}
    here = list(DeploymentModel.model_fields if at_top else in_group)
    elsewhere = [each for each in (_IN_GROUPS if at_top else DeploymentModel.model_fields) if each not in here]
    close = get_close_matches(name, [*here, *elsewhere], 1, cutoff=0.75)
    if not close:
        return f"known here: {', '.join(here)}"
    if close[0] in here:
        return f"did you mean {close[0]}?"
    return f"set {close[0]} in each group" if at_top else f"set {close[0]} at the top level"


_IN_GROUPS = tuple(dict.fromkeys(name for model in GROUP_MODELS.values() for name in model.model_fields))
"""Every field that some kind of group has."""


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
