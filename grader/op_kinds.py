"""The ops of puzzle 10's runtime, in the order of its OpKind: what each takes and gives, and which shapes go together.

A shape is written as its dimensions' names, and equal names are equal sizes: "m k, k n -> m n" is a matrix product.
The same holds for numbers and for the names that a `puzzle.py` gives to sizes, so that a list of op calls can be looked
at before any size is known. This module is the ground floor: it imports nothing of ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

Dim: TypeAlias = str | int
Shape: TypeAlias = tuple[Dim, ...]

_ANY = "…"  # a shape of any number of dimensions


@dataclass(frozen=True)
class Op:
    """One op: what its inputs, outputs and attributes are called, and the shapes that they have.

    `shapes` has one entry for each combination of attributes that choose among them, by their values.
    """

    name: str
    number: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: tuple[str, ...]
    shapes: Mapping[tuple[int, ...], str]

    @property
    def choices(self) -> tuple[str, ...]:
        """The attributes that are 0 or 1."""
        return self.attrs if len(self.shapes) > 1 else ()

    @property
    def in_place(self) -> bool:
        """Whether the output is the first input itself."""
        return self.outputs[0] in self.inputs

    def shapes_for(self, attrs: Mapping[str, object]) -> str | None:
        """The shapes that go together for these attributes; None where no variant has such a combination."""
        return self.shapes.get(tuple(int(str(attrs[name])) for name in self.choices))

    def written(self, attrs: Mapping[str, object]) -> str:
        """The same as a learner reads it: "A [m, k], B [k, n] → C [m, n]"."""
        inputs, _, outputs = (self.shapes_for(attrs) or "").partition(" -> ")
        sides = zip((self.inputs, self.outputs), (inputs, outputs), strict=True)
        return " → ".join(", ".join(map(_named, names, side.split(", "))) for names, side in sides)


def _named(name: str, dimensions: str) -> str:
    return name if dimensions == _ANY else f"{name} [{', '.join(dimensions.split())}]"


_SAME_OF_ONE: Mapping[tuple[int, ...], str] = {(): "… -> …"}
_SAME_OF_TWO: Mapping[tuple[int, ...], str] = {(): "…, … -> …"}
_OPS = (
    Op("EltwiseAdd", 0, ("a", "b"), ("y",), (), _SAME_OF_TWO),
    Op("EltwiseRelu", 1, ("x",), ("y",), (), _SAME_OF_ONE),
    Op(
        "Gemm",
        2,
        ("A", "B"),
        ("C",),
        ("trans_a", "trans_b"),
        {(0, 0): "m k, k n -> m n", (1, 0): "k m, k n -> m n", (0, 1): "m k, n k -> m n"},
    ),
    Op("BiasAdd", 3, ("x", "bias"), ("y",), (), {(): "rows cols, cols -> rows cols"}),
    Op("ReduceSum", 4, ("x",), ("out",), ("axis",), {(0,): "rows cols -> cols", (1,): "rows cols -> rows"}),
    Op("MseGrad", 5, ("y", "target"), ("dy",), (), _SAME_OF_TWO),
    Op("ReluBwd", 6, ("dy", "x"), ("dx",), (), _SAME_OF_TWO),
    Op("SgdStep", 7, ("w", "g"), ("w",), ("lr",), _SAME_OF_TWO),
)
OPS: Mapping[str, Op] = {op.name: op for op in _OPS}


def shapes_fit(pattern: str, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> bool:
    """Whether shapes are those of a pattern, equal names standing for equal sizes."""
    known: dict[str, Dim | Shape] = {}
    given = chain(inputs, outputs)
    wanted = pattern.replace(" -> ", ", ").split(", ")
    return all(_fits(one, shape, known) for one, shape in zip(wanted, given, strict=True))


def _fits(wanted: str, shape: Shape, known: dict[str, Dim | Shape]) -> bool:
    if wanted == _ANY:
        return known.setdefault(_ANY, shape) == shape
    names = wanted.split()
    return len(names) == len(shape) and all(
        known.setdefault(name, dim) == dim for name, dim in zip(names, shape, strict=True)
    )


def operations(op: Op, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> int:
    """Floating-point operations of one call, a multiply-add counted as two, as far as the arithmetic needs them."""
    first, out = _product(inputs[0]), _product(outputs[0])
    match op.name:
        case "Gemm":
            return 2 * math.isqrt(first * _product(inputs[1]) * out)  # m k · k n · m n is (m k n)²
        case "ReduceSum":
            return first
        case "MseGrad" | "SgdStep":
            return 2 * out
    return out


def bytes_moved(
    inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]], sizes: Iterator[int] | Sequence[int]
) -> int:
    """Bytes of one call, each element of a tensor once; `sizes` are those of an element of each tensor."""
    shapes = chain(inputs, outputs)
    return sum(_product(shape) * size for shape, size in zip(shapes, sizes, strict=True))


def _product(shape: Sequence[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count
