"""A formula changed anywhere in `spec` makes `prove` fail, with a counterexample of small numbers.

Each fault is listed with a theorem that falls by it: no search is needed, and the list shows what a theorem is for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from poolproof.oracle.verdict import REFUTED, Refuted, exit_code
from poolproof.proofs.runner import check_all
from poolproof.spec import admission, attention, sizing
from poolproof.spec.arithmetic import Term, cdiv, fdiv, maximum, minimum, total
from poolproof.spec.attention import Attention, ChunkedLocal, FullAttention, SlidingWindow, slots_needed
from poolproof.spec.deployment import Deployment
from poolproof.spec.design import Design

Formula = Callable[..., Any]

LARGEST = 6

budget = sizing.budget
gate = admission.gate_requirement


def window_bound(retained: Formula, divide: Formula, choose: Formula, spare: int) -> Formula:
    return lambda self, tokens, length: divide(choose(retained(self) + tokens, length), self.block_size) + spare


def chunk_bound(kept: int, divide: Formula, choose: Formula, spare: int) -> Formula:
    return lambda self, tokens, length: divide(choose(self.chunk + kept + tokens, length), self.block_size) + spare


def full_bound(divide: Formula, spare: int) -> Formula:
    return lambda self, _, length: divide(length, self.block_size) + spare


def skips(choose: Formula, more: int) -> Formula:
    return lambda self, processed: choose(0, processed - self.window + 1 + more - self.extra_retained)


def skips_all_but_one(_: FullAttention, processed: Term) -> Term:
    return maximum(0, processed - 1)


def skips_chunks(divide: Formula, fewer: int) -> Formula:
    return lambda self, processed: maximum(0, divide(processed, self.chunk) - fewer) * self.chunk


def retains(more: int) -> Formula:
    return lambda self: self.window - 1 + more + self.extra_retained


def retains_nothing_extra(self: SlidingWindow) -> Term:
    return self.window - 1


def recycles(divide: Formula, fewer: int) -> Formula:
    def recycled(cache: Attention, processed: Term) -> Term:
        return maximum(0, divide(cache.skipped(processed), cache.block_size) - fewer)

    return recycled


def no_lookahead(computed: Term, scheduled: Term, _: Term, length: Term) -> Term:
    return minimum(computed + scheduled, length)


def budget_under(**decisions: bool) -> Formula:
    def changed(deployment: Deployment, design: Design) -> Term:
        return budget(deployment, replace(design, **decisions))

    return changed


def length_with_one_batch_fewer(tokens: Term, deployment: Deployment, design: Design) -> Term:
    return slots_needed(0, tokens, deployment.max_concurrent_batches * deployment.lookahead, deployment.max_model_len)


def gate_of_groups_counted_once(tokens: Term, deployment: Deployment, design: Design) -> Term:
    length = admission.gate_length(tokens, deployment, design)
    charges = (
        admission.charged(group.cache, length, deployment, design, design.gate_cap) for group in deployment.groups
    )
    return total(charges)


def gate_of_one_where_there_is_none(tokens: Term, deployment: Deployment, design: Design) -> Term:
    return gate(tokens, deployment, design) if design.gate else 1


def budget_less_one(deployment: Deployment, design: Design) -> Term:
    return budget(deployment, design) - 1


retained = SlidingWindow.retained

METHODS: dict[str, tuple[type, str, Formula, str]] = {
    "window cap without the spare block": (
        SlidingWindow,
        "bound",
        window_bound(retained, cdiv, minimum, 0),
        "window_stays_within_cap",
    ),
    "window cap with two spare blocks": (
        SlidingWindow,
        "bound",
        window_bound(retained, cdiv, minimum, 2),
        "window_cap_is_attained_but_for_one_block",
    ),
    "window cap rounded down": (
        SlidingWindow,
        "bound",
        window_bound(retained, fdiv, minimum, 1),
        "window_stays_within_cap",
    ),
    "window cap with max for min": (
        SlidingWindow,
        "bound",
        window_bound(retained, cdiv, maximum, 1),
        "window_cap_is_attained_but_for_one_block",
    ),
    "W for W - 1 in the cap": (
        SlidingWindow,
        "retained",
        retains(1),
        "window_cap_is_attained_but_for_one_block",
    ),
    "W - 2 for W - 1 in the cap": (
        SlidingWindow,
        "retained",
        retains(-1),
        "window_with_one_lookahead_token_stays_within_cap",
    ),
    "extra tokens not retained": (
        SlidingWindow,
        "retained",
        retains_nothing_extra,
        "window_with_extra_retained_tokens_stays_within_cap",
    ),
    "one token more skipped": (
        SlidingWindow,
        "skipped",
        skips(maximum, 1),
        "recycled_window_block_is_never_read",
    ),
    "one token fewer skipped": (SlidingWindow, "skipped", skips(maximum, -1), "unread_window_block_is_recycled"),
    "min for max in what is skipped": (SlidingWindow, "skipped", skips(minimum, 0), "unread_window_block_is_recycled"),
    "full attention rounded down at boot": (
        FullAttention,
        "bound",
        full_bound(fdiv, 0),
        "full_attention_stays_within_requirement",
    ),
    "full attention with a spare block at boot": (
        FullAttention,
        "bound",
        full_bound(cdiv, 1),
        "full_attention_requirement_is_attained",
    ),
    "full attention that skips": (
        FullAttention,
        "skipped",
        skips_all_but_one,
        "full_attention_requirement_is_attained",
    ),
    "chunk minus one": (
        ChunkedLocal,
        "bound",
        chunk_bound(-1, cdiv, minimum, 0),
        "any_chunk_in_blocks_of_two_stays_within_cap",
    ),
    "chunk cap rounded down": (
        ChunkedLocal,
        "bound",
        chunk_bound(0, fdiv, minimum, 0),
        "chunk_of_whole_blocks_stays_within_cap",
    ),
    "chunk cap with max for min": (
        ChunkedLocal,
        "bound",
        chunk_bound(0, cdiv, maximum, 0),
        "chunk_cap_is_attained_but_for_one_block",
    ),
    "chunk cap with a spare block": (
        ChunkedLocal,
        "bound",
        chunk_bound(0, cdiv, minimum, 1),
        "chunk_cap_is_attained_but_for_one_block",
    ),
    "chunks rounded up in what is skipped": (
        ChunkedLocal,
        "skipped",
        skips_chunks(cdiv, 0),
        "recycled_chunk_block_is_never_read",
    ),
    "one chunk fewer skipped": (ChunkedLocal, "skipped", skips_chunks(fdiv, 1), "unread_chunk_block_is_recycled"),
}

FUNCTIONS: dict[str, tuple[Formula, Formula, str]] = {
    "floor for ceiling in allocation": (attention.blocks_for, fdiv, "table_covers_every_slot"),
    "a block more in allocation": (
        attention.blocks_for,
        lambda tokens, size: cdiv(tokens, size) + 1,
        "table_has_no_empty_block",
    ),
    "ceiling for floor in recycling": (attention.recycled, recycles(cdiv, 0), "recycled_window_block_is_never_read"),
    "a block fewer recycled": (attention.recycled, recycles(fdiv, 1), "unread_window_block_is_recycled"),
    "lookahead forgotten in the slots": (
        attention.slots_needed,
        no_lookahead,
        "window_cap_is_attained_but_for_one_block",
    ),
    "null block usable": (
        sizing.usable,
        lambda blocks: blocks,
        "no_pool_below_the_boot_check_admits_the_longest_request",
    ),
    "two blocks unusable": (
        sizing.usable,
        lambda blocks: blocks - 2,
        "full_attention_gate_passes_where_boot_counts_the_null_block",
    ),
    "null block dropped at boot": (
        sizing.boot_requirement,
        sizing.request_requirement,
        "boot_covers_admission_for_any_number_of_groups",
    ),
    "lookahead forgotten in the budget": (
        sizing.budget,
        budget_under(lookahead_budget=False),
        "window_stays_within_cap_that_pays_for_all_but_one_lookahead_token",
    ),
    "one batch in the budget": (
        sizing.budget,
        budget_under(in_flight_budget=False),
        "window_with_batches_in_flight_stays_within_cap",
    ),
    "a token less in the budget": (
        sizing.budget,
        budget_less_one,
        "window_with_one_lookahead_token_stays_within_cap",
    ),
    "a batch of drafts forgotten in what a request grows to": (
        admission.gate_length,
        length_with_one_batch_fewer,
        "gate_that_reserves_growth_pays_for_full_attention_to_the_end",
    ),
    "alike groups counted once at the gate": (
        admission.gate_requirement,
        gate_of_groups_counted_once,
        "gate_of_alike_groups_demands_as_many_times_one",
    ),
    "a block demanded where there is no gate": (
        admission.gate_requirement,
        gate_of_one_where_there_is_none,
        "design_without_a_gate_demands_nothing_at_it",
    ),
}


def replace_everywhere(monkeypatch: pytest.MonkeyPatch, old: Formula, new: Formula) -> None:
    """Replace a function in every module that has imported it by name."""
    for name, module in list(sys.modules.items()):
        if name.startswith("poolproof."):
            for attribute in [key for key, value in vars(module).items() if value is old]:
                monkeypatch.setattr(module, attribute, new)


def assert_refuted(theorem: str) -> None:
    """Expect of `prove` exit code 1, and a counterexample that fits in the head."""
    (outcome,) = check_all([theorem])
    assert isinstance(outcome.verdict, Refuted), outcome
    assert max(value for _, value in outcome.verdict.witness.values) <= LARGEST
    assert exit_code([outcome.verdict]) == REFUTED


@pytest.mark.parametrize("fault", METHODS)
def test_no_fault_in_a_method_survives(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, method, mutated, theorem = METHODS[fault]
    monkeypatch.setattr(kind, method, mutated)
    assert_refuted(theorem)


@pytest.mark.parametrize("fault", FUNCTIONS)
def test_no_fault_in_a_function_survives(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old, mutated, theorem = FUNCTIONS[fault]
    replace_everywhere(monkeypatch, old, mutated)
    assert_refuted(theorem)
