"""IEEE 754 results worked out in exact arithmetic: what a rounded operation must give, to the bit.

Values travel as bit patterns, since NaN and -0 do not compare. A NaN result is None: which NaN, the caller knows.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

MODES = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True)
class Format:
    """A binary format: bits of the significand with the hidden one, and of the exponent."""

    significand: int
    exponent: int

    @functools.cached_property
    def bits(self) -> int:
        return self.significand + self.exponent

    @functools.cached_property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @functools.cached_property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << (self.significand - 1)

    @functools.cached_property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    @functools.cached_property
    def one(self) -> int:
        return self.bias << (self.significand - 1)

    @functools.cached_property
    def smallest(self) -> int:
        """The smallest normal number."""
        return 1 << (self.significand - 1)


F16, BF16, F32, F64 = Format(11, 5), Format(8, 8), Format(24, 8), Format(53, 11)


def is_nan(form: Format, bits: int) -> bool:
    return bits & ~form.sign > form.infinity


def is_infinite(form: Format, bits: int) -> bool:
    return bits & ~form.sign == form.infinity


def is_negative(form: Format, bits: int) -> bool:
    return bits & form.sign != 0


def is_subnormal(form: Format, bits: int) -> bool:
    return 0 < bits & ~form.sign < form.smallest


def _parts(form: Format, bits: int) -> tuple[int, int]:
    """Finite bits as an integer and the power of two that it is multiplied with."""
    magnitude = bits & ~form.sign
    exponent = magnitude >> (form.significand - 1)
    significand = magnitude & (form.smallest - 1)
    if exponent:
        significand |= form.smallest
    return (-significand if bits & form.sign else significand), max(exponent, 1) - form.bias - form.significand + 1


def value(form: Format, bits: int) -> Fraction:
    """The number behind finite bits; both zeros are 0."""
    signed, scale = _parts(form, bits)
    return Fraction(signed << scale) if scale >= 0 else Fraction(signed, 1 << -scale)


def rounded(form: Format, exact: Fraction, mode: str, zero_is_negative: bool = False) -> int:
    """Bits of `exact` rounded to nearest even (rn), toward zero (rz), down (rm) or up (rp)."""
    return _rounded_quotient(form, exact.numerator, exact.denominator, mode, zero_is_negative)


def _rounded_product(form: Format, signed: int, scale: int, mode: str, zero_is_negative: bool) -> int:
    """Bits of signed * 2^scale."""
    if scale >= 0:
        return _rounded_quotient(form, signed << scale, 1, mode, zero_is_negative)
    return _rounded_quotient(form, signed, 1 << -scale, mode, zero_is_negative)


def _rounded_quotient(form: Format, top: int, bottom: int, mode: str, zero_is_negative: bool) -> int:
    if top == 0:
        return form.sign if zero_is_negative else 0
    negative, top = top < 0, abs(top)
    exponent = max(_floor_log2(top, bottom), 1 - form.bias)
    quantum = exponent - form.significand + 1  # the logarithm of a unit in the last place
    if quantum >= 0:
        bottom <<= quantum
    else:
        top <<= -quantum
    whole, rest = divmod(top, bottom)
    away = (mode == "rp" and not negative) or (mode == "rm" and negative)
    if (mode == "rn" and (rest * 2 > bottom or (rest * 2 == bottom and whole & 1))) or (away and rest):
        whole += 1
    bits = whole + ((exponent + form.bias - 1) << (form.significand - 1))  # a carry runs into the exponent by itself
    if bits >= form.infinity:
        bits = form.infinity if mode == "rn" or away else form.infinity - 1
    return bits | (form.sign if negative else 0)


def _floor_log2(top: int, bottom: int) -> int:
    guess = top.bit_length() - bottom.bit_length()
    fits = top >= bottom << guess if guess >= 0 else top << -guess >= bottom
    return guess if fits else guess - 1


def add(form: Format, a: int, b: int, mode: str) -> int | None:
    return fused(form, a, form.one, b, mode)


def subtract(form: Format, a: int, b: int, mode: str) -> int | None:
    return fused(form, a, form.one, b ^ form.sign, mode)


def multiply(form: Format, a: int, b: int, mode: str) -> int | None:
    negative = is_negative(form, a) != is_negative(form, b)
    if is_nan(form, a) or is_nan(form, b):
        return None
    if is_infinite(form, a) or is_infinite(form, b):
        if 0 in (a & ~form.sign, b & ~form.sign):
            return None
        return form.infinity | (form.sign if negative else 0)
    (left, one), (right, other) = _parts(form, a), _parts(form, b)
    return _rounded_product(form, left * right, one + other, mode, negative)


def fused(form: Format, a: int, b: int, c: int, mode: str) -> int | None:
    """A * b + c, rounded once."""
    if any(is_nan(form, x) for x in (a, b, c)):
        return None
    negative = is_negative(form, a) != is_negative(form, b)
    if is_infinite(form, a) or is_infinite(form, b):
        if 0 in (a & ~form.sign, b & ~form.sign):
            return None
        if is_infinite(form, c) and is_negative(form, c) != negative:
            return None
        return form.infinity | (form.sign if negative else 0)
    if is_infinite(form, c):
        return c
    (left, one), (right, other), (added, low) = _parts(form, a), _parts(form, b), _parts(form, c)
    product, scale = left * right, one + other
    if product == 0 and added == 0 and negative == is_negative(form, c):
        return c & form.sign
    base = min(scale, low)
    total = (product << scale - base) + (added << low - base)
    return _rounded_product(form, total, base, mode, zero_is_negative=mode == "rm")


def divide(form: Format, a: int, b: int, mode: str) -> int | None:
    sign = form.sign if is_negative(form, a) != is_negative(form, b) else 0
    if is_nan(form, a) or is_nan(form, b):
        return None
    if is_infinite(form, a):
        return None if is_infinite(form, b) else form.infinity | sign
    if is_infinite(form, b):
        return sign
    if b & ~form.sign == 0:
        return None if a & ~form.sign == 0 else form.infinity | sign
    (top, one), (bottom, other) = _parts(form, a), _parts(form, b)
    top, bottom = (top, bottom) if bottom > 0 else (-top, -bottom)
    if one >= other:
        return _rounded_quotient(form, top << one - other, bottom, mode, bool(sign))
    return _rounded_quotient(form, top, bottom << other - one, mode, bool(sign))


def reciprocal(form: Format, a: int, mode: str) -> int | None:
    return divide(form, form.one, a, mode)


def square_root(form: Format, a: int, mode: str) -> int | None:
    if is_nan(form, a) or (is_negative(form, a) and a != form.sign):
        return None
    if is_infinite(form, a) or a & ~form.sign == 0:
        return a
    # 2 * significand + 20 bits of the root, and a last one for what is cut off: enough for any rounding.
    number = value(form, a)
    shift = 2 * (form.significand + 20) - 2 * (_floor_log2(number.numerator, number.denominator) // 2)
    scaled = number * Fraction(2) ** shift
    root = math.isqrt(int(scaled))
    exact = Fraction(2 * root + (0 if root * root == scaled else 1), 2) / Fraction(2) ** (shift // 2)
    return rounded(form, exact, mode)


def order(form: Format, bits: int) -> int:
    """Numbers that stand in the order of the values; -0 lies below +0."""
    return -(bits & ~form.sign) - 1 if is_negative(form, bits) else bits


def least(form: Format, a: int, b: int) -> int | None:
    """A NaN loses to a number."""
    numbers = [x for x in (a, b) if not is_nan(form, x)]
    return min(numbers, key=lambda bits: order(form, bits)) if numbers else None


def most(form: Format, a: int, b: int) -> int | None:
    numbers = [x for x in (a, b) if not is_nan(form, x)]
    return max(numbers, key=lambda bits: order(form, bits)) if numbers else None


def compared(form: Format, a: int, b: int) -> int | None:
    """-1, 0 or 1 as a lies below b, is equal or lies above; None where one is a NaN."""
    if is_nan(form, a) or is_nan(form, b):
        return None
    left, right = ((0 if bits == form.sign else order(form, bits)) for bits in (a, b))
    return (left > right) - (left < right)


def flushed(form: Format, bits: int) -> int:
    """Subnormal numbers become zero of the same sign."""
    return bits & form.sign if is_subnormal(form, bits) else bits


def converted(source: Format, to: Format, bits: int, mode: str) -> int | None:
    """A number of one format in another."""
    sign = to.sign if is_negative(source, bits) else 0
    if is_nan(source, bits):
        return None
    if is_infinite(source, bits):
        return to.infinity | sign
    return rounded(to, value(source, bits), mode, bool(sign))


def integral(number: Fraction, mode: str) -> int:
    """The integer nearest (rn, ties to even), toward zero (rz), below (rm) or above (rp)."""
    floor = number.numerator // number.denominator
    if mode == "rn":
        return round(number)
    if mode == "rm" or floor == number:
        return floor
    return floor + 1 if mode == "rp" or number < 0 else floor


Operation = Callable[..., int | None]


def f32_bits(number: float) -> int:
    """Bits of a number that a float holds exactly."""
    return int(struct.unpack("<I", struct.pack("<f", number))[0])


def f64_bits(number: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])
