"""Hypothesis strategies for deployments and requests: one that is valid by construction, and a wilder one."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from ..spec.attention import Attention, ChunkedLocal, FullAttention, MLAAttention, SlidingWindow
from ..spec.deployment import Deployment, Group
from ..spec.design import Design
from ..spec.sizing import boot_requirement
from ..spec.states import MambaNone
from .drawing import BLOCK_SIZES, STATES
from .engine import Submission


@st.composite
def deployments(draw: DrawFn, design: Design, *, wild: bool = False, batches: int = 1) -> Deployment:
    """Draw a deployment of one to six groups whose pool passes the boot of a design.

    Args:
        draw: Hypothesis' own.
        design: The design whose boot decides on the pool.
        wild: Let the pool be smaller than boot demands, as an engine without that check is run.
        batches: The batches in flight.
    """
    length = draw(st.sampled_from((8, 12, 16, 24, 32, 40)))
    drafts = batches == 1 or design.drafts_in_flight
    lookahead = draw(st.sampled_from((0, 0, 0, 1, 2, 3, 4, 5) if drafts else (0,)))
    chunked = draw(st.integers(0, 3)) > 0
    budget = st.integers(lookahead + 1, length) if chunked else st.integers(length, 2 * length)
    deployment = Deployment(
        groups=draw(groups(length, lookahead, design)),
        max_model_len=length,
        max_num_batched_tokens=draw(budget),
        max_num_seqs=draw(st.sampled_from((8, 3, 2, 1))),
        max_concurrent_batches=batches,
        lookahead=lookahead,
        chunked_prefill=chunked,
        watermark=draw(st.sampled_from((0, 0, 1, 2))) if design.watermark else 0,
    )
    return replace(deployment, blocks=draw(_pools(boot_requirement(deployment, design), wild)))


@st.composite
def groups(draw: DrawFn, length: int, lookahead: int, design: Design) -> tuple[Group, ...]:
    """Draw one to six groups, recurrent ones of one kind among them in some of the draws."""
    others = draw(st.lists(caches(length), min_size=0, max_size=6))
    states = draw(st.lists(recurrent(length, lookahead, design), min_size=0 if others else 1, max_size=1))
    return tuple(Group(cache) for cache in (*others[: 6 - len(states)], *states))


@st.composite
def recurrent(draw: DrawFn, length: int, lookahead: int, design: Design) -> MambaNone:
    """Draw a recurrent cache of a kind that the design has."""
    kind = draw(st.sampled_from([kind for kind in STATES if kind in design.planning.kinds]))
    size = draw(st.sampled_from((length, *BLOCK_SIZES) if kind == MambaNone.kind else BLOCK_SIZES))
    return STATES[kind](size, draw(st.sampled_from((lookahead, 0, 1, 3))))


@st.composite
def caches(draw: DrawFn, length: int) -> Attention:
    """Draw a cache of any kind that keeps tokens, with sizes that fit a sequence of this length."""
    size = draw(st.sampled_from(BLOCK_SIZES))
    reach = draw(st.integers(1, length))
    kinds: list[Attention] = [
        FullAttention(size),
        MLAAttention(size),
        SlidingWindow(size, reach),
        ChunkedLocal(size, reach),
    ]
    return draw(st.sampled_from(kinds))


@st.composite
def submissions(draw: DrawFn, deployment: Deployment, name: str, *, priority: bool) -> Submission:
    """Draw a request of this name that an engine accepts: long prompts, and short ones that soon decode."""
    longest = int(deployment.max_model_len) - 1
    prompt = draw(st.one_of(st.integers(1, longest), st.integers(1, min(3, longest))))
    output = draw(st.integers(1, int(deployment.max_model_len) - prompt))
    return Submission(name, prompt, output, draw(st.integers(0, 2)) if priority else 0)


def _pools(least: int, wild: bool) -> SearchStrategy[int]:
    """Draw a pool around the least size that boot accepts: exactly it, a little more, twice as much, or less."""
    enough = st.one_of(st.just(least), st.integers(least, least + 2), st.integers(least, 2 * least))
    return st.one_of(enough, st.integers(2, max(2, least))) if wild else enough
