"""A result that is NaN is told at the line that made it, not only at the one that wrote it."""

from __future__ import annotations

import re
from math import inf
from pathlib import Path

import pytest
import torch

from grader.build import Build, build
from grader.explain import Observation
from grader.explain.catalogue import has
from grader.not_a_number import cause_of, mark_of, with_origin
from grader.puzzle import Case, In, Out, Part, Scalar, Tolerance, Work, f32, i32
from grader.record import record
from grader.tools import default_tools
from grader.trial import Ran, Trial

SOURCE = Path(__file__).parent / "kernels" / "not_a_number.cu"
CASE = Case(n=192)


def _kernels() -> dict[str, int | None]:
    """Each kernel, and the line where its NaN is made."""
    found: dict[str, int | None] = {}
    for number, line in enumerate(SOURCE.read_text(encoding="utf-8").splitlines(), start=1):
        if begun := re.match(r"__global__ void (\w+)", line):
            kernel = begun[1]
            found[kernel] = None
        elif line.endswith("// origin"):
            found[kernel] = number
    return found


KERNELS = _kernels()


@pytest.fixture(scope="module")
def built() -> Build:
    return build(SOURCE)


def ran(built: Build, kernel: str) -> Ran:
    part = Part(
        f"{kernel}_entry",
        params=[In("x", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
        reference=lambda x: x,
        groups={"all": [CASE]},
        bench=CASE,
        work=lambda n: Work(bytes=8 * n, flops=n),
        tolerance=Tolerance(0.0, why="only NaN matters here"),
        lesson="",
    )
    return Trial(part, "all", CASE, built, record(built, part, CASE).plan, 7).run(default_tools())


@pytest.mark.parametrize("kernel", [name for name, line in KERNELS.items() if line])
def test_the_line_that_made_it_is_told(built: Build, kernel: str) -> None:
    seen = ran(built, kernel).observations[0]
    assert (seen.kind, seen.line) == ("not_a_number", KERNELS[kernel])
    written = seen.other_line
    assert written is not None
    assert "out[i] =" in SOURCE.read_text(encoding="utf-8").splitlines()[written - 1]


@pytest.mark.parametrize(
    ("kernel", "origin", "cause"),
    [
        ("masked_row", "(−∞) − (−∞)", "infinities_below"),
        ("nothing_by_nothing", "0 / 0", "zero_by_zero"),
        ("through_halves", "∞ − ∞", "infinities"),
        ("zero_rows", "a product of matrices", "product"),
    ],
)
def test_what_was_computed_is_told(built: Build, kernel: str, origin: str, cause: str) -> None:
    facts = ran(built, kernel).observations[0].facts
    assert (facts["origin"], facts["cause"]) == (origin, cause)


def test_a_nan_that_reaches_no_result_is_no_finding(built: Build) -> None:
    assert ran(built, "dropped").observations == []


def test_a_nan_that_came_from_outside_has_no_origin(built: Build) -> None:
    seen = ran(built, "given").observations[0]
    assert seen.kind == "not_a_number"
    assert "origin" not in seen.facts
    assert "out[i] =" in SOURCE.read_text(encoding="utf-8").splitlines()[(seen.line or 0) - 1]


@pytest.mark.parametrize(
    ("dtype", "integer", "bits", "number"),
    [
        (torch.float32, torch.int32, 0x7FC50001, 69),
        (torch.float32, torch.int32, 0x7FFFFFFF, 0),
        (torch.float16, torch.int16, 0x7E03, 3),
        (torch.bfloat16, torch.int16, 0x7FC0, 0),
        (torch.float64, torch.int64, 0x7FF8000000000009, 9),
        (torch.int32, torch.int32, 5, 0),
    ],
)
def test_a_mark_is_read_from_the_bits(dtype: torch.dtype, integer: torch.dtype, bits: int, number: int) -> None:
    assert mark_of(torch.tensor([0, bits], dtype=integer).view(dtype), 1) == number


def test_an_instruction_that_is_in_no_line_of_the_file_changes_nothing() -> None:
    seen = Observation("not_a_number", line=4, buffer="out", index=0)
    marked = torch.tensor([0x7FC10000], dtype=torch.int32).view(torch.float32)
    nowhere = {"line": None, "op": "sub.f32", "block": [0, 0, 0], "thread": [0, 0, 0], "operands": ["inf", "inf"]}
    assert with_origin(seen, marked, [nowhere]) == seen
    assert with_origin(seen, marked, []) == seen


@pytest.mark.parametrize(
    ("operation", "operands", "cause"),
    [
        ("div.rn.f32", (inf, inf), "quotient"),
        ("div.rn.f32", (0.0, 0.0), "zero_by_zero"),
        ("sub.f32", (-inf, -inf), "infinities_below"),
        ("add.f32", (inf, -inf), "infinities"),
        ("fma.rn.f32", (0.0, inf, 1.0), "zero_times"),
    ],
)
def test_causes_are_told_apart(operation: str, operands: tuple[float, ...], cause: str) -> None:
    assert cause_of(operation, operands) == cause
    assert has("not_a_number", "why", cause)
