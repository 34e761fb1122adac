"""The formulas of `spec` in words, numbers substituted, down to the result that `spec` itself computes."""

from __future__ import annotations

from ..inputs.numbers import known
from ..oracle.counting import counted
from ..render.records import GroupLine, Requirement
from ..spec import (
    Attention,
    Cap,
    ChunkedLocal,
    Deployment,
    Design,
    Group,
    SlidingWindow,
    Term,
    UnsupportedError,
    boot_requirement,
    cap,
    cdiv,
    charged,
    first_step_requirement,
    gate_length,
    gate_requirement,
    group_requirement,
)
from ..spec.sizing import budget
from ..spec.states import MambaAlign, MambaAll, MambaNone
from .excess import Excess


def boot_lines(deployment: Deployment, design: Design) -> Requirement:
    """Spell out what boot requires."""
    lines = tuple(_boot_line(group, deployment, design) for group in deployment.groups)
    null = 1 if design.boot_reserves_null else 0
    return Requirement("boot requires", lines, null, known(boot_requirement(deployment, design)))


def _boot_line(group: Group, deployment: Deployment, design: Design) -> GroupLine:
    formula = " = ".join(_boot(group.cache, deployment, design))
    return _line(group, formula, group_requirement(group.cache, deployment, design))


def admission_lines(tokens: int, deployment: Deployment, design: Design) -> Requirement:
    """Spell out what admission requires of a request of so many tokens: the gate's demand, or the first step's."""
    gate = known(gate_requirement(tokens, deployment, design))
    first = known(first_step_requirement(tokens, deployment, design))
    if design.gate and gate >= first:
        slots = known(gate_length(tokens, deployment, design))
        beyond = f", {counted(slots, 'slot')} at most" if slots > tokens else ""
        return _charges(
            f"the gate requires of {counted(tokens, 'token')}{beyond}", slots, deployment, design, design.gate_cap
        )
    slots = min(_first_slots(tokens, deployment, design), known(deployment.max_model_len))
    return _charges(
        f"the first step requires of {counted(tokens, 'token')}", slots, deployment, design, design.step_cap
    )


def _first_slots(tokens: int, deployment: Deployment, design: Design) -> int:
    lookahead = known(deployment.lookahead) if design.admission_lookahead else 0
    return min(tokens, known(deployment.max_num_batched_tokens)) + lookahead


def _charges(title: str, tokens: int, deployment: Deployment, design: Design, kind: Cap) -> Requirement:
    lines = tuple(
        _line(
            group,
            _charge(group.cache, tokens, deployment, design, kind),
            _charged(group, tokens, deployment, design, kind),
        )
        for group in deployment.groups
    )
    return Requirement(title, lines, 0, sum(line.count * line.blocks for line in lines))


def _charged(group: Group, tokens: int, deployment: Deployment, design: Design, kind: Cap) -> Term:
    return charged(group.cache, tokens, deployment, design, kind)


def _charge(cache: Attention, tokens: int, deployment: Deployment, design: Design, kind: Cap) -> str:
    if isinstance(cache, MambaNone):
        return _states_charge(cache, tokens, deployment, design, kind)
    divisor = f"{cache.block_size}" if cache.recycles else _sharded(cache, deployment)
    whole = f"ceil({tokens}/{divisor})"
    limit = cap(cache, deployment, design, kind)
    if limit is None:
        return whole
    bound, *_ = _bound(cache, "1", 1, deployment) if kind is Cap.WINDOW else _boot(cache, deployment, design)
    return f"min({whole}, {bound}) = min({cdiv(tokens, cache.block_size)}, {limit})"


def _states_charge(cache: MambaNone, tokens: int, deployment: Deployment, design: Design, kind: Cap) -> str:
    """Spell out the states that admission charges: aligned ones whole where growth is reserved."""
    if not isinstance(cache, MambaAlign):
        return f"ceil({tokens}/{cache.block_size}){_more(cache.speculative)}"
    if design.reserves_growth and kind is not Cap.NONE:
        return _states(cache, deployment, design)
    return f"1{_more(cache.speculative)}"


def _states(cache: MambaNone, deployment: Deployment, design: Design) -> str:
    """Spell out the states that boot reserves: those of the tokens, then speculated, checkpointed and in flight."""
    tokens = {MambaAlign: "2", MambaAll: f"ceil({deployment.max_model_len}/{cache.block_size})"}.get(type(cache), "1")
    counted = cache.speculative if cache.kind in design.planning.speculated_states else 0
    plain = cache.bound(1, deployment.max_model_len) - cache.speculative
    beyond = group_requirement(cache, deployment, design) - plain - counted
    checkpoint = getattr(cache, "checkpoint", 0)
    return f"{tokens}{_more(counted)}{_more(checkpoint)}{_more(beyond)}"


def _more(blocks: Term) -> str:
    return f" + {blocks}" if blocks else ""


def _sharded(cache: Attention, deployment: Deployment) -> str:
    ranks = deployment.context_parallel
    return f"{cache.block_size}" if ranks == 1 else f"({cache.block_size}*{ranks})"


def _boot(cache: Attention, deployment: Deployment, design: Design) -> tuple[str, ...]:
    """Spell out the bound that boot uses, and the same with its inner terms worked out."""
    if isinstance(cache, MambaNone):
        return (_states(cache, deployment, design),)
    if not cache.recycles:
        ranks, length = deployment.context_parallel, deployment.max_model_len
        return (f"ceil({length if ranks == 1 else f'ceil({length}/{ranks})'}/{cache.block_size})",)
    return _bound(cache, _budget(deployment, design), known(budget(deployment, design)), deployment)


def _budget(deployment: Deployment, design: Design) -> str:
    """Spell out the tokens beside the window that boot allows for."""
    batches, lookahead = known(deployment.max_concurrent_batches), known(deployment.lookahead)
    text = f"{deployment.max_num_batched_tokens}"
    if design.in_flight_budget and batches > 1:
        text = f"{batches}*{text}"
    return f"{text} + {lookahead}-1" if design.lookahead_budget and lookahead > 1 else text


def _bound(cache: Attention, tokens_text: str, tokens: int, deployment: Deployment) -> tuple[str, ...]:
    length, block = known(deployment.max_model_len), cache.block_size
    kept, text, misaligned = _retained(cache)
    counted = min(kept + tokens, length)
    return (
        f"ceil(min({text} + {tokens_text}, {length})/{block}){misaligned}",
        f"ceil({counted}/{block}){misaligned}",
    )


def _retained(cache: Attention) -> tuple[int, str, str]:
    """Count the tokens that a recycling kind keeps, spell them out, and add the block for misalignment."""
    if isinstance(cache, SlidingWindow):
        more = f"+{cache.extra_retained}" if cache.extra_retained else ""
        return known(cache.retained()), f"{cache.window}-1{more}", " + 1"
    if isinstance(cache, ChunkedLocal):
        return known(cache.chunk), f"{cache.chunk}", ""
    raise UnsupportedError(f"spelling out the bound of a {cache.kind} group")


def _line(group: Group, formula: str, blocks: Term) -> GroupLine:
    return GroupLine(describe(group.cache), known(group.count), f"{formula} = {blocks}", known(blocks))


def describe(cache: Attention) -> str:
    """Name a cache kind with its sizes."""
    match cache:
        case SlidingWindow():
            kept = f", {cache.extra_retained} more retained" if cache.extra_retained else ""
            return f"{cache.kind}, block {cache.block_size}, window {cache.window}{kept}"
        case ChunkedLocal():
            return f"{cache.kind}, block {cache.block_size}, chunk {cache.chunk}"
        case MambaNone():
            speculative = f", {cache.speculative} speculated" if cache.speculative else ""
            return f"{cache.kind}, block {cache.block_size}{speculative}"
        case _:
            return f"{cache.kind}, block {cache.block_size}"


def excess_lines(excess: Excess, deployment: Deployment, design: Design) -> tuple[str, str]:
    """Spell out what a group holds after a step and what boot and gate count for it."""
    cache = deployment.groups[excess.group].cache
    slots = f"min({excess.computed} + {excess.scheduled} + {excess.lookahead}, {deployment.max_model_len})"
    table = f"ceil({slots}/{cache.block_size})"
    return (
        f"held = {table} - floor({_skipped(cache, excess.processed)}/{cache.block_size}) = {excess.held}",
        f"counted = {' = '.join(_boot(cache, deployment, design))} = {excess.cap}",
    )


def _skipped(cache: Attention, processed: int) -> str:
    if isinstance(cache, ChunkedLocal):
        return f"floor({processed}/{cache.chunk})*{cache.chunk}"
    if isinstance(cache, SlidingWindow):
        return f"max(0, {processed} - {cache.window} + 1 - {cache.extra_retained})"
    return "0"
