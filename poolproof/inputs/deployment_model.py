"""The deployment file as its reader types it: the shape, the published JSON schema, and the way to a Deployment.

The models know shapes and types only. What makes a deployment legal is stated once, in `spec.deployment.legal`; the
schema repeats its least values for editors, and a test compares the two. The model of a group is made from the fields
of its cache kind.
"""

from __future__ import annotations

import dataclasses
from dataclasses import fields
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic_core import PydanticCustomError

from ..spec import Attention, ChunkedLocal, Deployment, FullAttention, Group, MLAAttention, SlidingWindow
from ..spec.deployment import cache_is_legal
from ..spec.states import MambaAlign, MambaAll, MambaNone
from .deployment_flags import AS_DRAFTED

LARGEST = 10**12
"""The largest number that is read; no engine counts that many tokens or blocks."""

OneOrMore: TypeAlias = Annotated[int, Field(strict=True, le=LARGEST, json_schema_extra={"minimum": 1})]
ZeroOrMore: TypeAlias = Annotated[int, Field(strict=True, le=LARGEST, json_schema_extra={"minimum": 0})]
Switch: TypeAlias = Annotated[bool, Field(strict=True)]

ALTERNATIVES: dict[str, tuple[str, ...]] = {
    "blocks": ("blocks", "num_gpu_blocks_override"),
    "lookahead": ("lookahead", "num_speculative_tokens"),
    "max_concurrent_batches": ("max_concurrent_batches", "async_scheduling"),
}
"""The fields of a Deployment that may be spelled in more than one way, never in two at once."""

TWO_SPELLINGS = "two_spellings"
"""How pydantic's record of a field that is given twice is recognised."""

SPELLINGS: dict[str, str] = {"context_parallel": "decode_context_parallel_size"}
"""The fields of a Deployment that a file spells differently."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _GroupModel(_Model):
    kind: str
    count: OneOrMore = Field(default=1, description="How many such groups there are; each has its own block table.")

    def group(self, lookahead: int) -> Group:
        """Return the group that the formulas read; as many states are speculated as drafts, if nothing else is said."""
        cache = _KINDS[self.kind]
        sizes = {field.name: getattr(self, field.name) for field in fields(cache)}
        given = {name: lookahead if size is None else size for name, size in sizes.items()}
        return Group(cache(**given), self.count)


_KINDS: dict[str, type[Attention]] = {
    kind.kind: kind
    for kind in (FullAttention, MLAAttention, SlidingWindow, ChunkedLocal, MambaNone, MambaAlign, MambaAll)
}

_DESCRIPTIONS = {
    "block_size": "Tokens per block.",
    "window": "Tokens that the next one attends to, itself included.",
    "extra_retained": "Tokens kept before the window for drafting.",
    "chunk": "Tokens per attention chunk.",
    "speculative": "States beside the running one; as many as the lookahead, if not given.",
    "checkpoint": "States kept inside the last chunk of a prompt.",
}


def _group_model(kind: type[Attention]) -> type[_GroupModel]:
    """Make the model of one cache kind from its own fields."""
    return create_model(  # type: ignore[call-overload, no-any-return]
        kind.__name__,
        __base__=_GroupModel,
        __doc__=(kind.__doc__ or "").splitlines()[0],
        kind=(Literal[kind.kind], ...),
        **{field.name: _field(kind, field) for field in fields(kind)},
    )


def _field(kind: type[Attention], field: dataclasses.Field[Any]) -> tuple[object, Any]:
    number = _number(kind, field.name)
    if field.name == AS_DRAFTED:
        return (reduce(or_, (number, None)), Field(default=None, description=_DESCRIPTIONS[field.name]))
    default = ... if field.default is dataclasses.MISSING else field.default
    return (number, Field(default=default, description=_DESCRIPTIONS[field.name]))


def _number(kind: type[Attention], name: str) -> object:
    """Choose the type of a size by whether the legality of its kind lets it be 0."""
    zero = kind(**{field.name: 0 if field.name == name else 1 for field in fields(kind)})
    may_be_zero = all(constraint.holds for constraint in cache_is_legal(zero))
    return ZeroOrMore if may_be_zero else OneOrMore


GROUP_MODELS: dict[str, type[_GroupModel]] = {name: _group_model(kind) for name, kind in _KINDS.items()}
"""The model of each group kind, by the name that selects it."""

if TYPE_CHECKING:
    AnyGroup: TypeAlias = _GroupModel
else:
    AnyGroup = Annotated[reduce(or_, GROUP_MODELS.values()), Field(discriminator="kind")]


class DeploymentModel(_Model):
    """What an operator sets, spelled like vLLM's options."""

    groups: list[AnyGroup] = Field(description="The KV-cache groups, all sharing one block pool.")
    max_model_len: OneOrMore = Field(description="The longest sequence, prompt and output, in tokens.")
    max_num_batched_tokens: OneOrMore = Field(description="The tokens of one step, over all requests.")
    max_num_seqs: OneOrMore = Field(default=256, description="The requests of one step.")
    blocks: OneOrMore | None = Field(default=None, description="Blocks of the pool, null block included.")
    num_gpu_blocks_override: OneOrMore | None = Field(default=None, description="vLLM's name for `blocks`.")
    async_scheduling: Switch | None = Field(default=None, description="Two batches in flight, or one.")
    max_concurrent_batches: OneOrMore | None = Field(default=None, description="Batches in flight, as a number.")
    lookahead: ZeroOrMore | None = Field(default=None, description="Slots that a step takes beyond its tokens.")
    num_speculative_tokens: ZeroOrMore | None = Field(default=None, description="vLLM's name for `lookahead`.")
    chunked_prefill: Switch = Field(default=True, description="A prompt may be split over steps.")
    prefix_caching: Switch = Field(default=False, description="Equal prefixes share their full blocks.")
    decode_context_parallel_size: OneOrMore = Field(default=1, description="Ranks over which a sequence is sharded.")
    watermark: ZeroOrMore = Field(default=0, description="Blocks that an admission leaves free while others run.")

    @model_validator(mode="after")
    def _one_spelling(self) -> Self:
        for spellings in ALTERNATIVES.values():
            given = [name for name in spellings if getattr(self, name) is not None]
            if len(given) > 1:
                said = {
                    "field": given[1],
                    "value": getattr(self, given[1]),
                    "reason": f"{given[0]} says the same thing",
                }
                raise PydanticCustomError(TWO_SPELLINGS, "two spellings", {**said, "hint": "keep one of them"})
        return self

    def deployment(self) -> Deployment:
        """Return the deployment that the formulas read; whether it is legal is another question."""
        lookahead = _first(self.lookahead, self.num_speculative_tokens, 0)
        return Deployment(
            groups=tuple(group.group(lookahead) for group in self.groups),
            max_model_len=self.max_model_len,
            max_num_batched_tokens=self.max_num_batched_tokens,
            max_num_seqs=self.max_num_seqs,
            max_concurrent_batches=self._batches(),
            lookahead=lookahead,
            context_parallel=self.decode_context_parallel_size,
            chunked_prefill=self.chunked_prefill,
            prefix_caching=self.prefix_caching,
            watermark=self.watermark,
            blocks=_given(self.blocks, self.num_gpu_blocks_override),
        )

    def _batches(self) -> int:
        return _first(self.max_concurrent_batches, 2 if self.async_scheduling else None, 1)

    def spelled(self, field: str) -> str:
        """Return the name under which the reader gave a field of the deployment."""
        for name in ALTERNATIVES.get(field, ()):
            if getattr(self, name) is not None:
                return name
        return SPELLINGS.get(field, field)


def schema() -> dict[str, Any]:
    """Return the JSON schema of a deployment file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **DeploymentModel.model_json_schema()}


def _given(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _first(first: int | None, second: int | None, otherwise: int) -> int:
    value = _given(first, second)
    return otherwise if value is None else value
