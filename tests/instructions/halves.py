"""f16 and bf16, alone and in pairs (PTX ISA 9.1, sections 9.7.4, 9.7.7 and 9.7.9.23), in exact arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

from tests import exact
from tests.exact import BF16, F32, F64, MODES, Format, Operation
from tests.instructions.case import Case, Word
from tests.instructions.comparisons import FLOAT_COMPARISONS, float_holds, predicates
from tests.instructions.conversions import integer_of, slot
from tests.instructions.floats import Function, extreme, modified, on_floats
from tests.instructions.integers import LETTER
from tests.instructions.registers import on_registers
from tests.instructions.values import FORMATS, WIDTHS, operands, signed
from tests.instructions.words import ANYTHING, AnyNan, OneOf, Word16, result

KINDS = ("f16", "bf16")
_OPERATIONS: dict[str, tuple[int, Operation]] = {
    "add": (2, exact.add),
    "sub": (2, exact.subtract),
    "mul": (2, exact.multiply),
    "fma": (3, exact.fused),
}


def paired(function: Function) -> Function:
    """The same on the lower and on the upper halves."""

    def expected(*words: int) -> Word:
        low, high = function(*(word & 0xFFFF for word in words)), function(*(word >> 16 for word in words))
        return low | high << 16 if isinstance(low, int) and isinstance(high, int) else Word16(low, high)

    return expected


def alone_and_paired(name: str, kind: str, count: int, function: Function) -> Iterator[Case]:
    yield on_floats(f"{name}.{kind}", kind, count, function)
    rows = operands(*[f"{kind}x2"] * count)
    yield on_registers(f"{name}.{kind}x2", "r", "r" * count, rows, paired(function))


def _without_negatives(form: Format, operation: Operation) -> Function:
    """`.relu`: negative results become 0, a NaN the canonical one. What becomes of -0 is not said."""

    def expected(*words: int) -> Word:
        bits = operation(form, *words, "rn")
        if bits is None:
            return result(form, None)
        if bits == form.sign:
            return OneOf((0, bits))
        return 0 if exact.is_negative(form, bits) else bits

    return expected


def arithmetic() -> Iterator[Case]:
    for kind in KINDS:
        form = FORMATS[kind]
        for base, (count, operation) in _OPERATIONS.items():
            rounding = ".rn" if base == "fma" else ""
            yield from alone_and_paired(f"{base}{rounding}", kind, count, modified(form, operation, "rn"))
            if kind == "f16":
                saturated = modified(form, operation, "rn", ".sat")
                yield from alone_and_paired(f"{base}{rounding}.sat", kind, count, saturated)
        yield from alone_and_paired("fma.rn.relu", kind, 3, _without_negatives(form, exact.fused))
        for base, choose in (("min", exact.least), ("max", exact.most)):
            for modifiers in ("", ".NaN"):
                yield from alone_and_paired(f"{base}{modifiers}", kind, 2, extreme(form, choose, modifiers))
        for base, keep, flip in (("neg", 0xFFFF, 0x8000), ("abs", 0x7FFF, 0)):

            def signed_anew(a: int, f: Format = form, k: int = keep, x: int = flip) -> Word:
                return ANYTHING if exact.is_nan(f, a) else (a & k) ^ x

            yield from alone_and_paired(base, kind, 1, signed_anew)


def comparisons() -> Iterator[Case]:
    for kind, name in itertools.product(KINDS, FLOAT_COMPARISONS):
        form = FORMATS[kind]
        holds = float_holds(form, name)
        yield from predicates(name, "", kind, "h", holds, pair=False)
        for to, truth in ((kind, form.one), ("u16", 0xFFFF), ("u32", 0xFFFFFFFF)):

            def single(a: int, b: int, t: int = truth, h: Callable[[int, int], bool] = holds) -> Word:
                return t if h(a, b) else 0

            of = "r" if to == "u32" else "h"
            yield on_registers(f"set.{name}.{to}.{kind}", of, "hh", operands(kind, kind, count=160), single)
        for to, truth in ((f"{kind}x2", form.one), ("u32", 0xFFFF), ("s32", 0xFFFF)):

            def half(a: int, b: int, t: int = truth, h: Callable[[int, int], bool] = holds) -> Word:
                return t if h(a, b) else 0

            rows = operands(f"{kind}x2", f"{kind}x2", count=160)
            yield on_registers(f"set.{name}.{to}.{kind}x2", "r", "rr", rows, paired(half))


def narrowing() -> Iterator[Case]:
    """From f32 and f64 with one rounding; two of f32 into a pair, the first into the upper half."""
    ties = [Fraction(1) + Fraction(n, 1 << 12) for n in range(8)] + [Fraction(65504), Fraction(65519), Fraction(65520)]
    ties += [Fraction(n, 1 << 26) for n in range(8)]

    def rows(kind: str) -> list[tuple[int, ...]]:
        form = FORMATS[kind]
        made = [(exact.rounded(form, sign * tie, "rn"),) for tie in ties for sign in (1, -1)]
        made += [
            (exact.rounded(form, exact.value(FORMATS["f16"], bits) + delta, "rn"),)
            for (bits,) in operands("f16", count=64)
            if bits & 0x7FFF < 0x7C00
            for delta in (0, Fraction(2) ** -26, -(Fraction(2) ** -26))
        ]
        return made + operands(kind, count=128)

    def narrowed(source: Format, to: Format, mode: str, relu: bool = False) -> Function:
        def expected(bits: int) -> Word:
            made = exact.converted(source, to, bits, mode)
            if relu and made is not None and exact.is_negative(to, made):
                return OneOf((0, made)) if made == to.sign else 0
            return result(to, made)

        return expected

    for kind in KINDS:
        form = FORMATS[kind]
        for mode in MODES:
            yield on_registers(f"cvt.{mode}.{kind}.f32", "h", "r", rows("f32"), narrowed(F32, form, mode))
        for mode in ("rn", "rz"):
            for modifier in ("", ".relu"):
                one = narrowed(F32, form, mode, bool(modifier))
                if modifier:
                    yield on_registers(f"cvt.{mode}.relu.{kind}.f32", "h", "r", rows("f32"), one)

                def both(a: int, b: int, f: Function = one) -> Word:
                    return Word16(f(b), f(a))

                name = f"cvt.{mode}{modifier}.{kind}x2.f32"
                yield on_registers(name, "r", "rr", operands("f32", "f32"), both)

        def from_double(bits: int, f: Format = form) -> Word:
            return AnyNan(f) if exact.is_nan(F64, bits) else narrowed(F64, f, "rn")(bits)

        yield on_registers(f"cvt.rn.{kind}.f64", "h", "d", rows("f64"), from_double)


def widening() -> Iterator[Case]:
    """All numbers there are. What a NaN of bf16 carries, PTX leaves open."""
    rows = [(bits,) for bits in range(1 << 16)]
    for kind in KINDS:

        def widened(bits: int, f: Format = FORMATS[kind]) -> Word:
            if f is BF16 and exact.is_nan(f, bits):
                return AnyNan(F32)
            return result(F32, exact.converted(f, F32, bits, "rn"))

        yield on_registers(f"cvt.f32.{kind}", "r", "h", rows, widened)


def integers() -> Iterator[Case]:
    kinds = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
    for half, kind, mode in itertools.product(KINDS, kinds, MODES):
        of = LETTER[WIDTHS[kind]]

        def to_half(bits: int, f: Format = FORMATS[half], k: str = kind, m: str = mode) -> Word:
            return exact.rounded(f, Fraction(signed(k, bits)), m)

        def from_half(bits: int, f: Format = FORMATS[half], k: str = kind, m: str = mode, o: str = of) -> Word:
            return slot(k, integer_of(f, k, m, bits, wide_nan=WIDTHS[k] == 64), o)

        numbers = operands(kind, count=96) + [(n,) for n in (*_TIES, *(n << 40 for n in _TIES))]
        rows = [row for row in numbers if row[0] >> WIDTHS[kind] == 0]
        yield on_registers(f"cvt.{mode}.{half}.{kind}", "h", of, rows, to_half)
        yield on_registers(f"cvt.{mode}i.{kind}.{half}", of, "h", operands(half), from_half)
    for half, mode in itertools.product(KINDS, MODES):

        def whole(bits: int, f: Format = FORMATS[half], m: str = mode) -> Word:
            if exact.is_nan(f, bits):
                return result(f, None)
            if exact.is_infinite(f, bits):
                return bits
            number = Fraction(exact.integral(exact.value(f, bits), m))
            return exact.rounded(f, number, "rn", exact.is_negative(f, bits))

        yield on_registers(f"cvt.{mode}i.{half}.{half}", "h", "h", operands(half), whole)


def bytes_of_bfloats() -> Iterator[Case]:
    """As cuda_bf16.h converts to a byte: by way of a register of 8 bits."""
    for kind in ("s8", "u8"):
        text = f".reg .b8 %small;\ncvt.rzi.{kind}.bf16 %small, {{a0}};\nmov.b16 {{d0}}, {{{{%small, 0}}}};"

        def byte(bits: int, k: str = kind) -> Word:
            return integer_of(BF16, k, "rz", bits, wide_nan=False)

        title = f"cvt.rzi.{kind}.bf16 into a register of 8 bits"
        yield on_registers(title, "h", "h", operands("bf16"), byte, text=text, title=title)


# Halfway between numbers of f16 or of bf16, or next to that.
_TIES = (255, 257, 383, 385, 513, 2047, 2049, 2051, 65504, 65519, 65520, 65535, 0x808000, 0x808001, 0x818000)


CASES = [*arithmetic(), *comparisons(), *narrowing(), *widening(), *integers(), *bytes_of_bfloats()]
