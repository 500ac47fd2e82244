"""Floating-point operations of the machine, against results worked out in exact arithmetic."""

from __future__ import annotations

import itertools
import math
import random
import struct
from pathlib import Path

import pytest

from tests import exact, one_instruction
from tests.exact import F32, F64, MODES, Format

_NAN = {F32: 0x7FFFFFFF}
_LETTER = {F32: "r", F64: "R"}
_TYPE = {F32: "f32", F64: "f64"}
_EXACT: dict[str, exact.Operation] = {"add": exact.add, "mul": exact.multiply, "div": exact.divide, "fma": exact.fused}


def edges(form: Format) -> list[int]:
    """Zeros, subnormals, the smallest and largest normal numbers, ties, infinities and NaNs, both signs."""
    one, ulp, top = form.bias << (form.significand - 1), 1, form.infinity
    smallest = 1 << (form.significand - 1)
    positive = [0, 1, smallest - 1, smallest, smallest + 1, one - ulp, one, one + ulp, one + 3, top - 1, top, top | 1]
    positive += [(form.bias + form.significand - 1) << (form.significand - 1), (one | (smallest - 1)) - 5]
    return positive + [form.sign | bits for bits in positive]


def tuples(form: Format, width: int, extra: int = 600) -> list[tuple[int, ...]]:
    rng = random.Random(7)
    all_edges = list(itertools.product(edges(form), repeat=width))
    chosen = all_edges if len(all_edges) <= 2000 else rng.sample(all_edges, 2000)
    near = form.bias << (form.significand - 1)

    def one() -> int:
        if rng.random() < 0.5:
            return rng.getrandbits(form.bits)
        close_to_one = (
            near + rng.randrange(-8, 8) * (1 << (form.significand - 1)) + rng.getrandbits(form.significand - 1)
        )
        return close_to_one | (form.sign * rng.getrandbits(1))

    return chosen + [tuple(one() for _ in range(width)) for _ in range(extra)]


def name(operation: str, mode: str, form: Format) -> str:
    return f"{operation}.{_TYPE[form]}" if mode == "rn" else f"{operation}.{mode}.{_TYPE[form]}"


def assert_same(form: Format, got: int, expected: int | None, what: object) -> None:
    if expected is not None:
        assert got == expected, f"{what}: {got:#x} instead of {expected:#x}"
    elif form in _NAN:
        assert got == _NAN[form], f"{what}: {got:#x} instead of the canonical NaN"
    else:
        assert exact.is_nan(form, got), f"{what}: {got:#x} instead of a NaN"


@pytest.mark.parametrize("form", [F32, F64], ids=["f32", "f64"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("operation", ["add", "mul", "div", "fma"])
def test_arithmetic_is_rounded_once(tmp_path: Path, operation: str, mode: str, form: Format) -> None:
    width = 3 if operation == "fma" else 2
    values = tuples(form, width)
    got = one_instruction.run(tmp_path, name(operation, mode, form), _LETTER[form], _LETTER[form] * width, values)
    for operands, (result,) in zip(values, got, strict=True):
        assert_same(form, result, _EXACT[operation](form, *operands, mode), [hex(x) for x in operands])


@pytest.mark.parametrize("form", [F32, F64], ids=["f32", "f64"])
@pytest.mark.parametrize("mode", MODES)
def test_square_roots_are_rounded_once(tmp_path: Path, mode: str, form: Format) -> None:
    values = tuples(form, 1, 1500)
    got = one_instruction.run(tmp_path, name("sqrt", mode, form), _LETTER[form], _LETTER[form], values)
    for (operand,), (result,) in zip(values, got, strict=True):
        assert_same(form, result, exact.square_root(form, operand, mode), hex(operand))


@pytest.mark.parametrize("operation", ["min", "max"])
def test_a_nan_loses_to_a_number_and_minus_zero_lies_below_zero(tmp_path: Path, operation: str) -> None:
    values = tuples(F32, 2)

    def order(bits: int) -> int:
        return -(bits & ~F32.sign) - 1 if exact.is_negative(F32, bits) else bits

    got = one_instruction.run(tmp_path, f"{operation}.f32", "r", "rr", values)
    for (a, b), (result,) in zip(values, got, strict=True):
        numbers = [x for x in (a, b) if not exact.is_nan(F32, x)]
        expected = (min if operation == "min" else max)(numbers, key=order) if numbers else None
        assert_same(F32, result, expected, (hex(a), hex(b)))


def test_ftz_takes_subnormals_for_zero_on_the_way_in_and_out(tmp_path: Path) -> None:
    smallest = 0x00800000
    values = [(1, smallest), (smallest, smallest | F32.sign | 1), (0x80000001, 0), (0x3F800000, 1)]
    got = one_instruction.run(tmp_path, "add.ftz.f32", "r", "rr", values)
    assert got == [(smallest,), (F32.sign,), (0,), (0x3F800000,)]


def test_sat_clamps_to_zero_and_one_and_makes_nan_zero(tmp_path: Path) -> None:
    two, minus, half, nan = 0x40000000, 0xBF800000, 0x3F000000, 0x7FC00000
    got = one_instruction.run(tmp_path, "add.sat.f32", "r", "rr", [(two, 0), (minus, 0), (half, 0), (nan, 0)])
    assert got == [(0x3F800000,), (0,), (half,), (0,)]


@pytest.mark.parametrize(
    ("operation", "function", "low", "high", "relative", "absolute"),
    [
        ("ex2.approx.f32", lambda x: 2.0**x, -120.0, 120.0, 2.0**-22, 0.0),
        ("ex2.approx.ftz.f32", lambda x: 2.0**x, -120.0, 120.0, 2.0**-22, 0.0),
        ("lg2.approx.f32", math.log2, 1e-30, 1e30, 2.0**-22, 2.0**-22),
        ("rsqrt.approx.f32", lambda x: x**-0.5, 1e-30, 1e30, 2.0**-22.9, 0.0),
        ("rcp.approx.f32", lambda x: 1 / x, 1e-30, 1e30, 2.0**-23, 0.0),
        ("sin.approx.f32", math.sin, -6.28, 6.28, 0.0, 2.0**-20.5),
        ("cos.approx.f32", math.cos, -6.28, 6.28, 0.0, 2.0**-20.5),
        ("tanh.approx.f32", math.tanh, -5.0, 5.0, 2.0**-11, 0.0),
    ],
)
def test_approximations_stay_within_the_error_that_ptx_states(
    tmp_path: Path, operation: str, function: exact.Operation, low: float, high: float, relative: float, absolute: float
) -> None:
    rng = random.Random(3)
    numbers = [rng.uniform(low, high) for _ in range(2000)]
    values = [struct.unpack("<I", struct.pack("<f", x)) for x in numbers]
    got = one_instruction.run(tmp_path, operation, "r", "r", values)
    for (bits,), (result,) in zip(values, got, strict=True):
        x = struct.unpack("<f", struct.pack("<I", bits))[0]
        y = struct.unpack("<f", struct.pack("<I", result))[0]
        expected = function(x)
        assert expected is not None
        assert abs(y - expected) <= relative * abs(expected) + absolute, (operation, x, y)
