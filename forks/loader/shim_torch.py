"""torch reduced to its dtypes: names, sizes, and what `element_size()` answers."""

# ruff: noqa: ARG001 - a stand-in takes what the real one takes

from __future__ import annotations

_SIZES = {
    "float64": 8, "double": 8, "int64": 8, "long": 8, "complex64": 8,
    "float32": 4, "float": 4, "int32": 4, "int": 4, "uint32": 4,
    "float16": 2, "half": 2, "bfloat16": 2, "int16": 2, "uint16": 2,
    "uint8": 1, "int8": 1, "bool": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
    "float4_e2m1fn_x2": 1,
}  # fmt: skip
_FLOATING = ("float", "double", "half", "bfloat")


class dtype:  # noqa: N801 - the name that torch gives it
    """An element type: its name and its size in bytes."""

    def __init__(self, name: str, itemsize: int) -> None:
        self.name = name
        self.itemsize = itemsize
        self.is_floating_point = name.startswith(_FLOATING)

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class Tensor:
    """A tensor without elements: it knows its dtype only."""

    def __init__(self, dtype: dtype) -> None:
        self.dtype = dtype

    def element_size(self) -> int:
        """Return the bytes of one element."""
        return self.dtype.itemsize


def tensor(data: list[object], *, dtype: dtype) -> Tensor:
    """Make the empty tensor that code uses to ask for an element size; anything else is refused."""
    if data:
        raise NotImplementedError("a tensor with elements needs torch")
    return Tensor(dtype)


def empty(*size: object, dtype: dtype) -> Tensor:
    """Make a tensor that knows its dtype only."""
    return Tensor(dtype)


def names() -> dict[str, object]:
    """Return the names of torch that have a real value."""
    dtypes: dict[str, object] = {name: dtype(name, size) for name, size in _SIZES.items()}
    return {**dtypes, "dtype": dtype, "Tensor": Tensor, "tensor": tensor, "empty": empty, "Size": tuple}
