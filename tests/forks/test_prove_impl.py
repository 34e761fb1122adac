"""The code of nine releases, and of changed copies of them, is decided for every value of its symbolic fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pytest

from poolproof.forks import Implementation
from poolproof.forks.prove import PROPERTIES, prove_implementation, prove_running
from poolproof.forks.wire import decode, encode
from poolproof.oracle.verdict import Inconclusive, Proved, Refuted, Unsupported
from poolproof.proofs.judgement import Judgement
from poolproof.spec import UsageError

from .conftest import RELEASES, released

pytestmark = pytest.mark.network

Release = Callable[[str], Implementation]

WITH_GATE = [version for version in RELEASES if version != "0.11.0"]
COUNTING_THE_NULL_BLOCK = ("0.30.0", "0.33.0")
FORGETTING_IT = [version for version in WITH_GATE if version not in COUNTING_THE_NULL_BLOCK]

INTERFACE = "v1/kv_cache_interface.py"
MANAGERS = "v1/core/single_type_kv_cache_manager.py"
SLIDES = "num_computed_tokens - self.sliding_window + 1)"
WITHOUT_PLUS_ONE = (
    INTERFACE,
    "return cdiv(num_tokens, self.block_size) + 1",
    "return cdiv(num_tokens, self.block_size)",
)


def one(judgements: Iterable[Judgement], *groups: str, batches: str | None = None) -> Judgement:
    """Pick the judgement of one setting."""
    (found,) = (
        judgement
        for judgement in judgements
        if judgement.scope.groups == groups and batches in {None, judgement.scope.batches_in_flight}
    )
    return found


def refuted(judgement: Judgement) -> dict[str, int]:
    """Return the values of a counterexample that was seen on the real code."""
    assert isinstance(judgement.verdict, Refuted), judgement
    assert judgement.verdict.witness.steps
    return dict(judgement.verdict.witness.values)


# -- the releases as they are -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", WITH_GATE)
def test_the_cap_covers_what_a_sliding_window_holds(release: Release, version: str) -> None:
    implementation = release(version)
    found = one(prove_running(implementation, ["cap_covers_held"]), "sliding window")
    assert isinstance(found.verdict, Proved)
    assert "scheduled: a step keeps to its budget" in found.verdict.core
    assert "block_size" in found.scope.symbolic
    assert found.accepting == found.paths > 1


@pytest.mark.parametrize("version", WITH_GATE)
def test_the_cap_forgets_lookahead(release: Release, version: str) -> None:
    (found,) = prove_running(release(version), ["cap_covers_held_with_lookahead"])
    assert refuted(found) == {
        "block_size": 1,
        "max_num_batched_tokens": 1,
        "window": 1,
        "max_model_len": 3,
        "computed": 0,
        "scheduled": 1,
        "lookahead": 2,
    }
    assert found.verdict.witness.steps[1].endswith("at most 3 blocks held, cap 2")


@pytest.mark.parametrize("version", WITH_GATE)
def test_the_cap_of_chunked_local_forgets_misalignment(release: Release, version: str) -> None:
    found = one(prove_running(release(version), ["cap_covers_held"]), "chunked local")
    assert refuted(found)["block_size"] == 3
    assert found.verdict.witness.sum == 14
    assert "at most 2 blocks held, cap 1" in found.verdict.witness.steps[1]


@pytest.mark.parametrize("version", WITH_GATE)
def test_recycling_is_safe_and_tight(release: Release, version: str) -> None:
    names = ["skipped_tokens_are_out_of_the_window", "tokens_out_of_the_window_are_skipped"]
    found = list(prove_running(release(version), names))
    assert len(found) == 4
    assert all(isinstance(judgement.verdict, Proved) for judgement in found), found


@pytest.mark.parametrize("version", FORGETTING_IT)
def test_boot_accepts_pools_in_which_a_request_waits_for_ever(release: Release, version: str) -> None:
    implementation = release(version)
    found = list(prove_running(implementation, ["boot_covers_gate"], block_sizes=[16]))
    expected = {"window": 1, "max_num_batched_tokens": 1, "max_model_len": 17, "tokens": 17, "blocks": 4}
    for batches in ("1", "2"):
        assert refuted(one(found, "full", "sliding window", batches=batches)) == expected
    assert refuted(one(found, "full")) == {"max_num_batched_tokens": 1, "max_model_len": 1, "tokens": 1, "blocks": 1}
    assert refuted(one(found, "full", "chunked local"))["blocks"] == 2
    assert refuted(one(found, "full", "mamba"))["blocks"] == 2
    assert isinstance(one(found, "full", "mamba, aligned").verdict, Proved)


@pytest.mark.parametrize("version", COUNTING_THE_NULL_BLOCK)
def test_boot_covers_the_gate_once_it_counts_the_null_block(release: Release, version: str) -> None:
    found = list(prove_running(release(version), ["boot_covers_gate"]))
    assert len(found) == 35
    assert all(isinstance(judgement.verdict, Proved) for judgement in found), found
    assert all(judgement.paths > judgement.accepting >= 1 for judgement in found)


@pytest.mark.parametrize("version", WITH_GATE)
def test_boot_is_tight(release: Release, version: str) -> None:
    found = list(prove_running(release(version), ["boot_is_tight"], block_sizes=[3, 16]))
    assert len(found) == 6
    assert all(isinstance(judgement.verdict, Proved) for judgement in found), found


def test_a_release_without_gate_and_without_the_method_is_unsupported(release: Release) -> None:
    names = ["cap_covers_held", "skipped_tokens_are_out_of_the_window", "boot_covers_gate"]
    found = list(prove_running(release("0.11.0"), names, block_sizes=[16]))
    reasons = {judgement.verdict.what for judgement in found if isinstance(judgement.verdict, Unsupported)}
    assert len(found) == sum(isinstance(judgement.verdict, Unsupported) for judgement in found)
    assert reasons == {
        "SlidingWindowManager has no get_num_skipped_tokens",
        "ChunkedLocalAttentionManager has no get_num_skipped_tokens",
        "the fork has no full-sequence gate",
        "this release has no Mamba cache mode align",
    }


def test_the_scope_is_said(release: Release) -> None:
    (older, _) = prove_running(release("0.21.0"), ["cap_covers_held"])
    (newer, _) = prove_running(release("0.28.0"), ["cap_covers_held"])
    assert older.scope.concrete == (("lookahead", 0),)
    assert (older.scope.batches_in_flight, newer.scope.batches_in_flight) == ("1", "any")
    assert any("true division" in line for line in older.assumed)
    (boundless, _) = prove_running(release("0.19.1"), ["cap_covers_held"])
    assert any("no admission cap" in line for line in boundless.assumed)


def test_two_runs_give_the_same_record(release: Release) -> None:
    first, second = (list(prove_running(release("0.33.0"), ["cap_covers_held"])) for _ in range(2))
    assert first == second
    assert decode(encode(first)) == tuple(first)


def test_an_unknown_property_is_a_usage_error(release: Release) -> None:
    with pytest.raises(UsageError, match="name one of cap_covers_held"):
        list(prove_running(release("0.33.0"), ["boot_covers_everything"]))
    with pytest.raises(UsageError, match="nothing is selected"):
        list(prove_running(release("0.33.0"), []))


def test_every_property_yields_judgements(release: Release) -> None:
    for name in PROPERTIES:
        found = list(prove_running(release("0.33.0"), [name], block_sizes=[2]))
        assert {judgement.name for judgement in found} == {name}


# -- changed copies -----------------------------------------------------------------------------------------------


def changed(version: str, properties: list[str], *patches: tuple[str, str, str]) -> list[Judgement]:
    return prove_implementation(released(version), properties, block_sizes=[2], patches=patches)


@pytest.mark.parametrize("version", [version for version in WITH_GATE if version != "0.19.1"])
def test_a_cap_without_its_plus_one_is_refuted(version: str) -> None:
    found = one(changed(version, ["cap_covers_held"], WITHOUT_PLUS_ONE), "sliding window")
    assert refuted(found) == {
        "block_size": 2,
        "max_num_batched_tokens": 1,
        "window": 2,
        "max_model_len": 3,
        "computed": 2,
        "scheduled": 1,
    }
    assert found.verdict.witness.facts == ("blocks held = 2", "cap = 1")
    assert found.verdict.witness.steps == (
        "real KVCacheManager: 2 blocks held after the step, cap 1",
        "real Scheduler: max_model_len 4, a prompt of 3 tokens, at most 2 blocks held, cap 1",
    )


def test_a_window_that_slides_too_far_is_refuted() -> None:
    patch = (
        MANAGERS,
        "num_computed_tokens - self.sliding_window + 1)",
        "num_computed_tokens - self.sliding_window + 2)",
    )
    found = one(changed("0.21.0", ["skipped_tokens_are_out_of_the_window"], patch), "sliding window")
    assert isinstance(found.verdict, Refuted)
    tight = one(changed("0.21.0", ["tokens_out_of_the_window_are_skipped"], patch), "sliding window")
    assert isinstance(tight.verdict, Proved)


def test_a_window_that_slides_too_late_is_refuted() -> None:
    patch = (MANAGERS, SLIDES, SLIDES.replace(" + 1", ""))
    found = one(changed("0.21.0", ["tokens_out_of_the_window_are_skipped"], patch), "sliding window")
    assert isinstance(found.verdict, Refuted)
    safe = one(changed("0.21.0", ["skipped_tokens_are_out_of_the_window"], patch), "sliding window")
    assert isinstance(safe.verdict, Proved)


def test_a_boot_that_demands_too_much_is_refuted() -> None:
    patch = (INTERFACE, "return cdiv(num_tokens, self.block_size) + 1", "return cdiv(num_tokens, self.block_size) + 4")
    found = one(changed("0.33.0", ["boot_is_tight"], patch), "full", "sliding window")
    assert isinstance(found.verdict, Refuted)


def test_a_scheduler_that_forgets_the_budget_is_refuted() -> None:
    """The cap then falls back to the greatest length: the wiring is the fork's own, not ours."""
    line = "max_in_flight_tokens=vllm_config.max_in_flight_tokens,"
    found = changed("0.33.0", ["boot_covers_gate"], ("v1/core/sched/scheduler.py", line, ""))
    assert refuted(one(found, "full", "sliding window", batches="1"))["window"] == 1


def edited(file: str, edit: Callable[[str], str], version: str = "0.21.0") -> tuple[str, str, str]:
    """Make a patch of a whole file of a release."""
    source = released(version)
    text = (source.root / source.package / file).read_text()
    assert edit(text) != text
    return file, text, edit(text)


def with_helper(text: str) -> str:
    """Give the window a field, and the cap a helper that branches on its argument."""
    helper = (
        "def _seen(tokens):\n    return tokens if tokens > 0 else 0\n\n\n@dataclass(frozen=True)\nclass KVCacheSpec"
    )
    text = text.replace("@dataclass(frozen=True)\nclass KVCacheSpec", helper, 1)
    text = text.replace(
        "    sliding_window: int\n    head_size_v", "    sliding_window: int\n    margin: int = 0\n    head_size_v"
    )
    return text.replace("self.sliding_window - 1 + max_num", "_seen(self.sliding_window - 1) + self.margin + max_num")


def with_parameter(declaration: str) -> Callable[[str], str]:
    """Add a parameter to the cap methods."""
    method = re.compile(r"(def max_admission_blocks_per_request\(\s*self,.*?max_model_len: int)", re.DOTALL)
    return lambda text: method.sub(rf"\1, {declaration}", text)


def passing_it(text: str) -> str:
    """Pass the new parameter wherever the cap methods are called."""
    return re.sub(r"(\.max_admission_blocks_per_request\()", r"\1reserve=0, ", text)


def test_a_field_and_a_helper_that_nobody_foresaw_are_executed() -> None:
    found = one(changed("0.21.0", ["cap_covers_held"], edited(INTERFACE, with_helper)), "sliding window")
    assert isinstance(found.verdict, Proved)


def test_an_optional_parameter_is_left_at_its_default_and_named() -> None:
    patch = edited(INTERFACE, with_parameter("reserve: int = 0"))
    found = one(changed("0.21.0", ["cap_covers_held"], patch), "sliding window")
    assert isinstance(found.verdict, Proved)
    assert "SlidingWindowSpec.max_admission_blocks_per_request: reserve is left at its default" in found.assumed


def test_a_required_parameter_is_unsupported_and_named() -> None:
    interface = edited(INTERFACE, lambda text: passing_it(with_parameter("reserve: int")(text)))
    found = changed("0.21.0", ["cap_covers_held", "boot_covers_gate"], interface, edited(MANAGERS, passing_it))
    cap = one((j for j in found if j.name == "cap_covers_held"), "sliding window")
    assert isinstance(cap.verdict, Unsupported)
    assert "reserve" in cap.verdict.what
    gate = one((j for j in found if j.name == "boot_covers_gate"), "full", "sliding window", batches="1")
    assert isinstance(gate.verdict, Refuted), "the fork's own callers know the parameter"


def test_a_loop_over_tokens_is_named_with_its_place() -> None:
    patch = (
        INTERFACE,
        "return cdiv(num_tokens, self.block_size) + 1",
        "return sum(1 for _ in range(0, num_tokens, self.block_size)) + 1",
    )
    found = one(changed("0.21.0", ["cap_covers_held"], patch), "sliding window")
    assert isinstance(found.verdict, Inconclusive)
    assert "kv_cache_interface.py" in found.verdict.reason
    assert "max_admission_blocks_per_request" in found.verdict.reason


def test_a_pool_that_keeps_a_share_of_its_blocks_is_not_taken_for_one_that_keeps_the_null_block() -> None:
    line = "self.null_block = self.free_block_queue.popleft()"
    patch = ("v1/core/block_pool.py", line, f"{line}; self.free_block_queue.popleft_n(num_gpu_blocks // 64)")
    found = one(changed("0.33.0", ["boot_covers_gate"], patch), "full")
    assert isinstance(found.verdict, Inconclusive)
    assert "keeps a share back" in found.verdict.reason


def test_a_pool_that_keeps_one_block_more_is_refuted() -> None:
    line = "self.null_block = self.free_block_queue.popleft()"
    patch = ("v1/core/block_pool.py", line, f"{line}; self.spare = self.free_block_queue.popleft()")
    found = one(changed("0.33.0", ["boot_covers_gate"], patch), "full")
    assert refuted(found)["blocks"] == 2


def test_code_that_crashes_for_some_configurations_is_inconclusive() -> None:
    patch = (
        INTERFACE,
        "return cdiv(num_tokens, self.block_size) + 1",
        "return cdiv(num_tokens, self.block_size) + 1 // abs(self.sliding_window - 77)",
    )
    found = one(changed("0.21.0", ["cap_covers_held"], patch), "sliding window")
    assert isinstance(found.verdict, Inconclusive)
    assert "ZeroDivisionError" in found.verdict.reason
    assert "window = 77" in found.verdict.reason
