"""Integers that remember how they were computed: code written for numbers runs on them and yields terms.

Source code that is not ours decides, compares and divides; each such operation is answered by the execution
(`Decider`) that the integer belongs to. What has no answer without a value is refused, never guessed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, Protocol

import z3


class Decider(Protocol):
    """Answer the questions that code puts to a symbolic value."""

    def decide(self, condition: z3.BoolRef) -> bool:
        """Take one side of a branch."""
        ...

    def refuse(self, use: str) -> NoReturn:
        """Leave the execution: it needs a value where there is only a name."""
        ...

    def value(self, term: z3.ArithRef, use: str) -> int:
        """Tell the value that a number has on this path; leave the execution where it has none."""
        ...

    def quotient(self, dividend: z3.ArithRef, divisor: z3.ArithRef) -> z3.ArithRef:
        """Divide by a number above zero, rounding down."""
        ...

    def unknown(self, what: str) -> SymbolicInt:
        """Name a number that the code computes and that is not followed: it may be any."""
        ...

    def note(self, assumption: str) -> None:
        """Record something that was taken for granted."""
        ...


class Opaque:
    """Stand for the result of a true division: it may be computed with and printed, nothing may depend on it."""

    def __init__(self, run: Decider) -> None:
        self._run = run

    def _opaque(self, *_: object) -> Opaque:
        return Opaque(self._run)

    def _refuse(self, *_: object) -> NoReturn:
        self._run.refuse("a decision on the result of a true division")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _opaque
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _opaque
    __neg__ = __abs__ = __round__ = __floor__ = __ceil__ = __trunc__ = _opaque
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __int__ = __index__ = __float__ = _refuse

    def __eq__(self, other: object) -> bool:
        self._refuse()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "<quotient>"

    def __format__(self, spec: str) -> str:
        return repr(self)


class SymbolicBool:
    """Stand for an unknown truth value; asking for it forks the execution."""

    __slots__ = ("run", "term")

    def __init__(self, run: Decider, term: z3.BoolRef) -> None:
        self.run = run
        self.term = term

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return bool

    def __bool__(self) -> bool:
        return self.run.decide(self.term)

    def _number(self) -> SymbolicInt:
        return SymbolicInt(self.run, z3.If(self.term, z3.IntVal(1), z3.IntVal(0)))

    def __add__(self, other: Any) -> Any:
        return self._number() + other

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        return self._number() * other

    __rmul__ = __mul__

    def __eq__(self, other: object) -> Any:
        return self._number() == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "<condition>"


class SymbolicInt:
    """Stand for an unknown integer.

    It is no subclass of `int`: C code (`range`, indexing, `math.gcd`) reads the machine value of a subclass without
    asking. It only answers `int` when asked for its class, which `isinstance` respects; every request for a machine
    value then arrives at `__index__` or `__int__` and is refused.
    """

    __slots__ = ("run", "term")

    def __init__(self, run: Decider, term: z3.ArithRef) -> None:
        self.run = run
        self.term = term

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def _with(self, other: object, build: Callable[[Any, Any], Any]) -> Any:
        """Build a term of both operands; a float makes the result opaque."""
        if isinstance(other, float) or type(other) is Opaque:
            return Opaque(self.run)
        term = as_term(other)
        return NotImplemented if term is None else SymbolicInt(self.run, build(self.term, term))

    def __add__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: object) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a * b)

    __radd__ = __add__
    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> Any:
        return _plain(self._with(other, lambda a, b: floor_divide(self.run, a, b)))

    def __rfloordiv__(self, other: object) -> Any:
        return _plain(self._with(other, lambda a, b: floor_divide(self.run, b, a)))

    def __mod__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a - b * floor_divide(self.run, a, b))

    def __rmod__(self, other: object) -> Any:
        if isinstance(other, str):
            return NotImplemented
        return self._with(other, lambda a, b: b - a * floor_divide(self.run, b, a))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def _quotient(self, _: object) -> Opaque:
        return Opaque(self.run)

    __truediv__ = __rtruediv__ = _quotient

    def __neg__(self) -> SymbolicInt:
        return SymbolicInt(self.run, -self.term)

    def __abs__(self) -> SymbolicInt:
        return -self if self < 0 else self

    def _same(self, *_: object) -> SymbolicInt:
        return self

    __pos__ = __round__ = __floor__ = __ceil__ = __trunc__ = __copy__ = __deepcopy__ = _same

    # -- comparison ----------------------------------------------------------------------------------------------

    def _compare(self, other: object, build: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, float):
            self.run.refuse("a comparison with a fraction")
        term = as_term(other)
        return NotImplemented if term is None else SymbolicBool(self.run, build(self.term, term))

    def __lt__(self, other: object) -> Any:
        return self._compare(other, lambda a, b: a < b)

    def __le__(self, other: object) -> Any:
        return self._compare(other, lambda a, b: a <= b)

    def __gt__(self, other: object) -> Any:
        return self._compare(other, lambda a, b: a > b)

    def __ge__(self, other: object) -> Any:
        return self._compare(other, lambda a, b: a >= b)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, lambda a, b: a == b)

    def __ne__(self, other: object) -> Any:
        return self._compare(other, lambda a, b: a != b)

    def __bool__(self) -> bool:
        return self.run.decide(self.term != 0)

    def __hash__(self) -> int:
        """Hash all symbolic integers alike, so that equality decides; a known number is never found equal."""
        self.run.note(f"a symbolic key is compared with symbolic keys only ({caller()})")
        return 0

    # -- refused -------------------------------------------------------------------------------------------------

    def _value(self) -> int:
        return self.run.value(self.term, "a number (a loop, an index, a conversion)")

    def _refuse(self) -> NoReturn:
        self.run.refuse("a number (a conversion)")

    __index__ = __int__ = _value
    __float__ = __complex__ = _refuse

    def _refused(self, *_: object) -> NoReturn:
        """Leave the path: an operator that is merely missing would raise what the code can catch."""
        self.run.refuse("an operation on the bits, or a power, of a number")

    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _refused
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __pow__ = __rpow__ = _refused

    def __getattr__(self, name: str) -> Any:
        """Refuse what an `int` has and this has not; what neither has is an error of the code."""
        if hasattr(int, name):
            self.run.refuse(f"an attribute of a number ({name})")
        raise AttributeError(f"'int' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"<{self.term}>" if z3.is_const(self.term) else "<expression>"

    def __format__(self, spec: str) -> str:
        return repr(self)


def as_term(value: object) -> z3.ArithRef | None:
    """Turn an operand into a term; None where it is no integer."""
    if type(value) is SymbolicInt:
        return value.term
    if type(value) is SymbolicBool:
        return value._number().term
    return z3.IntVal(int(value)) if isinstance(value, int) else None


def _plain(number: Any) -> Any:
    """Turn a term that is a number into that number; everything else stays as it is."""
    known = type(number) is SymbolicInt and z3.is_int_value(number.term)
    return number.term.as_long() if known else number


def lifted(function: Callable[..., Any], *operands: Any) -> Any:
    """Apply a formula over integers or terms to numbers that may be symbolic, without forking.

    The formula is applied to plain numbers as it is.
    """
    run = next((o.run for o in operands if type(o) in {SymbolicInt, SymbolicBool}), None)
    if run is None:
        return function(*operands)
    result = function(*(as_term(o) for o in operands))
    return SymbolicBool(run, result) if z3.is_bool(result) else SymbolicInt(run, result)


def floor_divide(run: Decider, dividend: z3.ArithRef, divisor: z3.ArithRef) -> z3.ArithRef:
    """Divide as Python does: towards minus infinity, for either sign of the divisor.

    SMT-LIB's `div` rounds down for a positive divisor only, and leaves division by zero open.

    Raises:
        ZeroDivisionError: On a path where the divisor is zero.
    """
    divisor = z3.simplify(divisor)
    if run.decide(divisor == 0):
        raise ZeroDivisionError("integer division or modulo by zero")
    if run.decide(divisor > 0):
        return run.quotient(dividend, divisor)
    # `-(a // -b)` is how engines round up: undo the double negation, which the solver does not see through.
    return run.quotient(z3.simplify(-dividend), z3.simplify(-divisor))


class _IntegerKind(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, int)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, int)


class InterpretedInt(int, metaclass=_IntegerKind):
    """Take the place of `int` in code under execution: converting what stands for a number leaves it as it is."""

    def __new__(cls, value: Any = 0, *base: Any) -> Any:  # noqa: D102 - the signature of int
        return value if type(value) in {SymbolicInt, Opaque} else int(value, *base)


def caller() -> str:
    """Name the innermost place that has a file, and not one of ours: file:line (function)."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (frame.f_code.co_filename in _OWN_FILES or frame.f_code.co_filename[0] == "<"):
        frame = frame.f_back
    return place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def place(file: str, line: int, function: str) -> str:
    """Name a line of source without the machine's folders."""
    return f"{Path(file).name}:{line} ({function})"


_OWN_FILES = {__file__, str(Path(__file__).with_name("paths.py"))}
