"""Small theorems about nothing in particular, to try the runner on."""

from __future__ import annotations

from poolproof.proofs.theorem import (
    Expectation,
    Point,
    Predicate,
    Quantity,
    Statement,
    Theorem,
    Variable,
    at_most,
    given,
)
from poolproof.spec import cdiv, every, fdiv

X = Variable("x", "tokens", "any number")
Y = Variable("y", "tokens", "another")
POSITIVE = given("y >= 1", lambda at: at.y >= 1)
REACHED = Statement("x is large", lambda at: at.x >= 10)
FLOOR = Quantity("floor", lambda at: fdiv(at.x, at.y) * at.y, "tokens")
CEILING = Quantity("ceiling", lambda at: cdiv(at.x, at.y) * at.y, "tokens")
WRONG = at_most(CEILING, FLOOR)


def toy(
    claim: Statement | None = None,
    covers: tuple[Statement, ...] = (REACHED,),
    mutants: tuple[Statement, ...] = (WRONG,),
    premises: tuple[Predicate, ...] = (),
    expected: Expectation = Expectation.HOLDS,
) -> Theorem:
    """State, unless told otherwise, that rounding down never exceeds rounding up."""
    return Theorem(
        name="toy",
        sentence="Rounding down never exceeds rounding up.",
        family="toys",
        variables=(X, Y),
        premises=(POSITIVE, *(given(f"premise {number}", premise) for number, premise in enumerate(premises))),
        claim=claim or at_most(FLOOR, CEILING),
        covers=covers,
        mutants=mutants,
        expected=expected,
    )


def both_above(least: int) -> Predicate:
    """Hold where both numbers are above a bound."""
    return lambda at: every([at.x > least, at.y > least])


def symbols() -> Point:
    """Return a point whose numbers are symbolic."""
    import z3

    return Point({"x": z3.Int("x"), "y": z3.Int("y")})
