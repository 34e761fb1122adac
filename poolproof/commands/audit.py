"""List what verdicts rest on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..render import Format

if TYPE_CHECKING:
    from ..forks.audit import Entry


def run(
    impl: Annotated[
        str | None, typer.Option(help="Also list what is assumed and touched in loading this implementation.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="Fail where anything differs from this list, as --format json wrote it.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to write the list.")] = Format.TEXT,
) -> int:
    """List everything that is assumed, bounded, replaced or not modelled.

    Exit code 0; with --compare, 1 where anything was added or removed.
    """
    from ..render.audit_records import AuditReport
    from ..render.output import show

    entries = _entries(impl)
    kept = entries if compare is None else _read(compare)
    added = tuple(entry for entry in entries if entry not in set(kept))
    removed = tuple(entry for entry in kept if entry not in set(entries))
    show(AuditReport(entries, added, removed, _replay(impl)), form)
    return 1 if added or removed else 0


def _entries(impl: str | None) -> tuple[Entry, ...]:
    from ..forks import Implementation
    from ..forks.audit import audit

    if impl is None:
        return audit()
    with Implementation(impl) as implementation:
        return audit(implementation)


def _read(path: Path) -> tuple[Entry, ...]:
    """Read a list that was written before.

    Raises:
        UsageError: The file cannot be read, or holds no such list.
    """
    import json

    from ..forks.audit import Entry
    from ..spec import UsageError

    hint = "write one with `poolproof audit --format json`"
    try:
        return tuple(Entry(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))["entries"])
    except OSError as error:
        raise UsageError("--compare", str(path), f"cannot be read: {error.strerror}", hint) from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError("--compare", str(path), f"holds no such list ({type(error).__name__})", hint) from error


def _replay(impl: str | None) -> str:
    return "poolproof audit" if impl is None else f"poolproof audit --impl {impl}"
