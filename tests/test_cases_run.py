"""Each mistake of `tests/cases` that puzzles 4, 6 and 9 are about runs on the software GPU: nothing is unsupported.

What is right and wrong about them is for the puzzles to say; here only that the machine knows every instruction.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.build import BuildFailed, build
from grader.inputs import memory_for
from grader.puzzle import Case, In, InOut, Out, Param, Part, Scalar, Tolerance, Work, f16, f32, i32
from grader.record import record
from grader.simt.software import SoftwareGPU

CASES = Path(__file__).parent / "cases"
GEMM: list[Param] = [In("A", f16, "M", "K"), In("B", f16, "K", "N"), Out("C", f32, "M", "N")]
SGD: list[Param] = [InOut("w", f16, "n"), In("g", f16, "n"), Scalar("lr", f32), Scalar("n", i32)]


def _norm(dtype: Any) -> list[Param]:
    rows = [Scalar("rows", i32), Scalar("cols", i32), Scalar("eps", f32)]
    return [In("x", dtype, "rows", "cols"), In("w", dtype, "cols"), Out("y", dtype, "rows", "cols"), *rows]


PARAMETERS: dict[str, list[Param]] = {
    "gemm_wmma": [*GEMM, *(Scalar(name, i32) for name in ("M", "N", "K"))],
    "rmsnorm": _norm(f32),
    "rmsnorm_f16": _norm(f16),
    "sgd_f16_half2": SGD,
    "sgd_step": [*SGD, Scalar("dtype", i32)],
}
SIZES: dict[str, list[dict[str, float]]] = {
    "gemm_wmma": [{"M": 48, "N": 32, "K": 64}],
    "rmsnorm": [{"rows": 3, "cols": 16 * 5, "eps": 1e-5}, {"rows": 3, "cols": 1000, "eps": 1e-5}],
    "sgd": [{"n": 16 * 7, "lr": 0.01}, {"n": 1000, "lr": 0.01}],
}
FILES = [case for case in json.loads((CASES / "cases.json").read_text()) if case["puzzle"] in (4, 6, 9)]


def sizes_for(entry: str) -> list[dict[str, float]]:
    sizes = next(sizes for stem, sizes in SIZES.items() if entry.startswith(stem))
    return [{**size, "dtype": 1} for size in sizes] if entry == "sgd_step" else sizes


@pytest.mark.parametrize("case", FILES, ids=lambda case: str(case["file"]))
def test_the_machine_knows_every_instruction(case: dict[str, Any]) -> None:
    entry = case["part"]
    try:
        built = build(CASES / case["file"])
    except BuildFailed:
        assert case["kinds"] == ["compile_error"]
        return
    for sizes in sizes_for(entry):
        params: dict[str, Any] = dict(sizes)
        part = Part(
            entry,
            params=PARAMETERS[entry],
            reference=lambda: torch.zeros(0),
            groups={"driven": [Case(**params)]},
            bench=Case(**params),
            work=lambda: Work(bytes=1, flops=1),
            tolerance=Tolerance(0.0, why="not judged here"),
            lesson="",
        )
        recording = record(built, part, Case(**params))
        if recording.findings:
            continue  # a launch that CUDA refuses reaches no instruction
        memory = memory_for(part, Case(**params), 5)
        roles = {buffer.name: buffer.role for buffer in part.buffers}
        found = SoftwareGPU(built).run(recording.plan, memory, roles=roles).findings
        assert [finding for finding in found if finding.kind == "unsupported"] == []
