"""What must hold: the formulas of sizing and admission, on integers or on Z3 terms."""

from .admission import (
    Lengths,
    admitted,
    cap,
    charged,
    first_step_requirement,
    gate_length,
    gate_requirement,
    never_admitted,
)
from .arithmetic import Term, Truth, cdiv, every, fdiv, maximum, minimum, total, where
from .attention import Attention, ChunkedLocal, FullAttention, MLAAttention, SlidingWindow, held, recycled
from .deployment import Constraint, Deployment, Group, legal, validate
from .design import DESIGNS, SOUND, Cap, Design, Freeing, Padding, named
from .errors import InconclusiveError, PoolproofError, UnsupportedError, UsageError
from .sizing import boot_accepts, boot_requirement, group_requirement, reported_concurrency, usable

__all__ = [
    "DESIGNS",
    "SOUND",
    "Attention",
    "Cap",
    "ChunkedLocal",
    "Constraint",
    "Deployment",
    "Design",
    "Freeing",
    "FullAttention",
    "Group",
    "InconclusiveError",
    "Lengths",
    "MLAAttention",
    "Padding",
    "PoolproofError",
    "SlidingWindow",
    "Term",
    "Truth",
    "UnsupportedError",
    "UsageError",
    "admitted",
    "boot_accepts",
    "boot_requirement",
    "cap",
    "cdiv",
    "charged",
    "every",
    "fdiv",
    "first_step_requirement",
    "gate_length",
    "gate_requirement",
    "group_requirement",
    "held",
    "legal",
    "maximum",
    "minimum",
    "named",
    "never_admitted",
    "recycled",
    "reported_concurrency",
    "total",
    "usable",
    "validate",
    "where",
]
