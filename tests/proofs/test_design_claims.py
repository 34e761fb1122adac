"""The table of designs says of each what its releases do, and is not hollow."""

from __future__ import annotations

import pytest

from poolproof.oracle.verdict import Proved, Refuted, Verdict
from poolproof.proofs.checking import decide, formula
from poolproof.proofs.design_claims import CLAIMS, Claimed, decide_claims
from poolproof.proofs.registry import find
from poolproof.spec import DESIGNS, SOUND, UsageError, named


@pytest.fixture(scope="module")
def table() -> dict[tuple[str, str], dict[str, Verdict]]:
    names = [design.name for design in DESIGNS]
    rows = decide_claims(None, 2)
    return {(claim.name, claim.setting): dict(zip(names, verdicts, strict=True)) for claim, verdicts in rows}


def refuted(row: dict[str, Verdict]) -> dict[str, int]:
    return {name: verdict.witness.sum for name, verdict in row.items() if isinstance(verdict, Refuted)}


def test_every_claim_is_decided_for_every_design(table: dict[tuple[str, str], dict[str, Verdict]]) -> None:
    assert len(table) == len(CLAIMS)
    verdicts = [verdict for row in table.values() for verdict in row.values()]
    assert len(verdicts) == len(CLAIMS) * len(DESIGNS)
    assert all(isinstance(verdict, Proved | Refuted) for verdict in verdicts)


def test_every_claim_fails_for_some_design_or_is_said_to_hold_for_all(
    table: dict[tuple[str, str], dict[str, Verdict]],
) -> None:
    holds = {key for key, row in table.items() if not refuted(row)}
    flight = "sliding window, batches in flight"
    assert holds == {("held_stays_within_cap", "sliding window"), ("held_stays_within_cap", flight)}


def test_the_sound_design_fails_only_where_chunks_are_misaligned(
    table: dict[tuple[str, str], dict[str, Verdict]],
) -> None:
    failing = {key: row["sound"] for key, row in table.items() if isinstance(row["sound"], Refuted)}
    assert set(failing) == {("held_stays_within_cap", "chunked local")}


def test_releases_before_the_null_block_was_counted_are_refuted(
    table: dict[tuple[str, str], dict[str, Verdict]],
) -> None:
    row = table[("boot_covers_admission", "full")]
    assert {name for name in refuted(row) if name.startswith("vllm")} == {
        f"vllm-0.{minor}" for minor in (11, 19, 20, 21, 22, 25, 28)
    }
    assert row["vllm-0.30"] == row["vllm-0.33"]


def test_a_row_agrees_with_the_theorem_of_the_catalogue() -> None:
    theorem = find("vllm_0_28_boot_covers_admission_of_window")
    (claim,) = (each for each in CLAIMS if (each.name, each.setting) == ("boot_covers_admission", "sliding window"))
    found = decide(claim.of(named("vllm-0.28")))
    assert isinstance(found, Refuted)
    assert found.witness.sum == theorem.least_sum


def test_designs_that_differ_in_a_claim_differ_in_its_formula() -> None:
    full: Claimed = CLAIMS[0]
    old, new, newest = (formula(full.of(named(name))) for name in ("vllm-0.28", "vllm-0.30", "vllm-0.33"))
    assert old != new
    assert new == newest
    assert formula(full.of(SOUND)) == formula(full.of(SOUND))


def test_an_unknown_design_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no design has this name"):
        list(decide_claims(["vllm-9"], 1))
