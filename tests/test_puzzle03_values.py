"""Puzzle 3: results that look like a transpose, and are none, fail in every part; not a bit may change."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.catalog import Located, load_catalog
from grader.verdict import State
from tests.judging import ROOT, Judge, shown

PARTS = load_catalog(ROOT).resolve("puzzle_3")[0].parts[1:]  # those that transpose
EACH_PART = pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part.label))

PRETENDERS = {
    "zeros": "0.0f",
    "the input as it lies": "in[c * rows + r]",
    "the next value": "in[(r * cols + c + 1) % (rows * cols)]",
    "the last bit lost": "__uint_as_float(__float_as_uint(in[r * cols + c]) & ~1u)",
}

# One file of each for all parts, so that it is compiled once.
KERNEL = """#include <cuda_runtime.h>

__global__ void kernel(const float* in, float* out, int rows, int cols) {
    const int r = blockIdx.x * 8 + threadIdx.y, c = blockIdx.y * 32 + threadIdx.x;
    if (r < rows && c < cols) out[c * rows + r] = VALUE;
}
"""
LAUNCHER = """
extern "C" cudaError_t ENTRY(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) return cudaSuccess;
    kernel<<<dim3((rows + 7) / 8, (cols + 31) / 32), dim3(32, 8), 0, stream>>>(in, out, rows, cols);
    return cudaGetLastError();
}
"""


@EACH_PART
@pytest.mark.parametrize("value", PRETENDERS.values(), ids=PRETENDERS.keys())
def test_what_is_no_transpose_is_wrong(part: Located, value: str, judge: Judge, tmp_path: Path) -> None:
    source = tmp_path / "transpose.cu"
    launchers = [LAUNCHER.replace("ENTRY", each.part.name) for each in PARTS]
    source.write_text(KERNEL.replace("VALUE", value) + "".join(launchers), encoding="utf-8")
    verdict = judge(part, source)
    assert verdict.state is State.wrong, shown(verdict)
    assert {finding.kind for finding in verdict.findings} == {"wrong_values"}


@EACH_PART
def test_the_solution_changes_no_bit(part: Located, judge: Judge) -> None:
    assert part.part.tolerance.relative == part.part.tolerance.absolute == 0
    assert max(case.max_abs_error for case in judge(part, part.solution_path).cases) == 0
