"""What an entry of a puzzle is called with: element types, buffers, scalars, and the sizes that scalars give buffers.

The words of this module are those of `puzzle.py`, which hands them on; it is the ground floor.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from grader.extent import ExtentError, evaluate, names

Dim: TypeAlias = str | int
Number: TypeAlias = int | float


class PuzzleError(ValueError):
    """A `puzzle.py` that contradicts itself; the message is one sentence for its author."""


@dataclass(frozen=True)
class DType:
    """An element type: its short name and its size in bytes."""

    name: str
    bytes: int

    @property
    def is_float(self) -> bool:
        return self.name not in ("i32", "i64")


f32 = DType("f32", 4)
f16 = DType("f16", 2)
bf16 = DType("bf16", 2)
f64 = DType("f64", 8)
i32 = DType("i32", 4)
i64 = DType("i64", 8)


@dataclass(frozen=True)
class DTypeBy:
    """The element type of a `void*`, of which this scalar counts the types, from 0: `DTypeBy("dtype", (f32, f16))`."""

    scalar: str
    types: tuple[DType, ...]


@dataclass(frozen=True, init=False)
class Buffer:
    """A pointer parameter: `In("A", f32, "M", "K")` is a row-major, contiguous M x K matrix of floats.

    Each dimension is a number or an expression over the scalars: names, + - * // ( ), min and max, as in "2 * rows +
    512".
    """

    name: str
    dtype: DType | DTypeBy
    shape: tuple[Dim, ...]
    role: ClassVar[str] = ""
    memory: ClassVar[str] = "buffer"

    def __init__(self, name: str, dtype: DType | DTypeBy, *shape: Dim) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "shape", shape)

    @property
    def is_read(self) -> bool:
        """Whether the entry receives values in it."""
        return self.role in ("in", "inout")

    @property
    def is_result(self) -> bool:
        """Whether it is compared with the reference afterwards."""
        return self.role in ("out", "inout")

    @property
    def is_on_device(self) -> bool:
        return self.memory == "buffer"


class In(Buffer):
    """Read only: a store into it is a finding."""

    role = "in"


class Out(Buffer):
    """Poisoned before every run, every element compared afterwards."""

    role = "out"


class InOut(Buffer):
    """Holds inputs first and results afterwards, as weights in an update do."""

    role = "inout"


class Workspace(Buffer):
    """Scratch: poisoned before, not compared."""

    role = "workspace"


class HostOut(Buffer):
    """In host memory, filled by an entry that is host code alone: such an entry gets no stream and returns nothing."""

    role = "out"
    memory = "host"


@dataclass(frozen=True)
class Scalar:
    """A parameter passed by value."""

    name: str
    dtype: DType


Param: TypeAlias = Buffer | Scalar


def scalar_value(scalar: Scalar, params: Mapping[str, Number]) -> Number:
    """The value as the entry receives it: an f32 is rounded to single precision, and the reference sees the same."""
    value = params[scalar.name]
    if not scalar.dtype.is_float:
        return int(value)
    if scalar.dtype == f32:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    return float(value)


def dtype_of(buffer: Buffer, params: Mapping[str, Number]) -> DType:
    """The type of the buffer's elements for these scalar values; raises `PuzzleError` where they choose none."""
    if isinstance(buffer.dtype, DType):
        return buffer.dtype
    chosen, types = params.get(buffer.dtype.scalar, -1), buffer.dtype.types
    if chosen not in range(len(types)):
        raise PuzzleError(f"{buffer.name}: {buffer.dtype.scalar} is 0 to {len(types) - 1}, not {chosen}.")
    return types[int(chosen)]


def shape_of(buffer: Buffer, params: Mapping[str, Number]) -> tuple[int, ...]:
    """The buffer's shape in elements for these scalar values; raises `PuzzleError` for a dimension that cannot be."""
    return tuple(_dimension(buffer, dim, params) for dim in buffer.shape)


def scalars_of(buffer: Buffer) -> set[str]:
    """The scalars that the buffer's shape depends on."""
    return set[str]().union(*(names(dimension) for dimension in buffer.shape if isinstance(dimension, str)))


def element_count(buffer: Buffer, params: Mapping[str, Number]) -> int:
    """How many elements the buffer holds; 1 for a buffer with no dimensions."""
    count = 1
    for extent in shape_of(buffer, params):
        count *= extent
    return count


def buffer_bytes(buffer: Buffer, params: Mapping[str, Number]) -> int:
    """The buffer's size in bytes."""
    return element_count(buffer, params) * dtype_of(buffer, params).bytes


def _dimension(buffer: Buffer, dim: Dim, params: Mapping[str, Number]) -> int:
    if isinstance(dim, int):
        extent = dim
    else:
        try:
            extent = evaluate(dim, params)
        except ExtentError as error:
            raise PuzzleError(f"{buffer.name}: {error}") from None
    if extent < 0:
        raise PuzzleError(f"{buffer.name}: the dimension {dim} is {extent}, below 0.")
    return extent
