"""Conversions between integers, f32 and f64 (PTX ISA 9.1, section 9.7.9.23), in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from tests import exact
from tests.exact import F32, F64, MODES, Format
from tests.instructions.case import Case, Word
from tests.instructions.floats import LETTER as FLOAT_LETTER
from tests.instructions.integers import LETTER
from tests.instructions.registers import on_registers
from tests.instructions.values import FORMATS, WIDTHS, clamped, kept, operands, signed
from tests.instructions.words import ANYTHING, AnyNan, OneOf, result

_WIDE = {"r": "a register of 32 bits", "d": "a register of 64 bits"}
INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")


def slot(kind: str, bits: int, register: str) -> int:
    """A result of type `kind` in a register that may be wider: extended by its sign."""
    width = {"h": 16, "r": 32, "d": 64}[register]
    return signed(kind, bits) & ((1 << width) - 1)


def _registers(kind: str) -> str:
    """The registers that may hold a result of the type: its own width and wider ones."""
    return "hrd"[{8: 0, 16: 0, 32: 1, 64: 2}[WIDTHS[kind]] :]


def between_integers() -> Iterator[Case]:
    """The lower bits, or with `.sat` the nearest number."""
    for to in INTEGERS:
        for source in INTEGERS:
            own, held = LETTER[WIDTHS[to]], LETTER[WIDTHS[source]]
            rows = operands("b16" if WIDTHS[source] == 8 else source, count=96)  # of eight bits the lower half counts

            def plain(bits: int, t: str = to, s: str = source, r: str = own) -> Word:
                return slot(t, kept(t, signed(s, bits)), r)

            def saturated(bits: int, t: str = to, s: str = source, r: str = own) -> Word:
                return slot(t, clamped(t, signed(s, bits)), r)

            yield on_registers(f"cvt.{to}.{source}", own, held, rows, plain)
            yield on_registers(f"cvt.sat.{to}.{source}", own, held, rows, saturated)


def into_wider_registers() -> Iterator[Case]:
    """A result in a register wider than its type is extended by its sign."""
    for kind in INTEGERS:
        for register in _registers(kind)[1:]:
            for source in INTEGERS:

                def expected(bits: int, k: str = kind, s: str = source, r: str = register) -> Word:
                    return slot(k, kept(k, signed(s, bits)), r)

                name = f"cvt.{kind}.{source}"
                title = f"{name} into {_WIDE[register]}"
                rows = operands(source, count=64)
                yield on_registers(name, register, LETTER[WIDTHS[source]], rows, expected, title=title)


def from_wider_registers() -> Iterator[Case]:
    """Of a register wider than the type the lower bits count."""
    for source in INTEGERS:
        for register in _registers(source)[1:]:
            for kind in INTEGERS:
                own = LETTER[WIDTHS[kind]]

                def expected(bits: int, k: str = kind, s: str = source, r: str = own) -> Word:
                    return slot(k, kept(k, signed(s, bits)), r)

                name = f"cvt.{kind}.{source}"
                title = f"{name} from {_WIDE[register]}"
                rows = operands("b32" if register == "r" else "b64", count=64)
                yield on_registers(name, own, register, rows, expected, title=title)


def integer_of(form: Format, to: str, mode: str, bits: int, *, wide_nan: bool) -> int:
    """Rounded and clamped; a NaN is 0, or the highest bit alone where one side has 64 bits."""
    if exact.is_nan(form, bits):
        return 1 << (WIDTHS[to] - 1) if wide_nan else 0
    if exact.is_infinite(form, bits):
        return clamped(to, -(1 << 70) if exact.is_negative(form, bits) else 1 << 70)
    return clamped(to, exact.integral(exact.value(form, bits), mode))


def _integral_operands(kind: str) -> list[tuple[int, ...]]:
    """Ties, limits of the integer types, and edges."""
    form = FORMATS[kind]
    numbers = [Fraction(n, 2) for n in range(-9, 10)]
    for width in (7, 8, 15, 16, 31, 32, 63, 64):
        numbers += [sign * (Fraction(2) ** width + delta) for sign in (1, -1) for delta in (-1, Fraction(-1, 2), 0, 1)]
    numbers += [Fraction(255), Fraction(511, 2), Fraction(65535), Fraction(131071, 2), Fraction(10) ** 30]
    fitting = [(exact.rounded(form, number, "rn"),) for number in numbers]
    return fitting + operands(kind, count=100)


def floats_to_integers() -> Iterator[Case]:
    for kind in ("f32", "f64"):
        rows = _integral_operands(kind)
        for to in INTEGERS:
            for mode in MODES:
                for modifiers in ("", ".sat", ".ftz", ".ftz.sat") if kind == "f32" else ("", ".sat"):

                    def expected(bits: int, k: str = kind, t: str = to, m: str = mode, x: str = modifiers) -> Word:
                        form = FORMATS[k]
                        bits = exact.flushed(form, bits) if "ftz" in x else bits
                        wide = k == "f64" or WIDTHS[t] == 64
                        return slot(t, integer_of(form, t, m, bits, wide_nan=wide), LETTER[WIDTHS[t]])

                    name = f"cvt.{mode}i{modifiers}.{to}.{kind}"
                    yield on_registers(name, LETTER[WIDTHS[to]], FLOAT_LETTER[kind], rows, expected)


def integers_to_floats() -> Iterator[Case]:
    for kind in ("f32", "f64"):
        for source in INTEGERS:
            for mode in MODES:

                def expected(bits: int, k: str = kind, s: str = source, m: str = mode) -> Word:
                    return exact.rounded(FORMATS[k], Fraction(signed(s, bits)), m)

                name = f"cvt.{mode}.{kind}.{source}"
                yield on_registers(
                    name, FLOAT_LETTER[kind], LETTER[WIDTHS[source]], operands(source, count=128), expected
                )


def finished(form: Format, bits: int | None, modifiers: str, exact_bits: int | None = None) -> Word:
    """A converted number with `.ftz` and `.sat`; `exact_bits` is the same rounded toward zero."""
    if bits is None:
        return 0 if "sat" in modifiers else result(form, None)
    possible = {bits}
    if "ftz" in modifiers:
        possible = {exact.flushed(form, bits)}
        if bits & ~form.sign == form.smallest and exact_bits not in (None, bits):
            possible.add(bits & form.sign)
    if "sat" in modifiers:
        possible = {word for item in possible for word in _saturated(form, item)}
    return possible.pop() if len(possible) == 1 else OneOf(tuple(possible))


def _saturated(form: Format, bits: int) -> set[int]:
    if bits == form.sign:
        return {0, bits}
    return {0 if exact.is_negative(form, bits) else min(bits, form.one)}


def between_floats() -> Iterator[Case]:
    """What a NaN carries, PTX leaves open."""
    rows = operands("f64", count=128) + [
        (exact.rounded(F64, exact.value(F32, bits) + delta, "rn"),)
        for (bits,) in operands("f32", count=64)
        if bits & 0x7FFFFFFF < F32.infinity
        for delta in (0, Fraction(2) ** -40, Fraction(2) ** -24)
    ]
    for mode in MODES:
        for modifiers in ("", ".ftz", ".sat", ".ftz.sat"):

            def narrowed(bits: int, m: str = mode, x: str = modifiers) -> Word:
                cut = exact.converted(F64, F32, bits, "rz")
                made = exact.converted(F64, F32, bits, m)
                return AnyNan(F32) if made is None and "sat" not in x else finished(F32, made, x, cut)

            yield on_registers(f"cvt.{mode}{modifiers}.f32.f64", "r", "d", rows, narrowed)
    for modifiers in ("", ".ftz", ".sat", ".ftz.sat"):

        def widened(bits: int, x: str = modifiers) -> Word:
            bits = exact.flushed(F32, bits) if "ftz" in x else bits
            return finished(F64, exact.converted(F32, F64, bits, "rn"), x.replace(".ftz", ""))

        yield on_registers(f"cvt{modifiers}.f64.f32", "d", "r", operands("f32"), widened)


def _integral(form: Format, mode: str, modifiers: str) -> Callable[[int], Word]:
    """A number rounded to an integer, still a float; a zero keeps the sign."""

    def expected(bits: int) -> Word:
        bits = exact.flushed(form, bits) if "ftz" in modifiers else bits
        if exact.is_nan(form, bits):
            return finished(form, None, modifiers)
        if exact.is_infinite(form, bits):
            return finished(form, bits, modifiers)
        whole = Fraction(exact.integral(exact.value(form, bits), mode))
        return finished(form, exact.rounded(form, whole, "rn", exact.is_negative(form, bits)), modifiers)

    return expected


def same_format() -> Iterator[Case]:
    for kind in ("f32", "f64"):
        form, of = FORMATS[kind], FLOAT_LETTER[kind]
        for modifiers in ("", ".ftz", ".sat", ".ftz.sat") if kind == "f32" else ("", ".sat"):
            for mode in MODES:
                name = f"cvt.{mode}i{modifiers}.{kind}.{kind}"
                yield on_registers(name, of, of, _integral_operands(kind), _integral(form, mode, modifiers))

            def same(bits: int, f: Format = form, x: str = modifiers) -> Word:
                bits = exact.flushed(f, bits) if "ftz" in x else bits
                if not exact.is_nan(f, bits):
                    return finished(f, bits, x)
                return 0 if "sat" in x else AnyNan(f)

            yield on_registers(f"cvt{modifiers}.{kind}.{kind}", of, of, operands(kind), same)


def to_tensor_floats() -> Iterator[Case]:
    """`tf32` has a float's exponent and 10 digits behind the point; `.rna` takes ties away from zero. What becomes of a
    NaN, PTX leaves open: an H200's `.rna` can make it an infinity.
    """
    short = Format(11, 8)

    def converted(mode: str) -> Callable[[int], Word]:
        def expected(bits: int) -> Word:
            nearest = "rz" if mode == "rna" else mode
            made = exact.converted(F32, short, bits, nearest)
            if made is None:
                return ANYTHING if mode == "rna" else AnyNan(F32)
            if mode == "rna" and not exact.is_infinite(short, made):
                low, number = exact.value(short, made), exact.value(F32, bits)
                step = exact.value(short, (made & 0x3FC00) | 1) - exact.value(short, made & 0x3FC00)
                made += abs(number - low) * 2 >= step
            return made << 13

        return expected

    for mode in ("rna", "rn", "rz"):
        yield on_registers(f"cvt.{mode}.tf32.f32", "r", "r", operands("f32"), converted(mode))


CASES = [
    *between_integers(),
    *into_wider_registers(),
    *from_wider_registers(),
    *floats_to_integers(),
    *integers_to_floats(),
    *between_floats(),
    *same_format(),
    *to_tensor_floats(),
]
