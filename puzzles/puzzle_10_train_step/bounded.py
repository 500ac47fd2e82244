"""Numbers with a bound of their error, and the ops of a training step on them.

A value stands with how far the computed one may be from it: what its inputs may be off by, handed on, and the rounding
of the op itself, as large as it can be. `unit` is half the distance of two neighbours of the type that is stored,
relative to a number; sums are kept in float.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # not for those who only list puzzles
    from torch import Tensor

SINGLE, HALF = 2.0**-24, 2.0**-11
UNITS = (SINGLE, HALF)  # of dtype 0 and 1
_SMALLEST = (2.0**-150, 2.0**-25)  # half the spacing of their denormals


@dataclass(frozen=True)
class Bounded:
    """A tensor in float64, and how far from it, element by element, a computed one may be."""

    value: Tensor
    off: Tensor

    @classmethod
    def exact(cls, value: Tensor) -> Bounded:
        return cls(value, value.new_zeros(value.shape))

    @property
    def most(self) -> Tensor:
        """How large the computed one may be."""
        return self.value.abs() + self.off

    def stored(self, dtype: int) -> Bounded:
        """Rounded once, to the type."""
        return Bounded(self.value, self.off + UNITS[dtype] * self.most + _SMALLEST[dtype])


def product(a: Bounded, b: Bounded, dtype: int) -> Bounded:
    """Gemm: sums of as many terms as A has columns, in whatever order."""
    terms, sizes = a.value.shape[1], a.most @ b.most
    off = a.most @ b.off + a.off @ b.most + terms * SINGLE * sizes
    return Bounded(a.value @ b.value, off).stored(dtype)


def turned(a: Bounded) -> Bounded:
    return Bounded(a.value.T, a.off.T)


def column_sums(x: Bounded, dtype: int) -> Bounded:
    """ReduceSum along axis 0."""
    off = x.off.sum(0) + len(x.value) * SINGLE * x.most.sum(0)
    return Bounded(x.value.sum(0), off).stored(dtype)


def with_bias(x: Bounded, bias: Bounded, dtype: int) -> Bounded:
    return Bounded(x.value + bias.value, x.off + bias.off + SINGLE * (x.most + bias.most)).stored(dtype)


def relu(x: Bounded) -> Bounded:
    return Bounded(x.value.clamp(min=0), x.off)


def relu_backward(dy: Bounded, x: Bounded) -> Bounded:
    """Where x may be on either side of 0, so may the result."""
    open_ = x.value > 0
    unsure = x.value.abs() <= x.off
    off = dy.most.where(unsure & (x.off > 0), open_ * dy.off)
    return Bounded(dy.value.where(open_, 0.0), off)


def mse_gradient(y: Bounded, target: Tensor, dtype: int) -> Bounded:
    """2 (y - target) / count, of which the difference and two more results are rounded."""
    scale = 2 / max(y.value.numel(), 1)
    value = (y.value - target) * scale
    return Bounded(value, y.off * scale + 3 * SINGLE * value.abs()).stored(dtype)


def step(w: Bounded, g: Bounded, lr: float, dtype: int) -> Bounded:
    """SgdStep: a product and a difference, in float."""
    off = w.off + lr * g.off + SINGLE * (w.most + 2 * lr * g.most)
    return Bounded(w.value - lr * g.value, off).stored(dtype)
