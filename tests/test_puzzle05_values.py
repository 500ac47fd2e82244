"""Puzzle 5: results that look like sums, and are none, fail in every part; the tolerance lies where it should."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader.build import build
from grader.catalog import Located, load_catalog
from grader.compare import allowed_error, reference_results
from grader.inputs import memory_for
from grader.puzzle import Case
from grader.record.plan import Plan
from grader.simt.software import SoftwareGPU
from grader.tools import default_tools
from grader.verdict import State
from tests.conftest import SEED
from tests.judging import ROOT, Judge, shown

PARTS = load_catalog(ROOT).resolve("puzzle_5")[0].parts[:3]
SEEDS = 5
EACH_PART = pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part.label))

# One thread does a whole sum: of the next term and the sum so far, what is the new sum?
IN_HALF = "__half2float(__hadd(__float2half(sum), __float2half(term)))"
IN_ORDER = "sum + term"
PRETENDERS = {
    "zeros": "0.0f",
    "the first term": "i == 0 ? term : sum",
    "the mean": "sum + term / count",
    "a sum of magnitudes": "sum + fabsf(term)",
    "the root of the sum of squares": "sqrtf(sum * sum + term * term)",
    "a sum of what is even": "i % 2 == 0 ? sum + term : sum",
    "a sum in half precision": IN_HALF,
    "terms in half precision": "sum + __half2float(__float2half(term))",
}

PROGRAM = """#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void kernel(const float* x, float* out, int rows, int count) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < count; ++i) {
        const float term = x[row * count + i];
        sum = VALUE;
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


def write(part: Located, value: str, folder: Path) -> Path:
    source = folder / part.path.name
    text = PROGRAM.replace("LAUNCH", LAUNCHES[part.part.name]).replace("ENTRY", part.part.name)
    source.write_text(text.replace("VALUE", value), encoding="utf-8")
    return source


@pytest.mark.parametrize("part", PARTS[1:], ids=lambda part: str(part.label))  # 5.1 is 5.3 with fewer terms
@pytest.mark.parametrize("value", PRETENDERS.values(), ids=PRETENDERS.keys())
def test_what_is_no_sum_is_wrong(part: Located, value: str, judge: Judge, tmp_path: Path) -> None:
    verdict = judge(part, write(part, value, tmp_path))
    assert verdict.state is State.wrong, shown(verdict)
    assert {finding.kind for finding in verdict.findings} <= {"wrong_values", "low_precision"}


@EACH_PART
def test_a_sum_in_any_order_has_right_values(part: Located, judge: Judge, tmp_path: Path) -> None:
    verdict = judge(part, write(part, IN_ORDER, tmp_path))
    assert verdict.state is State.goal_open, shown(verdict)


@EACH_PART
def test_the_tolerance_lies_between_the_solution_and_half_precision(part: Located, tmp_path: Path) -> None:
    solution = shares(part, part.solution_path)
    half = shares(part, write(part, IN_HALF, tmp_path))
    print(f"{part.label}, errors in shares of the tolerance:")
    for case, share, in_half in zip(cases_of(part), solution, half, strict=True):
        largest, usual = float(share.max()), float(in_half.median())
        print(f"  {dict(case.params)} {dict(case.inputs)}: solution {largest:.3f}, a sum in half precision {usual:.0f}")
        assert largest <= 1 / 4
        assert usual >= 4 or "integers" in case.inputs.values(), "half precision has whole numbers up to 2,048"


def cases_of(part: Located) -> list[Case]:
    return [case for case in part.part.cases() if 0 not in case.params.values()]


def shares(part: Located, source: Path) -> Iterator[torch.Tensor]:
    """For each case with a term, the largest error in shares of what is allowed, for each of some seeds."""
    built, tools = build(source), default_tools()
    gpu = tools.software_gpu(built)
    for case in cases_of(part):
        plan = tools.record(built, part.part, case).plan
        yield torch.tensor([share(part, case, gpu, plan, SEED + number) for number in range(SEEDS)])


def share(part: Located, case: Case, gpu: SoftwareGPU, plan: Plan, seed: int) -> float:
    (result,), scale = part.part.results, part.part.tolerance.scale
    assert scale is not None
    memory = memory_for(part.part, case, seed)
    expected = reference_results(part.part, case, {"x": memory["x"]})["out"]
    allowed = allowed_error(part.part.tolerance, case, result, scale(x=memory["x"].double()))
    gpu.run(plan, memory, roles={buffer.name: buffer.role for buffer in part.part.buffers})
    error = (memory["out"].double() - expected).abs().nan_to_num_(nan=torch.inf)
    return float((error / allowed).max())
