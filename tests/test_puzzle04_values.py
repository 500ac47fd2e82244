"""Puzzle 4: what is no product fails in every part, a product without tensor cores misses its goal, and the tolerance
lies where it should.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.build import build
from grader.catalog import Located, load_catalog
from grader.compare import allowed_error, reference_results
from grader.inputs import memory_for
from grader.puzzle import Case
from grader.record import record
from grader.simt.software import SoftwareGPU
from grader.verdict import State
from tests.conftest import SEED
from tests.judging import ROOT, Judge, shown

PARTS = load_catalog(ROOT).resolve("puzzle_4")[0].parts
WRONG = ROOT / "tests" / "wrong" / "puzzle_04_wmma"
TWO, BLOCK = PARTS[1], PARTS[2]
LONG = Case(M=16, N=32, K=4096)  # as many products an element as the bench case has

PROGRAM = """#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void kernel(const half* A, const half* B, float* C, int M, int N, int K) {
    const long long row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        const float a = __half2float(A[row * K + k]), b = __half2float(B[k * N + col]);
        sum = VALUE;
    }
    C[row * N + col] = sum;
}

extern "C" cudaError_t ENTRY(const half* A, const half* B, float* C, int M, int N, int K, cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    kernel<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
"""
PRETENDERS = {
    "zeros": "0.0f",
    "the last product": "a * b",
    "a sum of magnitudes": "sum + fabsf(a * b)",
    "a sum in half precision": "__half2float(__hfma(__float2half(a), __float2half(b), __float2half(sum)))",
}


def write(part: Located, value: str, folder: Path) -> Path:
    source = folder / part.path.name
    source.write_text(PROGRAM.replace("ENTRY", part.part.name).replace("VALUE", value), encoding="utf-8")
    return source


@pytest.mark.parametrize("value", PRETENDERS.values(), ids=PRETENDERS.keys())
def test_what_is_no_product_is_wrong(value: str, judge: Judge, tmp_path: Path) -> None:
    verdict = judge(TWO, write(TWO, value, tmp_path))
    assert verdict.state is State.wrong, shown(verdict)
    assert {finding.kind for finding in verdict.findings} <= {"wrong_values", "low_precision"}


def test_a_product_without_tensor_cores_misses_its_goal(judge: Judge, tmp_path: Path) -> None:
    verdict = judge(TWO, write(TWO, "sum + a * b", tmp_path))
    assert verdict.state is State.goal_open, shown(verdict)
    assert [goal.name for goal in verdict.goals if not goal.reached] == ["tensor cores"]


def shares(part: Located, source: Path) -> Iterator[tuple[Case, float]]:
    """For each case with products, the error in shares of what is allowed, at the element where it is largest."""
    built = build(source)
    gpu = SoftwareGPU(built)
    roles = {buffer.name: buffer.role for buffer in part.part.buffers}
    (result,) = part.part.results
    for case in (*part.part.cases(), LONG):
        if 0 in case.params.values():
            continue
        memory = memory_for(part.part, case, SEED)
        inputs = {buffer.name: memory[buffer.name].clone() for buffer in part.part.buffers if buffer.is_read}
        gpu.run(record(built, part.part, case).plan, memory, roles=roles)
        expected = reference_results(part.part, case, inputs)[result.name].flatten().double()
        error = (memory[result.name].flatten().double() - expected).abs()
        scale = part.part.tolerance.scale
        size = expected if scale is None else scale(*(inputs[name].double() for name in ("A", "B"))).flatten()
        yield case, float((error / allowed_error(part.part.tolerance, case, result, size)).max())


@pytest.mark.parametrize("part", PARTS[1:], ids=lambda part: str(part.label))
def test_the_solution_stays_within_a_quarter_of_what_is_allowed(part: Located) -> None:
    assert [(case, share) for case, share in shares(part, part.solution_path) if share > 1 / 4] == []


@pytest.mark.parametrize(
    ("part", "name"), [(TWO, "gemm_sum_in_half"), (BLOCK, "block_sum_in_half"), (PARTS[4], "bf16_result_rounded")]
)
def test_less_precision_misses_it_by_four_times_and_more(part: Located, name: str) -> None:
    assert [(case, share) for case, share in shares(part, WRONG / f"{name}.cu") if share < 4] == []
