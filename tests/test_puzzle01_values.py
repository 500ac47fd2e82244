"""Puzzle 1: results that look like results, and are none, fail in every part; the tolerance lies where it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.catalog import Located, load_catalog
from grader.verdict import PartVerdict, State
from tests.judging import ROOT, Judge, shown

PARTS = load_catalog(ROOT).resolve("puzzle_1")[0].parts
EACH_PART = pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part.label))

NARROWED = "narrowed(narrowed(a[i]) + narrowed(b[i]))"
PRETENDERS = {
    "zeros": "0.0f",
    "a copy of a": "a[i]",
    "a copy of b": "b[i]",
    "the mean of the two": "0.5f * (a[i] + b[i])",
    "a sum with the 11 significant bits of half precision": NARROWED,
}

PROGRAM = """#include <cuda_runtime.h>

__device__ float narrowed(float x) {
    const unsigned bits = __float_as_uint(x);
    return __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
}

__global__ void kernel(const float* a, const float* b, float* out, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = VALUE;
}

extern "C" cudaError_t ENTRY(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
"""


def write(part: Located, value: str, folder: Path) -> Path:
    source = folder / part.path.name
    source.write_text(PROGRAM.replace("ENTRY", part.part.name).replace("VALUE", value), encoding="utf-8")
    return source


def largest_error(verdict: PartVerdict) -> float:
    return max(case.max_rel_error for case in verdict.cases)


@EACH_PART
@pytest.mark.parametrize("value", PRETENDERS.values(), ids=PRETENDERS.keys())
def test_what_is_no_sum_is_wrong(part: Located, value: str, judge: Judge, tmp_path: Path) -> None:
    verdict = judge(part, write(part, value, tmp_path))
    assert verdict.state is State.wrong, shown(verdict)
    assert {finding.kind for finding in verdict.findings} <= {"wrong_values", "low_precision"}


@EACH_PART
def test_the_tolerance_lies_between_the_solution_and_half_precision(
    part: Located, judge: Judge, tmp_path: Path
) -> None:
    solution = largest_error(judge(part, part.solution_path))
    half = largest_error(judge(part, write(part, NARROWED, tmp_path)))
    tolerance = part.part.tolerance.relative
    print(f"{part.label}: solution {solution:.2e}, tolerance {tolerance:.2e}, half precision {half:.2e}")
    assert 4 * solution <= tolerance <= half / 4
