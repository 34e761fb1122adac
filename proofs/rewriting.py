"""Terms without quotients: each becomes a number, which whoever rewrites defines."""

from __future__ import annotations

from abc import ABC, abstractmethod

import z3


class QuotientRewriter(ABC):
    """Rewrite terms bottom-up; equal quotients share one number."""

    def __init__(self) -> None:
        # The solver reuses the number of a term that is gone, so each term is kept beside its replacement.
        self._done: dict[int, tuple[z3.ExprRef, z3.ExprRef]] = {}

    def rewrite(self, term: z3.ExprRef) -> z3.ExprRef:
        """Return a term without quotients."""
        known = self._done.get(term.get_id())
        if known is None:
            known = self._done[term.get_id()] = (term, self._rebuilt(term))
        return known[1]

    def _rebuilt(self, term: z3.ExprRef) -> z3.ExprRef:
        children = [self.rewrite(child) for child in term.children()]
        if not children:
            return term
        return self.named(*children) if term.decl().kind() == z3.Z3_OP_IDIV else term.decl()(*children)

    @abstractmethod
    def named(self, dividend: z3.ArithRef, divisor: z3.ArithRef) -> z3.ArithRef:
        """Return the number that stands for a quotient."""
