"""A fork made from a release: its root package renamed, one line changed where a test asks for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from poolproof.forks import resolve


def renamed(spec: str, folder: Path, package: str = "nova") -> Path:
    """Copy a release under another name for its root package; imports and dotted names in strings are rewritten."""
    original = resolve(spec)
    for file in (original.root / original.package).rglob("*.py"):
        copy = folder / package / file.relative_to(original.root / original.package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        own = rf"(?m)(^\s*(?:from|import) |[\"']){original.package}(?=\.\w|\s)"
        copy.write_text(re.sub(own, rf"\1{package}", file.read_text()))
    return folder


@dataclass(frozen=True)
class Slip:
    """One line of a function of the KV core, changed the way a slip of the pen would change it."""

    file: str
    function: str
    pattern: str
    change: str


SLIPS = {
    "the cap is dropped in the factory": Slip(
        "v1/core/single_type_kv_cache_manager.py",
        "get_manager_for_kv_cache_spec",
        r'kwargs\["max_admission_blocks_per_request"\] = ',
        "dropped = ",
    ),
    "the block of misalignment is dropped from the cap": Slip(
        "v1/kv_cache_interface.py", "max_admission_blocks_per_request", r"(cdiv\(.*block_size\)) \+ 1", r"\1"
    ),
    "one block too many is recycled": Slip(
        "v1/core/single_type_kv_cache_manager.py", "remove_skipped_blocks", r"(// self\.block_size)", r"\1 + 1"
    ),
    "a freed block is not returned": Slip(
        "v1/core/block_pool.py", "free_blocks", r"(block\.ref_cnt == 0)", r"\1 and block.block_id != 1"
    ),
    "a reference count is not decremented": Slip("v1/core/block_pool.py", "free_blocks", r"(ref_cnt -=) 1", r"\1 0"),
    "the gate's comparison is off by one": Slip(
        "v1/core/kv_cache_manager.py", "", r"(if \w+) > (self\.block_pool\.get_num_free_blocks\(\):)", r"\1 >= \2"
    ),
    "a preempted request keeps its share of the step": Slip(
        "v1/core/sched/scheduler.py", "schedule", r"(token_budget \+=) (\w)", r"\1 0 * \2"
    ),
    "the gate is left open after three preemptions": Slip(
        "v1/core/sched/scheduler.py",
        "schedule",
        r"(full_sequence_must_fit=self\.scheduler_reserve_full_isl)",
        r"\1 and request.num_preemptions < 3",
    ),
}


@contextmanager
def slipped(fork: Path, slip: Slip) -> Iterator[None]:
    """Change the first line that matches, in the first function of this name where one does."""
    path = next(fork.glob(f"*/{slip.file}"))
    text = path.read_text()
    start, end = next(part for part in _functions(text, slip.function) if re.search(slip.pattern, text[slice(*part)]))
    path.write_text(text[:start] + re.sub(slip.pattern, slip.change, text[start:end], count=1) + text[end:])
    try:
        yield
    finally:
        path.write_text(text)


def _functions(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Find where functions of a name stand in a source; without a name, the whole of it."""
    lines = text.splitlines(keepends=True)
    if not name:
        yield 0, len(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == name and node.end_lineno is not None:
            yield sum(map(len, lines[: node.lineno - 1])), sum(map(len, lines[: node.end_lineno]))
