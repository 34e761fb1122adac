"""Where a chunk of a prompt ends beside aligned states, by the releases' two rules."""

from __future__ import annotations

import pytest

from poolproof.spec import Deployment, FullAttention, Group, named
from poolproof.spec.chunking import chunking
from poolproof.spec.states import MambaAlign, MambaNone


def chunks(design: str, prompt: int, budget: int, lookahead: int = 0, block: int = 4) -> list[int]:
    """List the chunks in which a lone prompt is computed; a last 0 says that it waits for ever."""
    deployment = Deployment((Group(FullAttention(8)), Group(MambaAlign(block))), 64, budget, lookahead=lookahead)
    rule = chunking(deployment, named(design))
    assert rule is not None
    done, sizes = 0, list[int]()
    while done < prompt and sizes[-1:] != [0]:
        sizes.append(rule.scheduled(done, min(budget, prompt - done), prompt, prompt))
        done += sizes[-1]
    return sizes


@pytest.mark.parametrize(
    ("design", "prompt", "budget", "lookahead", "expected"),
    [
        # Whole blocks up to the last boundary, and the rest by itself.
        ("vllm-0.19", 18, 10, 0, [8, 8, 2]),
        ("vllm-0.28", 18, 10, 0, [8, 8, 2]),
        # A drafter's last block is not shared: the last boundary is one block earlier.
        ("vllm-0.19", 18, 64, 4, [12, 6]),
        ("vllm-0.33", 18, 64, 4, [12, 6]),
        # A prompt of whole blocks ends at a boundary, until the last one had to lie before its last token.
        ("vllm-0.30", 16, 64, 0, [16]),
        ("vllm-0.33", 16, 64, 0, [12, 4]),
        # A block that is wider than a step waits for ever, until it could be computed in parts.
        ("vllm-0.25", 18, 3, 0, [0]),
        ("vllm-0.28", 18, 3, 0, [3, 1, 3, 1, 3, 1, 3, 1, 2]),
        # Between the last boundary and the end of the prompt anything goes.
        ("vllm-0.25", 11, 3, 4, [0]),
        ("vllm-0.25", 7, 3, 4, [3, 3, 1]),
    ],
)
def test_a_prompt_is_computed_in_these_chunks(
    design: str, prompt: int, budget: int, lookahead: int, expected: list[int]
) -> None:
    assert chunks(design, prompt, budget, lookahead) == expected


def test_decoding_is_not_cut() -> None:
    rule = chunking(Deployment((Group(MambaAlign(4)),), 64, 16), named("vllm-0.33"))
    assert rule is not None
    assert [rule.scheduled(start, 5, 8, start + 1) for start in range(8, 16)] == [5] * 8


def test_the_smallest_block_of_any_group_cuts() -> None:
    wide = chunking(Deployment((Group(FullAttention(2)), Group(MambaAlign(8))), 64, 16), named("vllm-0.33"))
    assert wide is not None
    assert wide.block == 2


def test_only_aligned_states_cut() -> None:
    assert chunking(Deployment((Group(FullAttention(4)), Group(MambaNone(64))), 64, 16), named("vllm-0.33")) is None
