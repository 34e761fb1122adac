"""How it behaves: the reference engine, its invariants, and the exhaustive search of small deployments."""

from .engine import NULL_BLOCK, Allocation, Engine, RequestView, Snapshot, Status, StepRecord, Submission
from .reference import Oracle, boot

__all__ = [
    "NULL_BLOCK",
    "Allocation",
    "Engine",
    "Oracle",
    "RequestView",
    "Snapshot",
    "Status",
    "StepRecord",
    "Submission",
    "boot",
]
