"""The `.approx` and `.full` functions: within the error that the PTX ISA states, and exact where it gives a table.

True values come from series and roots in 60 decimal digits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

from tests import exact
from tests.exact import F32, F64, Format
from tests.instructions.case import Case, Word
from tests.instructions.floats import LETTER
from tests.instructions.halves import paired
from tests.instructions.registers import on_registers
from tests.instructions.values import FORMATS, float_edges
from tests.instructions.words import ANYTHING, NAN, AnyNan, Near, OneOf

_DIGITS = 60
Real = Callable[[Fraction], Fraction]
Error = Callable[[Fraction, Fraction], Fraction]  # what is allowed, of the operand and the true value


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _power_of_two(x: Fraction) -> Fraction:
    whole = x.numerator // x.denominator
    with localcontext() as context:
        context.prec = _DIGITS
        part = (_decimal(x - whole) * Decimal(2).ln()).exp()
    return Fraction(part) * Fraction(2) ** whole


def _logarithm(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = _DIGITS
        return Fraction(_decimal(x).ln() / Decimal(2).ln())


def _root(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = _DIGITS
        return Fraction(_decimal(x).sqrt())


def _tanh(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = _DIGITS
        if abs(x) < Fraction(1, 1 << 40):
            return x - x**3 / 3
        grown = (2 * _decimal(min(abs(x), Fraction(60)))).exp()  # beyond, it is 1 to more digits than count
        size = Fraction((grown - 1) / (grown + 1))
    return -size if x < 0 else size


def _series(x: Fraction, first: Fraction, at: int) -> Fraction:
    """The sine, from x and 2, or the cosine, from 1 and 1: each term is the last one times -x^2 / (at (at + 1))."""
    total, term = Fraction(0), first
    while abs(term) > Fraction(1, 1 << 80):
        total += term
        term = Fraction(round(-term * x * x / (at * (at + 1)) * (1 << 160)), 1 << 160)
        at += 2
    return total


def _sine(x: Fraction) -> Fraction:
    return _series(x, x, 2)


def _cosine(x: Fraction) -> Fraction:
    return _series(x, Fraction(1), 1)


def _ulp(form: Format, number: Fraction) -> Fraction:
    """A unit in the last place of a number."""
    bits = exact.rounded(form, abs(number), "rz")
    exponent = max(bits >> (form.significand - 1), 1) - form.bias - form.significand + 1
    return Fraction(2) ** exponent


Special = Callable[[int], Word | None]


def _function(name: str, form: Format, function: Real, error: Error, special: Special) -> Callable[[int], Word]:
    """`special` knows the operands that have an exact result, and gives None of all others."""
    flush = ".ftz" in name

    def expected(bits: int) -> Word:
        if exact.is_nan(form, bits):
            return NAN[form] if form in NAN else AnyNan(form)
        if flush:
            bits = exact.flushed(form, bits)
        known = special(bits)
        if known is not None:
            return known
        operand = exact.value(form, bits)
        true = function(operand)
        # A subnormal result may have become zero with .ftz; its last place is the format's.
        zero = flush and abs(true) < Fraction(2) ** (1 - form.bias)
        least = Fraction(2) ** (2 - form.bias - form.significand)
        return Near(form, true, max(error(operand, true), least / 2), zero)

    return expected


def _operands(form: Format, ranges: list[tuple[float, float]]) -> list[tuple[int]]:
    rng = random.Random(len(ranges))
    rows = [(bits,) for bits in float_edges(form)]
    for low, high in ranges:
        for _ in range(160 // len(ranges)):
            number = Fraction(rng.uniform(low, high))
            rows.append((exact.rounded(form, number, "rn"),))
    return rows


def _specials(form: Format, table: dict[str, Word]) -> Special:
    """By "-inf", "-0", "+0", "+inf", "-" (any other negative number)."""

    def special(bits: int) -> Word | None:
        sign = "-" if exact.is_negative(form, bits) else "+"
        if exact.is_infinite(form, bits):
            return table.get(sign + "inf")
        if bits & ~form.sign == 0:
            return table.get(sign + "0")
        return table.get(sign)

    return special


def _relative(bound: float) -> Error:
    limit = Fraction(bound)
    return lambda _, true: abs(true) * limit


def _ulps(form: Format, count: int) -> Error:
    return lambda _, true: count * _ulp(form, true)


def single_precision() -> Iterator[Case]:
    infinity, minus, one, nan = F32.infinity, F32.infinity | F32.sign, F32.one, NAN[F32]
    trigonometric: dict[str, Word] = {"+inf": nan, "-inf": nan}

    def logarithm_error(x: Fraction, true: Fraction) -> Fraction:
        bound = Fraction(2) ** -22
        return bound if Fraction(1, 2) < x < 2 else abs(true) * bound

    def circle_error(x: Fraction, _: Fraction) -> Fraction:
        return Fraction(2.0**-20.5 if abs(x) <= 6 else 2.0**-14.7 if abs(x) <= 314 else 4.0)

    functions: list[tuple[str, Real, Error, dict[str, Word]]] = [
        ("ex2", _exponential, _ulps(F32, 2), {"-inf": 0, "+inf": infinity, "+0": one, "-0": one}),
        ("lg2", _logarithm, logarithm_error, {"-inf": nan, "-": nan, "+inf": infinity, "+0": minus, "-0": minus}),
        ("sin", _near_sine, circle_error, {**trigonometric, "+0": 0, "-0": F32.sign}),
        ("cos", _near_cosine, circle_error, {**trigonometric, "+0": one, "-0": one}),
        (
            "rsqrt",
            lambda x: 1 / _root(x),
            _relative(2.0**-22.9),
            {"-inf": nan, "-": nan, "-0": minus, "+0": infinity, "+inf": 0},
        ),
        (
            "sqrt",
            _root,
            _relative(2.0**-23),
            {"-inf": nan, "-": nan, "-0": F32.sign, "+0": 0, "+inf": infinity},
        ),
        (
            "rcp",
            lambda x: 1 / x,
            _ulps(F32, 1),
            {"-inf": F32.sign, "-0": minus, "+0": infinity, "+inf": 0},
        ),
    ]
    ranges = {
        "ex2": [(-126.0, 128.0), (-150.0, -126.0), (-1.0, 1.0)],
        "lg2": [(0.5, 2.0), (0.0, 1e-30), (2.0, 1e30)],
        "sin": [(-6.28, 6.28), (-314.0, 314.0)],
        "cos": [(-6.28, 6.28), (-314.0, 314.0)],
    }
    for base, function, error, table in functions:
        for modifier in ("", ".ftz"):
            name = f"{base}.approx{modifier}.f32"
            expected = _function(name, F32, function, error, _specials(F32, table))
            rows = _operands(F32, ranges.get(base, [(0.0, 4.0), (1.0, 1e30), (1e-38, 1e-30)]))
            yield on_registers(name, "r", "r", rows, expected)
    limits: dict[str, Word] = {"-inf": one | F32.sign, "+inf": one, "+0": 0, "-0": F32.sign}
    expected = _function("tanh", F32, _tanh, _relative(2.0**-11), _specials(F32, limits))
    yield on_registers("tanh.approx.f32", "r", "r", _operands(F32, [(-5.0, 5.0), (-0.01, 0.01)]), expected)


def _exponential(x: Fraction) -> Fraction:
    """2^x, kept within reach where it overflows or vanishes anyway."""
    return _power_of_two(min(max(x, Fraction(-2000)), Fraction(2000)))


def _near_sine(x: Fraction) -> Fraction:
    """Beyond 100π nothing is promised but a number between -1 and 1."""
    return _sine(x) if abs(x) <= 320 else Fraction(0)


def _near_cosine(x: Fraction) -> Fraction:
    return _cosine(x) if abs(x) <= 320 else Fraction(0)


def division() -> Iterator[Case]:
    """Two units in the last place; by a divisor beyond 2^126 `div.approx` gives 0, or NaN for infinity."""
    rng = random.Random(41)
    edges = float_edges(F32)
    rows = [(a, b) for a in edges for b in edges[::3]]
    rows += [(rng.getrandbits(32), rng.getrandbits(32)) for _ in range(200)]
    for name in ("div.approx.f32", "div.approx.ftz.f32", "div.full.f32", "div.full.ftz.f32"):

        def expected(a: int, b: int, full: bool = ".full" in name, flush: bool = ".ftz" in name) -> Word:
            if flush:
                a, b = exact.flushed(F32, a), exact.flushed(F32, b)
            size = b & ~F32.sign
            if exact.is_subnormal(F32, b):
                return ANYTHING
            if F32.smallest * 253 < size < F32.infinity:  # 2^126 < |b|
                if exact.is_nan(F32, a):
                    return NAN[F32]
                if full:
                    return ANYTHING
                return NAN[F32] if exact.is_infinite(F32, a) else OneOf((0, F32.sign))
            bits = exact.divide(F32, a, b, "rn")
            if bits is None:
                return NAN[F32]
            if exact.is_infinite(F32, a) or exact.is_infinite(F32, b) or size == 0:
                return bits
            true = exact.value(F32, a) / exact.value(F32, b)
            zero = flush and abs(true) < Fraction(2) ** -126
            return Near(F32, true, 2 * _ulp(F32, true), zero)

        yield on_registers(name, "r", "rr", rows, expected)


def _of_the_upper_word(function: Callable[[int], Word]) -> Callable[[int], Word]:
    """What the lower word of an f64 holds does not matter, nor whether it makes a NaN."""
    return lambda bits: function(bits >> 32 << 32)


def double_precision() -> Iterator[Case]:
    """PTX gives no bound for these; 2^-20 is what the code that nvcc makes of a division rests on."""
    minus = F64.infinity | F64.sign
    reciprocal: dict[str, Word] = {"-inf": F64.sign, "-0": minus, "+0": F64.infinity, "+inf": 0}
    root: dict[str, Word] = {"-inf": AnyNan(F64), "-": AnyNan(F64), "-0": minus, "+0": F64.infinity, "+inf": 0}
    functions: list[tuple[str, Real, dict[str, Word]]] = [
        ("rcp.approx.ftz.f64", lambda x: 1 / x, reciprocal),
        ("rsqrt.approx.f64", lambda x: 1 / _root(x), root),
        ("rsqrt.approx.ftz.f64", lambda x: 1 / _root(x), root),
    ]
    for name, function, table in functions:
        expected = _function(name, F64, function, _relative(2.0**-20), _specials(F64, table))
        if name != "rsqrt.approx.f64":
            expected = _of_the_upper_word(expected)
        rows = _operands(F64, [(0.1, 4.0), (1.0, 1e300), (1e-307, 1e-300)])
        yield on_registers(name, "d", "d", rows, expected)


def half_precision() -> Iterator[Case]:
    errors: list[tuple[str, str, Real, Error]] = [
        ("f16", "ex2.approx.f16", _exponential, _relative(2.0**-9.9)),
        ("bf16", "ex2.approx.ftz.bf16", _exponential, _relative(2.0**-7)),
        ("f16", "tanh.approx.f16", _tanh, lambda _, true: Fraction(2.0**-10.987)),
        ("bf16", "tanh.approx.bf16", _tanh, lambda _, true: Fraction(2.0**-8)),
    ]
    for kind, name, function, error in errors:
        form = FORMATS[kind]
        one, minus = form.one, form.one | form.sign
        table: dict[str, Word] = {"-inf": 0, "+inf": form.infinity, "+0": one, "-0": one}
        if name.startswith("tanh"):
            table = {"-inf": minus, "+inf": one, "+0": 0, "-0": form.sign}
        expected = _function(name, form, function, error, _specials(form, table))
        rows = _operands(form, [(-10.0, 10.0), (-1.0, 1.0)])
        yield on_registers(name, LETTER[kind], LETTER[kind], rows, expected)
        pairs = [(low | high << 16,) for (low,), (high,) in zip(rows, rows[7:] + rows[:7], strict=True)]
        yield on_registers(f"{name}x2", "r", "r", pairs, paired(expected))


CASES = [*single_precision(), *division(), *double_precision(), *half_precision()]
