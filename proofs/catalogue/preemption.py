"""What a gate that looks at the blocks free at that moment lets run out later, and where it does not matter."""

from __future__ import annotations

from ...spec.admission import charged, gate_requirement
from ...spec.arithmetic import Term, every
from ...spec.attention import blocks_for
from ...spec.design import SOUND
from ...spec.sharing import passes_beside, reservation
from ...spec.sizing import usable
from ..theorem import (
    Expectation,
    Formula,
    Point,
    Premise,
    Quantity,
    Statement,
    Theorem,
    Variable,
    at_most,
    given,
    implies,
    legal_deployment,
    variant,
)
from .common import (
    BLOCK_SIZE,
    BLOCKS,
    COMPUTED,
    LOOKAHEAD,
    MAX_MODEL_LEN,
    MAX_NUM_BATCHED_TOKENS,
    TOKENS,
    TOKENS_WITHIN_LENGTH,
    USABLE,
    WINDOW,
    deployed,
    deployment,
    full,
    window,
)
from .mutated import SecondSpareBlock

FAMILY = "preemption"

_OTHER_TOKENS = Variable("other_tokens", "tokens", "the last length of the request that is admitted second")
_PROMPT = Variable("prompt", "tokens", "the tokens with which the request asks to be admitted")
_OTHER_PROMPT = Variable("other_prompt", "tokens", "the tokens with which the second request asks")


def _stepwise(at: Point) -> Point:
    """Set the budget, which full attention does not read, to one whole sequence."""
    return at.but(max_num_batched_tokens=at.max_model_len)


def _need(tokens: Formula) -> Quantity:
    """Count what the gate demands for so many tokens of full attention."""
    return Quantity("need", lambda at: gate_requirement(tokens(at), deployment(_stepwise(at), full(at)), SOUND))


_FIRST, _SECOND = _need(lambda at: at.tokens), _need(lambda at: at.other_tokens)
_BOTH = Quantity("both need", lambda at: _FIRST.of(at) + _SECOND.of(at))
_LEGAL = legal_deployment(lambda at: deployed(full)(_stepwise(at)))
_LENGTHS: Premise = given(
    "other_tokens: 1 to max_model_len", lambda at: every([at.other_tokens >= 1, at.other_tokens <= at.max_model_len])
)


def _never_runs_out(first: Formula, second: Formula, taken: Formula) -> Statement:
    """State that two requests which pass the gate one after the other fit when both are at their last length."""
    return Statement(
        "both gates pass => both fit at their last length",
        lambda at: implies(
            every(
                [
                    passes_beside(first(at), usable(at.blocks), 0),
                    passes_beside(second(at), usable(at.blocks), taken(at)),
                ]
            ),
            _BOTH.of(at) <= usable(at.blocks),
        ),
        (_BOTH, USABLE),
    )


def _held(at: Point) -> Term:
    return blocks_for(at.computed, at.block_size)


_RUNNING = given("computed: 1 to tokens", lambda at: every([at.computed >= 1, at.computed <= at.tokens]))
_BESIDE = Statement("a block stays free beside both gates", lambda at: _SECOND.of(at) + _held(at) < usable(at.blocks))

ON_FREE = Theorem(
    name="gate_against_free_blocks_never_runs_out",
    sentence="A gate that sets a request's last length against the blocks that are free at that moment admits only "
    "requests that fit together to their ends.",
    family=FAMILY,
    variables=(BLOCK_SIZE, MAX_MODEL_LEN, TOKENS, COMPUTED, _OTHER_TOKENS, BLOCKS),
    premises=(_LEGAL, TOKENS_WITHIN_LENGTH, _LENGTHS, _RUNNING),
    claim=_never_runs_out(_FIRST.of, _SECOND.of, _held),
    covers=(_BESIDE,),
    expected=Expectation.REFUTED,
    least_sum=10,
)

ON_RESERVED = Theorem(
    name="gate_against_reservations_never_runs_out",
    sentence="A gate that sets a request's last length against what the first has reserved for its own last length "
    "admits only requests that fit together to their ends.",
    family=FAMILY,
    variables=(BLOCK_SIZE, MAX_MODEL_LEN, TOKENS, COMPUTED, _OTHER_TOKENS, BLOCKS),
    premises=(_LEGAL, TOKENS_WITHIN_LENGTH, _LENGTHS, _RUNNING),
    claim=_never_runs_out(_FIRST.of, _SECOND.of, _FIRST.of),
    covers=(_BESIDE, Statement("both just fit", lambda at: _BOTH.of(at) == usable(at.blocks))),
    mutants=(
        variant("the second is set against what is free", _never_runs_out(_FIRST.of, _SECOND.of, _held)),
        variant(
            "the second is let in one block early", _never_runs_out(_FIRST.of, lambda at: _SECOND.of(at) - 1, _FIRST.of)
        ),
    ),
)

_PROMPTS = given(
    "prompts are no longer than the last lengths",
    lambda at: every(
        [at.prompt >= 1, at.prompt <= at.tokens, at.other_prompt >= 1, at.other_prompt <= at.other_tokens]
    ),
)
_AT_GATE, _OTHER_AT_GATE = _need(lambda at: at.prompt), _need(lambda at: at.other_prompt)

ON_PROMPTS = Theorem(
    name="gate_that_adds_up_prompts_never_runs_out",
    sentence="A gate that adds up what the prompts need, and not what the answers will, admits only requests that fit "
    "together to their ends.",
    family=FAMILY,
    variables=(BLOCK_SIZE, MAX_MODEL_LEN, TOKENS, _PROMPT, _OTHER_TOKENS, _OTHER_PROMPT, BLOCKS),
    premises=(_LEGAL, TOKENS_WITHIN_LENGTH, _LENGTHS, _PROMPTS),
    claim=_never_runs_out(_AT_GATE.of, _OTHER_AT_GATE.of, _AT_GATE.of),
    covers=(Statement("both answer", lambda at: every([at.prompt < at.tokens, at.other_prompt < at.other_tokens])),),
    expected=Expectation.REFUTED,
    least_sum=11,
)


def _charged(tokens: Formula) -> Quantity:
    """Count what the gate charges a window group for so many tokens."""

    def of(at: Point) -> Term:
        return charged(window(at), tokens(at), deployment(at, window(at)), SOUND, SOUND.gate_cap)

    return Quantity("charged", of)


def _reserved(kind: type = SecondSpareBlock) -> Quantity:
    def of(at: Point) -> Term:
        return reservation(window(at, kind), at.tokens, deployment(at, window(at)), SOUND)

    return Quantity("reserved", of)


def _saturating(at: Point) -> Term:
    """Count the tokens from which on a prompt is charged the cap: what the cap spans, and a block more."""
    lookahead = deployment(at).lookahead
    return at.window + at.max_num_batched_tokens + lookahead + at.block_size - 1


_LAST = Quantity("reserved", lambda at: reservation(window(at), at.tokens, deployment(at, window(at)), SOUND))

SATURATED = Theorem(
    name="prompt_that_spans_the_cap_is_charged_for_all_that_it_will_hold",
    sentence="A prompt that is longer by a block than what the cap of a window spans is charged at the gate for all "
    "that the request will ever hold.",
    family=FAMILY,
    variables=(BLOCK_SIZE, WINDOW, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, LOOKAHEAD, TOKENS, _PROMPT),
    premises=(
        legal_deployment(deployed(window)),
        TOKENS_WITHIN_LENGTH,
        given("prompt <= tokens", lambda at: at.prompt <= at.tokens),
        given("the prompt spans the cap and a block", lambda at: at.prompt >= _saturating(at)),
    ),
    claim=at_most(_LAST, _charged(lambda at: at.prompt)),
    covers=(
        Statement("the answer is longer than a block", lambda at: at.tokens > at.prompt + at.block_size),
        Statement("lookahead takes slots", lambda at: at.lookahead >= 2),
    ),
    mutants=(
        variant("the cap alone is spanned", at_most(_LAST, _charged(lambda at: at.prompt - at.block_size))),
        variant("the window alone is spanned", at_most(_LAST, _charged(lambda at: at.window))),
        variant("the request may hold a block more", at_most(_reserved(), _charged(lambda at: at.prompt))),
    ),
)

THEOREMS = (ON_FREE, ON_RESERVED, ON_PROMPTS, SATURATED)
