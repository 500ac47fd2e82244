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
LONG = {"M": 32, "N": 32, "K": 4096}  # as many sums an element as the bench case has

IN_HALF = "__half2float(__hfma(__float2half(a), __float2half(b), __float2half(sum)))"
IN_TF32 = "fmaf(tf32(a), tf32(b), sum)"
PRETENDERS = {
    "zeros": "0.0f",
    "the last product": "a * b",
    "a sum of the factors": "sum + a + b",
    "a sum of magnitudes": "sum + fabsf(a * b)",
    "a mean": "sum + a * b / K",
    "a sum in half precision": IN_HALF,
    "factors in TF32": IN_TF32,
}

PROGRAM = """#include <cuda_fp16.h>
#include <cuda_runtime.h>

__device__ float tf32(float x) { return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u); }

__global__ void kernel(const float* A, const float* B, const float* bias, float* C, int M, int N, int K, float alpha,
                       float beta, int act) {
    const size_t row = blockIdx.x * 16 + threadIdx.y, col = blockIdx.y * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (size_t k = 0; k < K; ++k) {
        const float a = A[A_TURNED ? k * M + row : row * K + k], b = B[B_TURNED ? col * K + k : k * N + col];
        sum = VALUE;
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


def write(part: Located, value: str, folder: Path) -> Path:
    name, source = part.part.name, folder / part.path.name
    is_layer = name == "gemm_bias_act"
    replaced = {
        "ENTRY": name + (LAYER if is_layer else PRODUCT),
        "ARGUMENTS": "bias, C, M, N, K, alpha, beta, act" if is_layer else "nullptr, C, M, N, K, 1.0f, 0.0f, 0",
        "A_TURNED": str(name == "gemm_tn").lower(),
        "B_TURNED": str(name == "gemm_nt").lower(),
        "VALUE": value,
    }
    text = PROGRAM
    for mark, meant in replaced.items():
        text = text.replace(mark, meant)
    source.write_text(text, encoding="utf-8")
    return source


@pytest.mark.parametrize("part", [PARTS[0], *PARTS[-3:]], ids=lambda part: str(part.label))
@pytest.mark.parametrize("value", PRETENDERS.values(), ids=PRETENDERS.keys())
def test_what_is_no_product_is_wrong(part: Located, value: str, judge: Judge, tmp_path: Path) -> None:
    verdict = judge(part, write(part, value, tmp_path))
    assert verdict.state is State.wrong, shown(verdict)
    assert {finding.kind for finding in verdict.findings} <= {"wrong_values", "low_precision"}


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


@EACH_PART
def test_a_plain_product_has_right_values(part: Located, judge: Judge, tmp_path: Path) -> None:
    verdict = judge(part, write(part, "sum + a * b", tmp_path))
    assert verdict.state is (State.goal_open if part.part.goals else State.passed), shown(verdict)


def shares(part: Located, source: Path) -> Iterator[tuple[Case, float]]:
    """For each case with products, the error in shares of what is allowed, at the element where it is largest."""
    built = build(source)
    long = Case.of({**part.part.bench.params, **LONG})
    for case in (*part.part.cases(), long):
        if all(case.params[size] for size in LONG):
            yield case, share_in(part.part, built, case, SEED)


@EACH_PART
def test_the_tolerance_lies_between_the_solution_and_narrower_arithmetic(part: Located, tmp_path: Path) -> None:
    solution = by_case(shares(part, part.solution_path))
    half = by_case(shares(part, write(part, IN_HALF, tmp_path)))
    tf32 = by_case(shares(part, write(part, IN_TF32, tmp_path)))
    print(f"{part.label}, errors in shares of the tolerance:")
    for case, share in solution.items():
        print(f"  {case}: solution {share:.3f}, a sum in half precision {half[case]:.0f}, TF32 {tf32[case]:.0f}")
    assert max(solution.values()) <= 1 / 4
    for wrong in (half, tf32):  # a single result may be the zero of a relu, whatever it was made of
        assert min(share for case, share in wrong.items() if not case.startswith("1 1 ")) >= 4


def by_case(pairs: Iterator[tuple[Case, float]]) -> dict[str, float]:
    return {
        " ".join(f"{part:g}" for part in case.params.values()) + str(case.inputs or ""): share for case, share in pairs
    }
