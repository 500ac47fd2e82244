"""Puzzle 5: a sum is right in whatever order it is made, though it may miss a goal."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.catalog import Located, load_catalog
from grader.verdict import State
from tests.judging import ROOT, Judge, shown

PARTS = load_catalog(ROOT).resolve("puzzle_5")[0].parts[:3]
EACH_PART = pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part.label))

PROGRAM = """#include <cuda_runtime.h>

__global__ void kernel(const float* x, float* out, int rows, int count) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < count; ++i) {
        const float term = x[row * count + i];
        sum += term;
    }
    out[row] = sum;
}

extern "C" cudaError_t ENTRY(const float* x, float* out, int n, cudaStream_t stream) {
    LAUNCH
    return cudaGetLastError();
}
"""
LAUNCHES = {
    "warp_sum": "if (n > 0) kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, out, n, 32);",
    "block_sum": "kernel<<<1, 32, 0, stream>>>(x, out, 1, n);",
    "reduce_sum": "kernel<<<1, 32, 0, stream>>>(x, out, 1, n);",
}


def write(part: Located, folder: Path) -> Path:
    source = folder / part.path.name
    text = PROGRAM.replace("LAUNCH", LAUNCHES[part.part.name]).replace("ENTRY", part.part.name)
    source.write_text(text, encoding="utf-8")
    return source


@EACH_PART
def test_a_sum_in_any_order_has_right_values(part: Located, judge: Judge, tmp_path: Path) -> None:
    """Up to a few hundred thousand terms: a million, one after the other, lose more digits than are allowed."""
    cases = [(group, case) for group, cases in part.part.groups.items() for case in cases]
    chosen = [(group, case) for group, case in cases if max(case.params.values()) < 1_000_000]
    verdict = judge(part, write(part, tmp_path), cases=chosen)
    assert verdict.state is State.goal_open, shown(verdict)
