"""Code runs on symbolic integers as on numbers, every way through it is found, nothing is proved by accident."""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from poolproof.oracle.verdict import Inconclusive, Proved, Refuted, Unsupported, Vacuous
from poolproof.proofs.budget import Budget
from poolproof.proofs.decisions import Replay
from poolproof.proofs.judgement import Judgement
from poolproof.proofs.paths import ConcretisationNeeded, Endless, Ledger, Limits, Path, Unrepeatable, explore
from poolproof.proofs.proxy import InterpretedInt, SymbolicInt
from poolproof.proofs.solving import Question
from poolproof.proofs.symbolic import Claim, NotConcerned, Property, examine
from poolproof.proofs.theorem import Assumption, Point, Variable
from poolproof.spec import UnsupportedError

X, Y = Variable("x", "tokens", "one number"), Variable("y", "tokens", "another number")


def positive_y(at: Point) -> list[Assumption]:
    return [Assumption("y >= 1", at.y >= 1)]


def paths(program: Callable[..., Any], *assumed: z3.BoolRef, limits: Limits | None = None) -> list[Path]:
    """Explore `program(x, y)` over natural numbers."""
    question = Question(("x", "y"), tuple((str(a), a) for a in assumed))
    run = lambda run: program(run.integer("x"), run.integer("y"))  # noqa: E731
    return explore(run, question, limits or Limits(), Ledger())


def judged(program: Callable[[Point], Claim], **changed: Any) -> Judgement:
    return examine(Property("claim", "A claim.", (X, Y), positive_y, program, **changed))


# -- arithmetic is Python's ---------------------------------------------------------------------------------------

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "divmod": lambda a, b: sum(divmod(a, b)),
    "cdiv": lambda a, b: -(a // -b),
    "min": min,
    "max": max,
    "abs": lambda a, b: abs(a) + abs(-b),
    "choose": lambda a, b: a if a < b else b + 1,
    "equal": lambda a, b: (a == b) + (a != b) * 2,
    "truth": lambda a, b: a if a and not b else b,
    "sum": lambda a, b: sum([a, b, 1]),
    "round": lambda a, b: round(a) + math.ceil(b) - math.floor(a) + math.trunc(b),
}

expressions = st.recursive(
    st.one_of(st.sampled_from(["x", "y"]), st.integers(-4, 9)),
    lambda inner: st.tuples(st.sampled_from(sorted(BINARY)), inner, inner),
    max_leaves=6,
)


def value_of(expression: Any, names: dict[str, Any]) -> Any:
    if isinstance(expression, tuple):
        operator, left, right = expression
        return BINARY[operator](value_of(left, names), value_of(right, names))
    return names.get(expression, expression)


@settings(max_examples=150, deadline=None)
@given(expressions, st.integers(0, 9), st.integers(0, 9))
def test_a_symbolic_integer_computes_what_an_integer_computes(expression: Any, x: int, y: int) -> None:
    pinned = (z3.Int("x") == x, z3.Int("y") == y)
    (path,) = paths(lambda a, b: value_of(expression, {"x": a, "y": b}), *pinned)
    try:
        expected = value_of(expression, {"x": x, "y": y})
    except ZeroDivisionError:
        assert isinstance(path.error, ZeroDivisionError)
        return
    assert path.error is None
    term = path.value.term if type(path.value) is SymbolicInt else z3.IntVal(int(path.value))
    found = z3.simplify(z3.substitute(term, (z3.Int("x"), z3.IntVal(x)), (z3.Int("y"), z3.IntVal(y))))
    assert found.as_long() == expected


@settings(max_examples=40, deadline=None)
@given(expressions, st.integers(0, 9), st.integers(0, 9))
def test_every_point_lies_on_exactly_one_path(expression: Any, x: int, y: int) -> None:
    found = paths(lambda a, b: value_of(expression, {"x": a, "y": b}))
    here = [path for path in found if _holds_at(path, x, y)]
    assert len(here) == 1


def _holds_at(path: Path, x: int, y: int) -> bool:
    solver = z3.Solver()
    solver.add(z3.Int("x") == x, z3.Int("y") == y, *path.condition)
    return bool(solver.check() == z3.sat)


@pytest.mark.parametrize("divisor", [-7, -3, -2, -1, 1, 2, 3, 7])
@pytest.mark.parametrize("dividend", range(-9, 10))
def test_division_rounds_down_for_either_sign(dividend: int, divisor: int) -> None:
    for program in (lambda x, y: (x - 9) // (y - 9), lambda x, y: (x - 9) % (y - 9)):
        (path,) = paths(program, z3.Int("x") == dividend + 9, z3.Int("y") == divisor + 9)
        bound = (z3.Int("x"), z3.IntVal(dividend + 9)), (z3.Int("y"), z3.IntVal(divisor + 9))
        assert z3.simplify(z3.substitute(path.value.term, *bound)).as_long() == program(dividend + 9, divisor + 9)


def test_a_symbolic_integer_is_an_int_for_code_that_asks() -> None:
    (path,) = paths(lambda x, y: isinstance(x, int) and isinstance(x > y, bool) and not isinstance(x, str))
    assert path.value is True


def test_copies_are_the_same_number() -> None:
    (path,) = paths(lambda x, _: copy.deepcopy([x])[0] is x and copy.copy(x) is x)
    assert path.value is True


# -- no value is invented -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda x, _: list(range(x)),
        lambda x, _: [1, 2, 3][x],
        lambda x, _: (1, 2, 3)[x:],
        lambda x, _: "ab" * x,
        math.gcd,
        lambda x, _: list(itertools.islice([1], x)),
        lambda x, _: int(x),
        lambda x, _: float(x),
        lambda x, _: "%d" % x,  # noqa: UP031 - the very conversion that is meant
        lambda x, _: x < 1.5,
        lambda x, y: x / 2 > y,
        lambda x, _: bool(x / 2),
        lambda x, _: x / 2 == 1,
    ],
    ids=[
        "range",
        "index",
        "slice",
        "repeat",
        "gcd",
        "islice",
        "int",
        "float",
        "%d",
        "fraction",
        "quotient",
        "bool",
        "equal",
    ],
)
def test_a_use_that_needs_a_value_leaves_the_path(use: Callable[..., Any]) -> None:
    (path,) = paths(use)
    assert isinstance(path.error, ConcretisationNeeded)
    assert "test_symbolic.py:" in path.where, "the place is named even where C code raises an error of its own"


def test_code_cannot_swallow_the_refusal() -> None:
    def swallows(x: Any, _: Any) -> int:
        try:
            return int(x)
        except BaseException:  # noqa: BLE001
            return 0

    (path,) = paths(swallows)
    assert isinstance(path.error, ConcretisationNeeded)


def test_reports_may_print_and_divide() -> None:
    (path,) = paths(lambda x, y: f"{x:,} of {y}: {round(x / 2**30, 2)} GiB, {x * 0.9!r}")
    assert path.value == "<x> of <y>: <quotient> GiB, <quotient>"


def test_int_leaves_a_symbol_as_it_is_and_stays_int_otherwise() -> None:
    assert InterpretedInt("12") == 12
    assert InterpretedInt("ff", 16) == 255
    assert isinstance(3, InterpretedInt)
    assert not isinstance("3", InterpretedInt)
    (path,) = paths(lambda x, _: InterpretedInt(x) is x and isinstance(x, InterpretedInt))
    assert path.value is True


def test_equal_keys_are_found_by_asking() -> None:
    (same, different) = sorted(paths(lambda x, y: len({x, y})), key=lambda path: path.value)
    assert (same.value, different.value) == (1, 2)


# -- values that are followed, up to a bound ----------------------------------------------------------------------


def within(x: int, y: int) -> tuple[z3.BoolRef, ...]:
    return z3.Int("x") <= x, z3.Int("y") <= y, z3.Int("y") >= 1


def points(x: int, y: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(x + 1) for b in range(1, y + 1)]


FOLLOWED: dict[str, Callable[[Any, Any], Any]] = {
    "range": lambda x, _: sum(range(x)),
    "index": lambda x, _: "abcdefg"[x],
    "index from the end": lambda x, y: "abcdefghij"[x - 6 - y],
    "slice": lambda x, y: (1, 2, 3, 4)[:x][y:],
    "repeat": lambda x, y: "ab" * (x - y),
    "int": lambda x, _: {3: "three"}.get(int(x)),
    "gcd": math.gcd,
    "quotient": lambda x, y: [1, 2] * (x // y),
    "rounded up": lambda x, y: list(range(-(x // -y))),
    "quotient of a number": lambda _, y: (13 // y, -13 // y),
    "remainder": lambda x, y: (x - 3) % y,
}


@pytest.mark.parametrize("use", FOLLOWED)
def test_a_value_is_followed_on_a_path_of_its_own(use: str) -> None:
    found = paths(FOLLOWED[use], *within(6, 3), limits=Limits(values=13))
    for x, y in points(6, 3):
        (here,) = (path for path in found if _holds_at(path, x, y))
        assert here.error is None
        assert _number(here.value, x, y) == FOLLOWED[use](x, y)


def _number(value: Any, x: int, y: int) -> Any:
    if type(value) is not SymbolicInt:
        return value
    return z3.simplify(z3.substitute(value.term, (z3.Int("x"), z3.IntVal(x)), (z3.Int("y"), z3.IntVal(y)))).as_long()


@settings(max_examples=60, deadline=None)
@given(expressions, st.integers(0, 9), st.integers(0, 9))
def test_following_quotients_changes_no_result(expression: Any, x: int, y: int) -> None:
    pinned = (z3.Int("x") == x, z3.Int("y") == y)
    program = lambda a, b: value_of(expression, {"x": a, "y": b})  # noqa: E731
    (path,) = paths(program, *pinned, limits=Limits(values=90))
    if isinstance(path.error, ConcretisationNeeded):
        assert "a quotient beyond 90" in path.where
        return
    try:
        expected = value_of(expression, {"x": x, "y": y})
    except ZeroDivisionError:
        assert isinstance(path.error, ZeroDivisionError)
        return
    assert path.error is None
    assert _number(path.value, x, y) == expected


def test_a_followed_quotient_leaves_no_division_to_the_solver() -> None:
    found = paths(lambda x, y: x // y + -(x // -y), *within(9, 3), limits=Limits(values=9))
    assert all(type(path.value) is int for path in found)
    assert not any(z3.is_idiv(part) for path in found for term in path.condition for part in _parts(term))


def _parts(term: Any) -> Iterator[Any]:
    yield term
    for child in term.children():
        yield from _parts(child)


def test_a_value_beyond_the_bound_leaves_the_path() -> None:
    found = paths(lambda x, _: list(range(x)), *within(6, 1), limits=Limits(values=3))
    assert [len(path.value) for path in found if path.error is None] == [0, 1, 2, 3]
    (lost,) = (path for path in found if path.error is not None)
    assert isinstance(lost.error, ConcretisationNeeded)
    assert "beyond 3 is needed at test_symbolic.py:" in lost.where


def test_a_quotient_beyond_the_bound_leaves_the_path() -> None:
    for program in (lambda x, y: x // y, lambda x, y: -x // y):
        found = paths(program, *within(6, 3), limits=Limits(values=3))
        assert sum(isinstance(path.error, ConcretisationNeeded) for path in found) == 1


def test_a_bound_that_is_too_low_is_inconclusive_and_never_a_cut() -> None:
    program = lambda at: Claim(sum(range(at.x)) <= 3, at.x >= 1)  # noqa: E731
    small = lambda at: [Assumption("x <= 3", at.x <= 3)]  # noqa: E731
    subject = Property("claim", "A claim.", (X,), small, program, values=3)
    assert isinstance(examine(subject).verdict, Proved)
    too_low = examine(replace(subject, values=2))
    assert isinstance(too_low.verdict, Inconclusive)
    assert "beyond 2" in too_low.verdict.reason
    assert "for example with x = 3" in too_low.verdict.reason


def test_a_number_that_is_known_needs_no_bound() -> None:
    (path,) = paths(lambda x, _: [1, 2, 3][x - x + 1])
    assert path.value == 2


# -- every way through the code -----------------------------------------------------------------------------------


def test_only_possible_sides_are_taken() -> None:
    found = paths(lambda x, y: (x < y, bool(x < y), bool(y > x)), z3.Int("x") < z3.Int("y"))
    assert len(found) == 1


def test_a_branch_is_executed_both_ways() -> None:
    found = paths(lambda x, y: min(x, y) if x > 3 else max(x, y))
    assert len(found) == 4
    assert len({str(path.condition) for path in found}) == 4


def test_a_loop_without_end_is_said_to_be_one() -> None:
    def search(x: Any, y: Any) -> Any:
        while x <= y:
            x += 1
        return x

    found = paths(search, limits=Limits(paths=5, decisions=20))
    assert isinstance(found[-1].error, Endless)
    assert len(found) == 6


def test_too_many_branches_on_one_path_are_said_to_be_too_many() -> None:
    (path,) = paths(lambda x, _: [bool(x > n) for n in range(30)], limits=Limits(paths=1, decisions=10))[:1]
    assert isinstance(path.error, Endless)


def test_code_that_branches_otherwise_when_run_again_is_noticed() -> None:
    calls = iter(range(100))
    found = paths(lambda x, y: bool(x > next(calls)) and bool(y > 0))
    assert any(isinstance(path.error, Unrepeatable) for path in found)


# -- verdicts -----------------------------------------------------------------------------------------------------


def cdiv(a: Any, b: Any) -> Any:
    return -(a // -b)


def test_code_that_remembers_a_branch_proves_nothing() -> None:
    """A cache answers the second execution with the result of the first, under the wrong condition."""

    @functools.lru_cache
    def keeps(_: str) -> bool:
        return bool(numbers[0] > 5)

    numbers: list[Any] = []

    def program(at: Point) -> Claim:
        numbers[:] = [at.x]
        return Claim(at.x > 5 if keeps("x") else True)

    found = judged(program)
    assert isinstance(found.verdict, Inconclusive)
    assert "it may keep a result" in found.verdict.reason


@pytest.mark.parametrize(
    "use",
    [lambda n: n & 1, lambda n: 3 | n, lambda n: n << 2, lambda n: n**2, lambda n: ~n, lambda n: n.bit_length()],
)
def test_an_operation_that_is_not_interpreted_cannot_be_caught(use: Callable[[Any], Any]) -> None:
    def program(at: Point) -> Claim:
        try:
            use(at.x)
        except Exception:  # noqa: BLE001 - as foreign code may
            return Claim(True)
        return Claim(True)

    found = judged(program)
    assert isinstance(found.verdict, Inconclusive)
    assert "not interpreted" in found.verdict.reason


def test_what_no_number_has_is_an_error_of_the_code() -> None:
    assert isinstance(judged(lambda at: Claim(hasattr(at.x, "no_such_thing") is False)).verdict, Proved)


def test_a_true_claim_is_proved_with_the_premises_it_needs() -> None:
    found = judged(lambda at: Claim(cdiv(at.x, at.y) * at.y >= at.x, at.x > at.y))
    assert found.verdict == Proved(("y >= 1",), found.cost)
    assert found.scope.symbolic == ("x", "y")
    assert (found.paths, found.accepting) == (1, 1)


def test_a_false_claim_is_refuted_by_its_smallest_case() -> None:
    found = judged(lambda at: Claim(cdiv(at.x, at.y) <= at.x // at.y, shown={"rounded up": cdiv(at.x, at.y)}))
    assert isinstance(found.verdict, Refuted)
    assert found.verdict.witness.values == (("x", 1), ("y", 2))
    assert found.verdict.witness.facts == ("rounded up = 1",)


def test_the_smallest_case_is_sought_over_all_paths() -> None:
    def program(at: Point) -> Claim:
        return Claim(at.x < 9) if at.x > at.y else Claim(at.y < 4)

    found = judged(program)
    assert isinstance(found.verdict, Refuted)
    assert found.verdict.witness.values == (("x", 0), ("y", 4))


def test_a_path_that_crashes_is_never_a_proof() -> None:
    def program(at: Point) -> Claim:
        return Claim(1 // (at.x - 7) <= 1)

    found = judged(program)
    assert isinstance(found.verdict, Inconclusive)
    assert "ZeroDivisionError" in found.verdict.reason
    assert "x = 7" in found.verdict.reason


def test_when_every_path_crashes_nothing_is_proved() -> None:
    found = judged(lambda at: Claim(at.x <= {}[0]))
    assert isinstance(found.verdict, Inconclusive)
    assert "KeyError" in found.verdict.reason
    assert "on 1 of 1 paths" in found.verdict.reason


def test_what_cannot_be_interpreted_is_named_with_its_place() -> None:
    found = judged(lambda at: Claim(sum(range(at.x)) >= 0))
    assert isinstance(found.verdict, Inconclusive)
    assert "not interpreted" in found.verdict.reason
    assert "test_symbolic.py" in found.verdict.reason


def test_an_unsupported_implementation_is_not_a_failing_one() -> None:
    def program(at: Point) -> Claim:
        raise UnsupportedError("cap requires reserve")

    assert judged(program).verdict == Unsupported("cap requires reserve")


def test_a_property_that_never_applies_is_vacuous() -> None:
    def program(at: Point) -> Claim:
        if at.y >= 1:
            raise NotConcerned
        return Claim(True)

    found = judged(program)
    assert isinstance(found.verdict, Vacuous)
    assert (found.paths, found.accepting) == (1, 0)


def test_a_case_that_matters_must_be_within_reach() -> None:
    assert isinstance(judged(lambda at: Claim(at.x >= 0, reached=at.y < 1)).verdict, Vacuous)


def test_contradictory_premises_prove_nothing() -> None:
    contradiction = lambda at: [Assumption("y >= 1", at.y >= 1), Assumption("y < 1", at.y < 1)]  # noqa: E731
    subject = Property("claim", "A claim.", (X, Y), contradiction, lambda at: Claim(at.x > at.x))
    assert isinstance(examine(subject).verdict, Vacuous)


def test_an_undecided_claim_is_inconclusive() -> None:
    poor = Limits(budget=Budget(rlimit=1))
    subject = Property("claim", "A claim.", (X, Y), positive_y, lambda at: Claim(at.x * at.y * at.x != 7 * at.y + 1))
    assert isinstance(examine(subject, poor).verdict, Inconclusive)


def test_a_refutation_that_the_code_does_not_bear_out_is_none() -> None:
    """The code behaves otherwise on numbers than on symbols: the interpretation is wrong, and says so."""
    found = judged(lambda at: Claim(type(at.x) is int or at.x < 3))
    assert isinstance(found.verdict, Inconclusive)
    assert "not borne out" in found.verdict.reason


def test_a_refutation_that_no_run_bears_out_is_none() -> None:
    found = judged(lambda at: Claim(at.x < 3), replay=lambda values: Replay(False, (f"x = {values['x']} was fine",)))
    assert isinstance(found.verdict, Inconclusive)
    assert "x = 3 was fine" in found.verdict.reason


def test_a_replay_that_crashes_is_no_refutation() -> None:
    def crash(values: Any) -> Replay:
        raise RuntimeError("no such engine")

    found = judged(lambda at: Claim(at.x < 3), replay=crash)
    assert isinstance(found.verdict, Inconclusive)
    assert "no such engine" in found.verdict.reason


def test_a_claim_that_is_no_truth_value_is_an_error() -> None:
    with pytest.raises(TypeError, match="truth value"):
        judged(lambda at: Claim(at.x))


def test_two_examinations_cost_the_same() -> None:
    costs = {judged(lambda at: Claim(cdiv(min(at.x, 9), at.y) * at.y >= min(at.x, 9))).cost for _ in range(3)}
    assert len(costs) == 1


# -- a formula and its mutants ------------------------------------------------------------------------------------


def bound(at: Point) -> Any:
    return cdiv(min(at.x, 64), at.y) + 1


MUTANTS: dict[str, Callable[[Point], Any]] = {
    "no block for misalignment": lambda at: cdiv(min(at.x, 64), at.y),
    "rounded down": lambda at: min(at.x, 64) // at.y + 1,
    "greater of the two": lambda at: cdiv(max(at.x, 64), at.y) + 1,
    "one block more": lambda at: cdiv(min(at.x, 64), at.y) + 2,
}


def _agrees(formula: Callable[[Point], Any]) -> Iterator[Judgement]:
    yield judged(lambda at: Claim(formula(at) == bound(at), at.x > 64))


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutated_formula_is_refuted(mutant: str) -> None:
    (found,) = _agrees(MUTANTS[mutant])
    assert isinstance(found.verdict, Refuted)


def test_the_formula_agrees_with_itself() -> None:
    (found,) = _agrees(bound)
    assert isinstance(found.verdict, Proved)
