"""Questions as SMT-LIB text, for any solver.

`exact` and `with_lemmas` have the very cases of the question. `linear` gives each product of unknowns a number of its
own and keeps the lemmas: whatever has no case in it has none at all, while a case of it means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from ..solving import Question, naturals
from .products import Products
from .quotients import Quotients, lemmas


def exact(question: Question) -> str:
    """Write a question as it stands, with SMT-LIB's own `div`."""
    return _script("QF_NIA", _conditions(question), question.variables)


def with_lemmas(question: Question, *, of_three: bool) -> str:
    """Write a question with quotients as numbers of their own, and what is true of them."""
    return _script("QF_NIA", _rewritten(question, of_three=of_three), question.variables)


def linear(question: Question, *, of_three: bool) -> str:
    """Write what remains of a question when products are numbers of their own."""
    products = Products()
    conditions = products.replaced(_rewritten(question, of_three=of_three))
    return _script("QF_LIA", [*conditions, *products.in_order()], question.variables)


def _conditions(question: Question) -> list[z3.BoolRef]:
    return [*naturals(question.variables), *(holds for _, holds in question.tracked), *question.conditions]


def _rewritten(question: Question, *, of_three: bool) -> list[z3.BoolRef]:
    quotients = Quotients()
    conditions = [quotients.rewrite(condition) for condition in _conditions(question)]
    return [*conditions, *quotients.definitions, *lemmas(quotients.multiples, of_three=of_three)]


def _script(logic: str, conditions: Sequence[z3.BoolRef], variables: Sequence[str]) -> str:
    solver = z3.Solver(ctx=z3.main_ctx())
    # Declaring every variable makes each of them known to whoever reads a case.
    solver.add(*(z3.Int(name) >= 0 for name in variables), *conditions)
    return f"(set-logic {logic})\n{solver.sexpr()}(check-sat)\n"
