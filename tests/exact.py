"""IEEE 754 results worked out in exact arithmetic: what a rounded operation must give, to the bit.

Values travel as bit patterns, since NaN and -0 do not compare. A NaN result is None: which NaN, the caller knows.
"""

from __future__ import annotations

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

    @property
    def bits(self) -> int:
        return self.significand + self.exponent

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << (self.significand - 1)

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)


F32 = Format(24, 8)
F64 = Format(53, 11)


def is_nan(form: Format, bits: int) -> bool:
    return bits & ~form.sign > form.infinity


def is_infinite(form: Format, bits: int) -> bool:
    return bits & ~form.sign == form.infinity


def is_negative(form: Format, bits: int) -> bool:
    return bool(bits & form.sign)


def value(form: Format, bits: int) -> Fraction:
    """The number behind finite bits; both zeros are 0."""
    magnitude = bits & ~form.sign
    exponent = magnitude >> (form.significand - 1)
    significand = magnitude & ((1 << (form.significand - 1)) - 1)
    if exponent:
        significand |= 1 << (form.significand - 1)
    scale = Fraction(2) ** (max(exponent, 1) - form.bias - form.significand + 1)
    return (-1 if is_negative(form, bits) else 1) * significand * scale


def rounded(form: Format, exact: Fraction, mode: str, zero_is_negative: bool = False) -> int:
    """Bits of `exact` rounded to nearest even (rn), toward zero (rz), down (rm) or up (rp)."""
    if exact == 0:
        return form.sign if zero_is_negative else 0
    negative, magnitude = exact < 0, abs(exact)
    exponent = max(_floor_log2(magnitude), 1 - form.bias)
    quantum = Fraction(2) ** (exponent - form.significand + 1)
    count, rest = divmod(magnitude, quantum)
    whole = int(count)
    away = (mode == "rp" and not negative) or (mode == "rm" and negative)
    if (mode == "rn" and (rest * 2 > quantum or (rest * 2 == quantum and whole & 1))) or (away and rest):
        whole += 1
    bits = whole + ((exponent + form.bias - 1) << (form.significand - 1))  # a carry runs into the exponent by itself
    if bits >= form.infinity:
        bits = form.infinity if mode == "rn" or away else form.infinity - 1
    return bits | (form.sign if negative else 0)


def _floor_log2(magnitude: Fraction) -> int:
    guess = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return guess if Fraction(2) ** guess <= magnitude else guess - 1


def add(form: Format, a: int, b: int, mode: str) -> int | None:
    return fused(form, a, rounded(form, Fraction(1), "rn"), b, mode)


def multiply(form: Format, a: int, b: int, mode: str) -> int | None:
    negative = is_negative(form, a) != is_negative(form, b)
    if is_nan(form, a) or is_nan(form, b):
        return None
    if is_infinite(form, a) or is_infinite(form, b):
        if 0 in (a & ~form.sign, b & ~form.sign):
            return None
        return form.infinity | (form.sign if negative else 0)
    return rounded(form, value(form, a) * value(form, b), mode, negative)


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
    product = value(form, a) * value(form, b)
    if product == 0 and value(form, c) == 0 and negative == is_negative(form, c):
        return c & form.sign
    return rounded(form, product + value(form, c), mode, zero_is_negative=mode == "rm")


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
    return rounded(form, value(form, a) / value(form, b), mode, bool(sign))


def square_root(form: Format, a: int, mode: str) -> int | None:
    if is_nan(form, a) or (is_negative(form, a) and a != form.sign):
        return None
    if is_infinite(form, a) or a & ~form.sign == 0:
        return a
    # 2 * significand + 20 bits of the root, and a last one for what is cut off: enough for any rounding.
    number = value(form, a)
    shift = 2 * (form.significand + 20) - 2 * (_floor_log2(number) // 2)
    scaled = number * Fraction(2) ** shift
    root = math.isqrt(int(scaled))
    exact = Fraction(2 * root + (0 if root * root == scaled else 1), 2) / Fraction(2) ** (shift // 2)
    return rounded(form, exact, mode)


Operation = Callable[..., int | None]


def f32_bits(number: float) -> int:
    """Bits of a number that a float holds exactly."""
    return int(struct.unpack("<I", struct.pack("<f", number))[0])


def f64_bits(number: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])
