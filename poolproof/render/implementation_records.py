"""What is found out about implementations, as plain records."""

from __future__ import annotations

from dataclasses import dataclass

from ..proofs.judgement import Judgement


@dataclass(frozen=True, slots=True)
class ImplementationReport:
    """Judge an implementation's own code.

    Args:
        implementation: How the user named it.
        version: The version in its metadata, where it has any.
        sha256: The hash of what was read.
        judgements: What became of each property, in each setting.
        unenforced: What the system does not restrict of the process that ran it.
        replay: The command line that gives it again.
    """

    implementation: str
    version: str | None
    sha256: str
    judgements: tuple[Judgement, ...]
    unenforced: tuple[str, ...]
    replay: str
