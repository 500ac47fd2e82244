"""Words of which PTX does not give the very bits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tests import exact
from tests.exact import BF16, F16, F32, Format
from tests.instructions.case import Check

NAN = {F16: 0x7FFF, BF16: 0x7FFF, F32: 0x7FFFFFFF}  # the NaN that operations give


@dataclass(frozen=True)
class Anything:
    """PTX leaves the result open."""

    def accepts(self, bits: int) -> bool:
        return True


@dataclass(frozen=True)
class AnyNan:
    """Some NaN of the format."""

    form: Format

    def accepts(self, bits: int) -> bool:
        return exact.is_nan(self.form, bits)


@dataclass(frozen=True)
class OneOf:
    """One of these words."""

    words: tuple[int, ...]

    def accepts(self, bits: int) -> bool:
        return bits in self.words


@dataclass(frozen=True)
class Near:
    """A number of the format no further than `error` from `number`; with `zero` also a zero of either sign."""

    form: Format
    number: Fraction
    error: Fraction
    zero: bool = False

    def accepts(self, bits: int) -> bool:
        if exact.is_nan(self.form, bits) or bits >= 1 << self.form.bits:
            return False
        if self.zero and bits & ~self.form.sign == 0:
            return True
        if exact.is_infinite(self.form, bits):  # stands for the next number past the largest
            limit = Fraction(2) ** (self.form.bias + 1)
            return abs(self.number) + self.error >= limit and (self.number < 0) == exact.is_negative(self.form, bits)
        return abs(exact.value(self.form, bits) - self.number) <= self.error


@dataclass(frozen=True)
class Word16:
    """Two halves of a 32-bit word, the lower one first: each its bits, or what it may be."""

    low: int | Check
    high: int | Check

    def accepts(self, bits: int) -> bool:
        halves = ((self.low, bits & 0xFFFF), (self.high, bits >> 16))
        return all(word == half if isinstance(word, int) else word.accepts(half) for word, half in halves)


ANYTHING = Anything()


def result(form: Format, bits: int | None) -> int | AnyNan:
    """What `exact` gives, a NaN as machines give it: of f64 any."""
    if bits is not None:
        return bits
    return NAN[form] if form in NAN else AnyNan(form)
