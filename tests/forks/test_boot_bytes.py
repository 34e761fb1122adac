"""Start-up with layers and bytes: what nine releases make of it is what their designs say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from poolproof.forks import Implementation, Source
from poolproof.forks.boot_bytes import compare, design_of, main
from poolproof.forks.byte_answers import reason_of
from poolproof.forks.byte_cases import drawn
from poolproof.spec.design import DESIGNS, Design, named
from poolproof.spec.errors import Reason, UnsupportedError, UsageError
from poolproof.spec.layers import expressible
from poolproof.spec.planning import Strip, Tuples

from .conftest import RELEASES

Release = Callable[[str], Implementation]

CASES, NIGHTLY_CASES = 40, 500
every_release = pytest.mark.parametrize("version", RELEASES)


def differing(implementation: Implementation, design: str, seed: int, cases: int) -> list[str]:
    compared = compare(implementation, named(design), seed, range(cases))
    return [f"case {case.case}: {case.differences}" for case in compared if case.differences]


@pytest.mark.network
@every_release
def test_start_up_equals_the_design(release: Release, version: str) -> None:
    implementation = release(version)
    design = design_of(implementation.source)
    assert differing(implementation, design.name, seed=1, cases=CASES) == []


@pytest.mark.network
@pytest.mark.nightly
@every_release
def test_start_up_equals_the_design_on_many_models(release: Release, version: str) -> None:
    implementation = release(version)
    design = design_of(implementation.source)
    assert differing(implementation, design.name, seed=2, cases=NIGHTLY_CASES) == []


@pytest.mark.network
@pytest.mark.parametrize(
    ("version", "wrong"),
    [
        ("0.11.0", {"speculated_states": ("mamba_none",)}),
        ("0.19.1", {"pads_states": True}),
        ("0.22.1", {"speculated_states": ("mamba_none", "mamba_align")}),
        ("0.25.1", {"strip": Strip.WIDEST}),
        ("0.28.0", {"tuples": Tuples.NONE}),
        ("0.30.0", {"promotes": ("sliding_window", "chunked_local")}),
        ("0.33.0", {"packs": False}),
    ],
)
def test_a_wrong_design_is_told_apart(release: Release, version: str, wrong: dict[str, object]) -> None:
    implementation = release(version)
    own = design_of(implementation.source)
    design = replace(own, planning=replace(own.planning, **wrong))
    assert any(case.differences for case in compare(implementation, own, 1, range(300), against=design))


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_cases_are_legal_and_depend_on_their_number_only(design: Design) -> None:
    for number in range(60):
        case = drawn(design, 7, number)
        assert case == drawn(design, 7, number)
        assert all(expressible(layer, design.planning) is layer for layer in case.model.layers.values())


def test_an_unknown_refusal_is_not_guessed() -> None:
    def unheard_of() -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full") as caught:
        unheard_of()
    with pytest.raises(UnsupportedError, match="OSError in unheard_of: full"):
        reason_of(caught.value)


def test_a_refusal_is_known_by_its_error_and_function() -> None:
    def page_size_bytes() -> None:
        raise AssertionError

    with pytest.raises(AssertionError) as caught:
        page_size_bytes()
    assert reason_of(caught.value) is Reason.PADDING


@pytest.mark.parametrize(
    ("version", "design"), [("0.11.2", "vllm-0.11"), ("0.21.0", "vllm-0.21"), ("0.32.0", "vllm-0.30")]
)
def test_the_newest_design_that_is_not_newer_is_taken(version: str, design: str) -> None:
    source = Source("here", None, "vllm", version, None, "")
    assert design_of(source).name == design


@pytest.mark.parametrize("version", ["0.9.0", None])
def test_a_release_without_a_design_is_named(version: str | None) -> None:
    with pytest.raises(UsageError, match="give one with --design"):
        design_of(Source("here", None, "vllm", version, None, ""))


def test_nothing_to_compare_with_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--release", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err
