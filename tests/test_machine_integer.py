"""Integer, logic, comparison and conversion operations of the machine, against Python's integers."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from tests import exact, one_instruction
from tests.exact import F32, F64

_WIDTHS = {"s16": 16, "u16": 16, "b16": 16, "s32": 32, "u32": 32, "b32": 32, "s64": 64, "u64": 64, "b64": 64}
_ALL = sorted(_WIDTHS)
_SIGNED_OR_NOT = [kind for kind in _ALL if kind[0] != "b"]
_PLAIN = [kind for kind in _ALL if kind[0] == "b"]


def letter(kind: str) -> str:
    return "R" if _WIDTHS[kind] == 64 else "r"


def number(kind: str, bits: int) -> int:
    width = _WIDTHS[kind]
    bits &= (1 << width) - 1
    return bits - (1 << width) if kind[0] == "s" and bits >> (width - 1) else bits


def held(kind: str, value: int) -> int:
    """Bits of a result in its slot: the upper half of a slot stays zero for 16-bit results."""
    return value & ((1 << _WIDTHS[kind]) - 1)


def edges(kind: str) -> list[int]:
    width = _WIDTHS[kind]
    top = 1 << (width - 1)
    return [
        0,
        1,
        2,
        3,
        31,
        32,
        33,
        63,
        64,
        255,
        top - 1,
        top,
        top + 1,
        2 * top - 1,
        2 * top - 2,
        0x5A5A5A5A % (2 * top),
    ]


def tuples(kind: str, width: int) -> list[tuple[int, ...]]:
    rng = random.Random(5)
    products = list(itertools.product(edges(kind), repeat=width))
    if len(products) > 1500:
        products = rng.sample(products, 1500)
    return products + [tuple(rng.getrandbits(_WIDTHS[kind]) for _ in range(width)) for _ in range(300)]


def check(
    tmp_path: Path, operation: str, kind: str, width: int, expected: Callable[..., int], result: str | None = None
) -> None:
    values = tuples(kind, width)
    got = one_instruction.run(tmp_path, operation, result or letter(kind), letter(kind) * width, values)
    for operands, (bits,) in zip(values, got, strict=True):
        wanted = expected(*(number(kind, x) for x in operands))
        assert bits == wanted, f"{operation} {[hex(x) for x in operands]}: {bits:#x} instead of {wanted:#x}"


@pytest.mark.parametrize("kind", _PLAIN)
def test_sums_products_and_logic_wrap(tmp_path: Path, kind: str) -> None:
    for name, function in {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul.lo": lambda a, b: a * b,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
    }.items():
        check(tmp_path, f"{name}.{kind}", kind, 2, lambda a, b, f=function: held(kind, f(a, b)))
    check(tmp_path, f"not.{kind}", kind, 1, lambda a: held(kind, ~a))
    check(tmp_path, f"mad.lo.{kind}", kind, 3, lambda a, b, c: held(kind, a * b + c))


@pytest.mark.parametrize("kind", _SIGNED_OR_NOT)
def test_division_truncates_and_survives_zero_and_overflow(tmp_path: Path, kind: str) -> None:
    def quotient(a: int, b: int) -> int:
        if b == 0:
            return -1
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    check(tmp_path, f"div.{kind}", kind, 2, lambda a, b: held(kind, quotient(a, b)))
    check(tmp_path, f"rem.{kind}", kind, 2, lambda a, b: held(kind, a if b == 0 else a - quotient(a, b) * b))


@pytest.mark.parametrize("kind", _SIGNED_OR_NOT)
def test_high_and_wide_products(tmp_path: Path, kind: str) -> None:
    width = _WIDTHS[kind]
    check(tmp_path, f"mul.hi.{kind}", kind, 2, lambda a, b: held(kind, a * b >> width))
    if width < 64:
        result = "R" if width == 32 else "r"
        check(tmp_path, f"mul.wide.{kind}", kind, 2, lambda a, b: a * b & ((1 << 2 * width) - 1), result)


@pytest.mark.parametrize("kind", _SIGNED_OR_NOT)
def test_minimum_maximum_and_comparisons_know_the_sign(tmp_path: Path, kind: str) -> None:
    check(tmp_path, f"min.{kind}", kind, 2, lambda a, b: held(kind, min(a, b)))
    check(tmp_path, f"max.{kind}", kind, 2, lambda a, b: held(kind, max(a, b)))
    comparisons: dict[str, Callable[[int, int], bool]] = {
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
    values = tuples(kind, 2)
    for name, holds in comparisons.items():
        got = one_instruction.run(tmp_path, f"setp.{name}.{kind}", "pp", letter(kind) * 2, values)
        for (a, b), (p, q) in zip(values, got, strict=True):
            expected = int(holds(number(kind, a), number(kind, b)))
            assert (p, q) == (expected, 1 - expected), (name, hex(a), hex(b))


@pytest.mark.parametrize("kind", _ALL)
def test_shifts_clamp_at_the_register_width(tmp_path: Path, kind: str) -> None:
    width = _WIDTHS[kind]
    values = [
        (a, n) for a in edges(kind) for n in (0, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0x80000000, 0xFFFFFFFF)
    ]
    operation = f"shl.{kind}" if kind[0] == "b" else f"shr.{kind}"
    got = one_instruction.run(tmp_path, operation, letter(kind), letter(kind) + "r", values)
    for (a, n), (bits,) in zip(values, got, strict=True):
        shift = min(n, width)
        expected = number(kind, a) << shift if kind[0] == "b" else number(kind, a) >> shift
        assert bits == held(kind, expected), (operation, hex(a), n)


@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64"])
def test_bit_fields(tmp_path: Path, kind: str) -> None:
    width = _WIDTHS[kind]
    values = [
        (a, p, n) for a in edges(kind) for p in (0, 1, 7, 31, 32, 63, 64, 255, 256) for n in (0, 1, 8, 32, 64, 200)
    ]

    def extracted(a: int, position: int, length: int) -> int:
        position, length = position & 255, length & 255
        negative = kind[0] == "s" and length > 0 and a >> min(position + length - 1, width - 1) & 1
        taken = min(length, max(width - position, 0))
        field = (a >> position) & ((1 << taken) - 1)
        return field | (((1 << width) - 1) & ~((1 << taken) - 1) if negative else 0)

    got = one_instruction.run(tmp_path, f"bfe.{kind}", letter(kind), letter(kind) + "rr", values)
    for (a, p, n), (bits,) in zip(values, got, strict=True):
        assert bits == extracted(a, p, n), (hex(a), p, n)


def test_counting_bits(tmp_path: Path) -> None:
    for kind in ("b32", "b64"):
        width = _WIDTHS[kind]
        check(tmp_path, f"popc.{kind}", kind, 1, lambda a: a.bit_count(), "r")
        check(tmp_path, f"clz.{kind}", kind, 1, lambda a, w=width: w - a.bit_length(), "r")
        check(tmp_path, f"brev.{kind}", kind, 1, lambda a, w=width: int(f"{a:0{w}b}"[::-1], 2))
    check(tmp_path, "bfind.u32", "u32", 1, lambda a: (a.bit_length() - 1) & 0xFFFFFFFF, "r")
    check(tmp_path, "bfind.s32", "s32", 1, lambda a: ((~a if a < 0 else a).bit_length() - 1) & 0xFFFFFFFF, "r")


def test_carry_chains(tmp_path: Path) -> None:
    values = [(*pair, carry) for pair in tuples("b32", 2) for carry in (0, 1)]
    got = one_instruction.run(tmp_path, "addc.cc.b32", "rp", "rrp", values)
    for (a, b, carry), (bits, out) in zip(values, got, strict=True):
        assert (out << 32 | bits) == a + b + carry
    got = one_instruction.run(tmp_path, "subc.cc.b32", "rp", "rrp", values)
    for (a, b, carry), (bits, out) in zip(values, got, strict=True):  # the carry of a subtraction is "no borrow"
        assert (out << 32 | bits) == a + (~b & 0xFFFFFFFF) + carry


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("to", ["s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_floats_become_integers_by_clamping(tmp_path: Path, source: str, to: str, mode: str) -> None:
    form = F32 if source == "f32" else F64
    rng = random.Random(11)
    bits_of = exact.f32_bits if source == "f32" else exact.f64_bits
    numbers = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 32767.5, 65535.0, -32768.0]
    numbers += [2.0**31, -(2.0**31), 2.0**32, 2.0**63, 1e30]
    values = [(bits_of(x),) for x in numbers] + [(form.infinity,), (form.infinity | form.sign,), (form.infinity | 1,)]
    values += [(bits_of(rng.randrange(-(1 << 20), 1 << 20) / 16),) for _ in range(500)]
    width = _WIDTHS[to]
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if to[0] == "s" else (0, (1 << width) - 1)
    got = one_instruction.run(tmp_path, f"cvt.{mode}.{to}.{source}", letter(to), "r" if form is F32 else "R", values)
    for (bits,), (result,) in zip(values, got, strict=True):
        if exact.is_nan(form, bits):
            expected = 1 << (width - 1) if source == "f64" or width == 64 else 0
        elif exact.is_infinite(form, bits):
            expected = low if exact.is_negative(form, bits) else high
        else:
            expected = min(max(_integral(exact.value(form, bits), mode), low), high)
        assert result == held(to, expected), (hex(bits), hex(result))


def _integral(number: Fraction, mode: str) -> int:
    if mode == "rni":
        return round(number)
    floor = number.numerator // number.denominator
    if mode == "rmi" or floor == number:
        return floor
    return floor + 1 if mode == "rpi" or number < 0 else floor


@pytest.mark.parametrize("mode", exact.MODES)
@pytest.mark.parametrize("source", ["s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("to", ["f32", "f64"])
def test_integers_become_floats_rounded_once(tmp_path: Path, to: str, source: str, mode: str) -> None:
    form = F32 if to == "f32" else F64
    values = tuples(source, 1)
    letters = "r" if form is F32 else "R"
    got = one_instruction.run(tmp_path, f"cvt.{mode}.{to}.{source}", letters, letter(source), values)
    for (bits,), (result,) in zip(values, got, strict=True):
        expected = exact.rounded(form, Fraction(number(source, bits)), mode)
        assert result == expected, f"{bits:#x}: {result:#x} instead of {expected:#x}"


def test_a_predicate_can_be_combined_while_it_is_made(tmp_path: Path) -> None:
    values = [(a, b, c) for a, b in itertools.product((0, 1, 2), repeat=2) for c in (0, 1)]
    combinations: dict[str, Callable[[int, int], int]] = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
    for name, combine in combinations.items():
        got = one_instruction.run(tmp_path, f"setp.lt.{name}.s32", "pp", "rrp", values)
        for (a, b, c), (p, q) in zip(values, got, strict=True):
            assert (p, q) == (combine(int(a < b), c), combine(int(a >= b), c))
