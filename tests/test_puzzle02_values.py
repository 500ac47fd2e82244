"""Puzzle 2: results that look like products, and are none, fail in every part; the tolerance lies where it should."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.author.trials import share_in
from grader.build import build
from grader.catalog import Located, load_catalog
from grader.puzzle import Case
from grader.verdict import State
from tests.conftest import SEED
from tests.judging import ROOT, Judge, shown

PARTS = load_catalog(ROOT).resolve("puzzle_2")[0].parts
EACH_PART = pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part.label))
LONG = Case(M=32, N=32, K=4096)  # as many sums an element as the bench case has

IN_HALF = "__half2float(__hfma(__float2half(a), __float2half(b), __float2half(sum)))"
PRETENDERS = {
    "zeros": "0.0f",
    "the last product": "a * b",
    "a sum of the factors": "sum + a + b",
    "a sum of magnitudes": "sum + fabsf(a * b)",
    "a mean": "sum + a * b / K",
    "a sum in half precision": IN_HALF,
    "factors in TF32": "fmaf(tf32(a), tf32(b), sum)",
}

PROGRAM = """#include <cuda_fp16.h>
#include <cuda_runtime.h>

__device__ float tf32(float x) { return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u); }

__global__ void kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        const float a = A[row * K + k], b = B[k * N + col];
        sum = VALUE;
    }
    C[row * N + col] = sum;
}

extern "C" cudaError_t ENTRY(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    kernel<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
"""


def write(part: Located, value: str, folder: Path) -> Path:
    source = folder / part.path.name
    source.write_text(PROGRAM.replace("ENTRY", part.part.name).replace("VALUE", value), encoding="utf-8")
    return source


@pytest.mark.parametrize("part", [PARTS[0], PARTS[-1]], ids=lambda part: str(part.label))
@pytest.mark.parametrize("value", PRETENDERS.values(), ids=PRETENDERS.keys())
def test_what_is_no_product_is_wrong(part: Located, value: str, judge: Judge, tmp_path: Path) -> None:
    verdict = judge(part, write(part, value, tmp_path))
    assert verdict.state is State.wrong, shown(verdict)
    assert {finding.kind for finding in verdict.findings} <= {"wrong_values", "low_precision"}


def shares(part: Located, source: Path) -> Iterator[tuple[Case, float]]:
    """For each case with products, the error in shares of what is allowed, at the element where it is largest."""
    built = build(source)
    for case in (*part.part.cases(), LONG):
        if 0 not in case.params.values():
            yield case, share_in(part.part, built, case, SEED)


@EACH_PART
def test_the_tolerance_lies_between_the_solution_and_half_precision(part: Located, tmp_path: Path) -> None:
    solution = by_size(shares(part, part.solution_path))
    half = by_size(shares(part, write(part, IN_HALF, tmp_path)))
    print(f"{part.label}, errors in shares of the tolerance:")
    for sizes, share in solution.items():
        print(f"  M, N, K = {sizes}: solution {share:.3f}, a sum in half precision {half[sizes]:.0f}")
    assert max(solution.values()) <= 1 / 4
    assert min(half.values()) >= 4


def by_size(pairs: Iterator[tuple[Case, float]]) -> dict[tuple[float, ...], float]:
    return {tuple(case.params.values()): share for case, share in pairs}
