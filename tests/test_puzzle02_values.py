"""Puzzle 2: a product is right however it is made, and the usual mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.catalog import Located, load_catalog
from grader.verdict import State
from tests.judging import ROOT, Judge, shown

PARTS = load_catalog(ROOT).resolve("puzzle_2")[0].parts

PROGRAM = """#include <cuda_runtime.h>

__global__ void kernel(const float* A, const float* B, const float* bias, float* C, int M, int N, int K, float alpha,
                       float beta, int act) {
    const size_t row = blockIdx.x * 16 + threadIdx.y, col = blockIdx.y * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (size_t k = 0; k < K; ++k) {
        const float a = A[A_TURNED ? k * M + row : row * K + k], b = B[B_TURNED ? col * K + k : k * N + col];
        sum += a * b;
    }
    sum = alpha * sum + (bias != nullptr ? bias[col] : 0.0f) + (beta != 0.0f ? beta * C[row * N + col] : 0.0f);
    C[row * N + col] = act == 1 ? fmaxf(sum, 0.0f) : sum;
}

extern "C" cudaError_t ENTRY {
    if (M == 0 || N == 0) return cudaSuccess;
    kernel<<<dim3((M + 15) / 16, (N + 15) / 16), dim3(16, 16), 0, stream>>>(A, B, ARGUMENTS);
    return cudaGetLastError();
}
"""
PRODUCT = "(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream)"
LAYER = """(const float* A, const float* B, const float* bias, float* C, int M, int N, int K, float alpha, float beta,
                             int act, cudaStream_t stream)"""


def write(part: Located, folder: Path) -> Path:
    name, source = part.part.name, folder / part.path.name
    is_layer = name == "gemm_bias_act"
    replaced = {
        "ENTRY": name + (LAYER if is_layer else PRODUCT),
        "ARGUMENTS": "bias, C, M, N, K, alpha, beta, act" if is_layer else "nullptr, C, M, N, K, 1.0f, 0.0f, 0",
        "A_TURNED": str(name == "gemm_tn").lower(),
        "B_TURNED": str(name == "gemm_nt").lower(),
    }
    text = PROGRAM
    for mark, meant in replaced.items():
        text = text.replace(mark, meant)
    source.write_text(text, encoding="utf-8")
    return source


@pytest.mark.parametrize(
    ("name", "source", "like"),
    [
        ("gemm_register_tiled", "register_first_tile_for_ever", "every round used the tiles of the first"),
        ("gemm_bias_act", "layer_reads_c_for_beta_0", "C were read although beta is 0"),
        ("gemm_bias_act", "layer_relu_before_c", "the activation came before the old C"),
        ("gemm_bias_act", "layer_alpha_times_bias", "alpha multiplied the bias as well"),
        ("gemm_bias_act", "layer_product_into_c_first", "beta multiplied the new C"),
    ],
)
def test_a_mistake_that_a_part_invites_is_told(name: str, source: str, like: str, judge: Judge) -> None:
    part = next(part for part in PARTS if part.part.name == name)
    verdict = judge(part, ROOT / "tests" / "wrong" / "puzzle_02_tiled_gemm" / f"{source}.cu")
    assert f"as if {like}" in [case.pattern for case in verdict.cases], shown(verdict)


@pytest.mark.parametrize("part", [PARTS[0], *PARTS[-3:]], ids=lambda part: str(part.label))
def test_a_plain_product_has_right_values(part: Located, judge: Judge, tmp_path: Path) -> None:
    verdict = judge(part, write(part, tmp_path))
    assert verdict.state is (State.goal_open if part.part.goals else State.passed), shown(verdict)
