"""f16 and bf16 on the machine, against results worked out in exact arithmetic."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from tests import exact, one_instruction
from tests.exact import F32, Format

F16, BF16 = Format(11, 5), Format(8, 8)
_NAMES = {F16: "f16", BF16: "bf16"}
_FORMATS = pytest.mark.parametrize("form", [F16, BF16], ids=["f16", "bf16"])
_NAN = 0x7FFF
_EXACT: dict[str, exact.Operation] = {"add": exact.add, "mul": exact.multiply, "fma": exact.fused}


def values(form: Format, width: int) -> list[tuple[int, ...]]:
    rng = random.Random(13)
    smallest, one = 1 << (form.significand - 1), form.bias << (form.significand - 1)
    positive = [
        0,
        1,
        smallest - 1,
        smallest,
        one - 1,
        one,
        one + 1,
        form.infinity - 1,
        form.infinity,
        form.infinity | 1,
    ]
    edges = positive + [form.sign | bits for bits in positive]
    chosen = list(itertools.product(edges, repeat=width))
    chosen = chosen if len(chosen) <= 1500 else rng.sample(chosen, 1500)
    return chosen + [tuple(rng.getrandbits(16) for _ in range(width)) for _ in range(1500)]


@_FORMATS
@pytest.mark.parametrize("operation", ["add", "mul", "fma"])
def test_arithmetic_is_rounded_once(tmp_path: Path, operation: str, form: Format) -> None:
    width = 3 if operation == "fma" else 2
    rows = values(form, width)
    got = one_instruction.run(tmp_path, f"{operation}.{_NAMES[form]}", "r", "r" * width, rows)
    for operands, (result,) in zip(rows, got, strict=True):
        expected = _EXACT[operation](form, *operands, "rn")
        assert result == (_NAN if expected is None else expected), [hex(x) for x in operands]


@_FORMATS
def test_a_pair_is_two_numbers(tmp_path: Path, form: Format) -> None:
    low, high = values(form, 2), values(form, 2)[::-1]
    rows = [(a | c << 16, b | d << 16) for (a, b), (c, d) in zip(low, high, strict=True)]
    got = one_instruction.run(tmp_path, f"add.{_NAMES[form]}x2", "r", "rr", rows)
    for (a, b), (c, d), (result,) in zip(low, high, got, strict=True):
        halves = [exact.add(form, *operands, "rn") for operands in ((a, b), (c, d))]
        expected = [_NAN if half is None else half for half in halves]
        assert result == expected[0] | expected[1] << 16


@_FORMATS
@pytest.mark.parametrize("mode", ["rn", "rz"])
def test_floats_are_narrowed_with_one_rounding(tmp_path: Path, mode: str, form: Format) -> None:
    rng = random.Random(17)
    rows = [(rng.getrandbits(32),) for _ in range(2000)]
    rows += [
        (exact.f32_bits(number),) for number in (65504.0, 65519.0, 65520.0, 2.0**-24, 2.0**-25, 1 + 2.0**-11, -0.0)
    ]
    got = one_instruction.run(tmp_path, f"cvt.{mode}.{_NAMES[form]}.f32", "r", "r", rows)
    for (bits,), (result,) in zip(rows, got, strict=True):
        negative = exact.is_negative(F32, bits)
        if exact.is_nan(F32, bits):
            expected = _NAN
        elif exact.is_infinite(F32, bits):
            expected = form.infinity | (form.sign if negative else 0)
        else:
            expected = exact.rounded(form, exact.value(F32, bits), mode, negative)
        assert result == expected, hex(bits)


@_FORMATS
def test_every_value_is_widened_exactly(tmp_path: Path, form: Format) -> None:
    rows = [(bits,) for bits in range(1 << 16)]
    got = one_instruction.run(tmp_path, f"cvt.f32.{_NAMES[form]}", "r", "r", rows)
    for (bits,), (result,) in zip(rows, got, strict=True):
        if exact.is_nan(form, bits):
            expected = 0x7FFFFFFF
        elif exact.is_infinite(form, bits):
            expected = F32.infinity | (F32.sign if exact.is_negative(form, bits) else 0)
        else:
            expected = exact.rounded(F32, exact.value(form, bits), "rn", exact.is_negative(form, bits))
        assert result == expected, hex(bits)
