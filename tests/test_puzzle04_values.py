"""Puzzle 4: a right product without tensor cores misses its goal, and nothing else."""

from __future__ import annotations

from pathlib import Path

from grader.catalog import load_catalog
from grader.verdict import State
from tests.judging import ROOT, Judge, shown

PART = load_catalog(ROOT).resolve("gemm_wmma")[1]
PROGRAM = """#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void kernel(const half* A, const half* B, float* C, int M, int N, int K) {
    const long long row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        const float a = __half2float(A[row * K + k]), b = __half2float(B[k * N + col]);
        sum += a * b;
    }
    C[row * N + col] = sum;
}

extern "C" cudaError_t gemm_wmma(const half* A, const half* B, float* C, int M, int N, int K, cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    kernel<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
"""


def test_a_product_without_tensor_cores_misses_its_goal(judge: Judge, tmp_path: Path) -> None:
    assert PART is not None
    source = tmp_path / PART.path.name
    source.write_text(PROGRAM, encoding="utf-8")
    verdict = judge(PART, source)
    assert verdict.state is State.goal_open, shown(verdict)
    assert [goal.name for goal in verdict.goals if not goal.reached] == ["tensor cores"]
