"""Arithmetic on f32 and f64 (PTX ISA 9.1, section 9.7.3), rounded once, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests import exact
from tests.exact import F32, F64, MODES, Format, Operation
from tests.instructions.case import Case, Word
from tests.instructions.registers import on_registers
from tests.instructions.values import FORMATS, operands
from tests.instructions.words import ANYTHING, OneOf, result

LETTER = {"f16": "h", "bf16": "h", "f32": "r", "f64": "d"}
Function = Callable[..., Word]


def modified(form: Format, operation: Operation, mode: str, modifiers: str = "") -> Function:
    """An operation with `.ftz` (subnormals are zero on the way in and out), `.sat` (the result is clamped to [0, 1], a
    NaN to 0) or `.relu` (negative results and NaN become 0).
    """

    def expected(*words: int) -> Word:
        flush = ".ftz" in modifiers
        given = [exact.flushed(form, word) for word in words] if flush else list(words)
        bits = operation(form, *given, mode)
        if bits is None:
            return result(form, 0 if ".sat" in modifiers else None)
        possible = {bits}
        if flush:
            possible = {exact.flushed(form, bits)}
            if bits & ~form.sign == form.smallest and operation(form, *given, "rz") != bits:
                # Below the smallest normal number and rounded up to it: whether that is subnormal, PTX leaves open.
                possible |= {bits & form.sign}
        if ".sat" in modifiers:
            possible = {item for word in possible for item in _clamped(form, word)}
        return possible.pop() if len(possible) == 1 else OneOf(tuple(possible))

    return expected


def _clamped(form: Format, bits: int) -> set[int]:
    """To [0, 1]; whether a zero keeps its sign, PTX leaves open."""
    if bits == form.sign:
        return {0, form.sign}
    return {0 if exact.is_negative(form, bits) else min(bits, form.one)}


def on_floats(name: str, kind: str, count: int, function: Function, *, rows: int = 256) -> Case:
    """An instruction whose result and sources all have the type `kind`."""
    letter = LETTER[kind]
    return on_registers(name, letter, letter * count, operands(*[kind] * count, count=rows), function)


_OPERATIONS: dict[str, tuple[int, Operation, bool]] = {  # number of sources, meaning, whether there is a .sat
    "add": (2, exact.add, True),
    "sub": (2, exact.subtract, True),
    "mul": (2, exact.multiply, True),
    "fma": (3, exact.fused, True),
    "div": (2, exact.divide, False),
    "rcp": (1, exact.reciprocal, False),
    "sqrt": (1, exact.square_root, False),
}


def arithmetic() -> Iterator[Case]:
    """Every rounding, with `.ftz` and `.sat` where PTX has them."""
    for base, (count, operation, saturates) in _OPERATIONS.items():
        for mode in MODES:
            for modifiers in ("", ".ftz", ".sat", ".ftz.sat") if saturates else ("", ".ftz"):
                function = modified(F32, operation, mode, modifiers)
                yield on_floats(f"{base}.{mode}{modifiers}.f32", "f32", count, function)
            yield on_floats(f"{base}.{mode}.f64", "f64", count, modified(F64, operation, mode))
    for base in ("add", "sub", "mul"):  # to nearest, where nothing is said
        operation = _OPERATIONS[base][1]
        yield on_floats(f"{base}.f32", "f32", 2, modified(F32, operation, "rn"))
        yield on_floats(f"{base}.ftz.f32", "f32", 2, modified(F32, operation, "rn", ".ftz"))
        yield on_floats(f"{base}.f64", "f64", 2, modified(F64, operation, "rn"))


def extremes() -> Iterator[Case]:
    """A NaN loses to a number, or with `.NaN` wins; -0 lies below +0."""
    for base, choose in (("min", exact.least), ("max", exact.most)):
        for kind, modifiers in (("f32", ""), ("f32", ".ftz"), ("f32", ".NaN"), ("f32", ".ftz.NaN"), ("f64", "")):
            yield on_floats(f"{base}{modifiers}.{kind}", kind, 2, extreme(FORMATS[kind], choose, modifiers))


def extreme(form: Format, choose: Callable[[Format, int, int], int | None], modifiers: str) -> Function:
    def expected(a: int, b: int) -> Word:
        if ".ftz" in modifiers:
            a, b = exact.flushed(form, a), exact.flushed(form, b)
        if ".NaN" in modifiers and (exact.is_nan(form, a) or exact.is_nan(form, b)):
            return result(form, None)
        return result(form, choose(form, a, b))

    return expected


def signs() -> Iterator[Case]:
    """What `neg` and `abs` make of a NaN, PTX leaves open."""
    for kind, modifiers in (("f32", ""), ("f32", ".ftz"), ("f64", "")):
        form = FORMATS[kind]
        for base, keep, flip in (("neg", -1, form.sign), ("abs", ~form.sign, 0)):

            def expected(a: int, f: Format = form, k: int = keep, x: int = flip, m: str = modifiers) -> Word:
                if exact.is_nan(f, a):
                    return ANYTHING
                return ((exact.flushed(f, a) if m else a) & k) ^ x

            yield on_floats(f"{base}{modifiers}.{kind}", kind, 1, expected)
    for kind in ("f32", "f64"):
        sign = FORMATS[kind].sign
        yield on_floats(f"copysign.{kind}", kind, 2, lambda a, b, s=sign: a & s | b & ~s)


def properties() -> Iterator[Case]:
    tests: dict[str, Callable[[Format, int], bool]] = {
        "finite": lambda form, bits: not exact.is_nan(form, bits) and not exact.is_infinite(form, bits),
        "infinite": exact.is_infinite,
        "number": lambda form, bits: not exact.is_nan(form, bits),
        "notanumber": exact.is_nan,
        "normal": lambda form, bits: bits & ~form.sign < form.infinity and not exact.is_subnormal(form, bits),
        "subnormal": exact.is_subnormal,
    }
    for kind in ("f32", "f64"):
        for name, holds in tests.items():
            form = FORMATS[kind]
            yield on_registers(
                f"testp.{name}.{kind}",
                "p",
                LETTER[kind],
                operands(kind, count=128),
                lambda a, f=form, h=holds: int(h(f, a)),
            )


CASES = [*arithmetic(), *extremes(), *signs(), *properties()]
