"""The theorems, a family per module, in the order in which a reader needs them."""

from ..theorem import Family
from . import (
    attained,
    boot,
    chunked_local,
    designs,
    gate,
    lookahead,
    null_block,
    progress,
    recycling,
    rejected,
    rounding,
    sliding_window,
)

FAMILIES: tuple[Family, ...] = (
    Family("recycling", "Tables cover what is needed, and only what nobody reads goes back", recycling.THEOREMS),
    Family("sliding_window", "What a window holds stays within its cap", sliding_window.THEOREMS),
    Family("lookahead", "How much lookahead the cap of a window must pay for", lookahead.THEOREMS),
    Family("chunked_local", "What a chunk holds, and when that exceeds its cap", chunked_local.THEOREMS),
    Family("attained", "No cap asks for more than one block too many", attained.THEOREMS),
    Family("rounding", "Two roundings of one length agree", rounding.THEOREMS),
    Family("gate", "The gate demands no more than boot reserves", gate.THEOREMS),
    Family("boot", "Boot covers admission for any number of groups", boot.THEOREMS),
    Family("null_block", "The null block is nobody's", null_block.THEOREMS),
    Family("designs", "Boot covers admission, design by design", designs.THEOREMS),
    Family("rejected", "What a step is promised, it gets", rejected.THEOREMS),
    Family("progress", "A request that runs alone never stops short", progress.THEOREMS),
)
