"""Cache kinds whose blocks do not follow the length of the sequence: recurrent states, encoder outputs, ring buffers.

What a Mamba group holds depends on its history, so that these classes only bound it; a step of it belongs to the
engine that runs. Results are in blocks of the group, lengths in tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from .arithmetic import Term, cdiv, maximum


@dataclass(frozen=True, slots=True)
class MambaNone:
    """Keep one state for the whole request, and one for each speculated token.

    Source: vLLM `MambaSpec.max_memory_usage_bytes`, cache mode `none` (0.11.0 forgets the speculated ones).
    """

    kind: ClassVar[str] = "mamba_none"
    recycles: ClassVar[bool] = False
    sharded: ClassVar[bool] = False

    block_size: Term
    speculative: Term = 0

    def skipped(self, processed: Term) -> Term:
        """Count the leading tokens that no later step reads: a state stands for all tokens before the last."""
        return maximum(0, processed - 1)

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:  # noqa: ARG002 - one signature
        """Bound the blocks of one request: the state and the speculated ones."""
        return 1 + self.speculative


@dataclass(frozen=True, slots=True)
class MambaAlign(MambaNone):
    """Keep the state at the last block boundary beside the running one, and a checkpoint inside a prefill chunk.

    Source: vLLM `MambaSpec.max_memory_usage_bytes`, cache mode `align` (0.19.1 and later; checkpoints from 0.30.0).
    """

    kind: ClassVar[str] = "mamba_align"

    checkpoint: Term = 0

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:  # noqa: ARG002 - one signature
        """Bound the blocks of one request: two states, the speculated ones, the checkpoint."""
        return 2 + self.speculative + self.checkpoint


@dataclass(frozen=True, slots=True)
class MambaAll(MambaNone):
    """Keep the state at every block boundary.

    Source: vLLM `MambaSpec.max_memory_usage_bytes`, cache mode `all` (0.19.1 to 0.30.0; speculated states are
    counted from 0.22.1).
    """

    kind: ClassVar[str] = "mamba_all"

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:  # noqa: ARG002 - one signature
        """Bound the blocks of one request: one per block of tokens, and the speculated ones."""
        return cdiv(max_model_len, self.block_size) + self.speculative


@dataclass(frozen=True, slots=True)
class CrossAttention:
    """Keep what the encoder put out, whatever the decoder's length.

    Source: vLLM `CrossAttentionSpec.max_memory_usage_bytes` (all releases), over `max_num_encoder_input_tokens`.
    """

    kind: ClassVar[str] = "cross"
    recycles: ClassVar[bool] = False
    sharded: ClassVar[bool] = False

    block_size: Term
    encoder_tokens: Term

    def skipped(self, processed: Term) -> Term:  # noqa: ARG002 - one signature for every kind
        """Count the leading tokens that no later step reads: none."""
        return 0

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:  # noqa: ARG002 - one signature
        """Bound the blocks of one request by the longest encoder output."""
        return cdiv(self.encoder_tokens, self.block_size)


@dataclass(frozen=True, slots=True)
class CircularBuffer:
    """Keep one block for as long as the request lives.

    Source: vLLM `CircularBufferSpec.max_memory_usage_bytes` (0.30.0 and later).
    """

    kind: ClassVar[str] = "circular"
    recycles: ClassVar[bool] = False
    sharded: ClassVar[bool] = False

    block_size: Term

    def skipped(self, processed: Term) -> Term:  # noqa: ARG002 - one signature for every kind
        """Count the leading tokens whose block may go: none, the block is written again in place."""
        return 0

    def bound(self, in_flight_tokens: Term, max_model_len: Term) -> Term:  # noqa: ARG002 - one signature
        """Bound the blocks of one request: one."""
        return 1


State: TypeAlias = MambaNone | MambaAlign | MambaAll | CrossAttention | CircularBuffer
"""Any kind that does not grow with the tokens of the decoder, or only through its states."""
