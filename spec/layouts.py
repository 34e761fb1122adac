"""The order in which a cache's dimensions lie in memory: layer, block, head, token, content."""

from __future__ import annotations

from enum import StrEnum


class Layout(StrEnum):
    """Name a layout by its dimensions, the outermost first.

    Source: vLLM `KVCacheLayout` (0.30.0 and later).
    """

    LBHNC = "LBHNC"
    LBNHC = "LBNHC"
    LHBNC = "LHBNC"
    BLHNC = "BLHNC"
    BLNHC = "BLNHC"
    BHLNC = "BHLNC"

    @property
    def layer_outermost(self) -> bool:
        """Tell whether all of a layer lies together."""
        return self.value[0] == "L"

    @property
    def block_outermost(self) -> bool:
        """Tell whether all of a block lies together, over all layers."""
        return self.value[0] == "B"

    @property
    def page_compact(self) -> bool:
        """Tell whether a page lies together: no dimension of it is outside layer and block."""
        return set(self.value[:2]) == {"L", "B"}
