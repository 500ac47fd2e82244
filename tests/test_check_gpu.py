"""A check on a GPU that is none: what the hardware cannot place, the software GPU says on which line."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader import check as checking
from grader.catalog import Located, LocatedPuzzle
from grader.check import Options, Submission, check_part
from grader.cuda import session
from grader.puzzle import Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32
from grader.tools import TorchLoading, default_tools
from grader.verdict import PartVerdict, State

PRETENDED = (sys.executable, "-m", "tests.pretend_gpu")
STOPPED = 13  # the size at which the pretended GPU stops with an illegal address
SOURCE = """\
extern "C" __global__ void add(const float* a, const float* b, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
    FAULT
}

// --- your code ---
extern "C" int vector_add(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return 0;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
// --- end ---
"""
WITH_SMALL_FAULT = SOURCE.replace("FAULT", "if (n == 7 && i == 0) out[n + 2] = 1.f;")
FAULT_LINE = 4


def part(**changes: Any) -> Part:
    given: dict[str, Any] = {
        "params": [In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
        "reference": lambda a, b: a + b,
        "groups": {"some": [Case(n=256), Case(n=300)], "few": [Case(n=5)]},
        "bench": Case(n=STOPPED),
        "work": lambda n: Work(12 * n, n),
        "tolerance": Tolerance(2.0**-22, why="one rounding"),
        "lesson": "Add.",
    }
    return Part("vector_add", **(given | changes))


def pretend(monkeypatch: pytest.MonkeyPatch, *mode: str) -> None:
    gpu = functools.partial(session.RealGPU, seconds=5.0, command=(*PRETENDED, *mode))
    monkeypatch.setattr(session, "RealGPU", gpu)


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., PartVerdict]:
    monkeypatch.setattr(checking, "why_not", lambda: None)
    pretend(monkeypatch)

    def judged(source: str, asked: Part | None = None) -> PartVerdict:
        asked = asked or part()
        folder, solutions = tmp_path / "puzzles" / "puzzle_01_add", tmp_path / "solutions"
        folder.mkdir(parents=True, exist_ok=True)
        solutions.mkdir(exist_ok=True)
        located = Located(asked, LocatedPuzzle(Puzzle("Add", [asked]), 1, folder.name, folder, solutions), 1)
        located.solution_path.write_text(SOURCE.replace("FAULT", ""))
        path = folder / "1_vector_add.cu"
        path.write_text(source)
        submission = Submission(located, path, "1_vector_add.cu")
        return check_part(submission, Options(seed=7), default_tools(), TorchLoading())

    return judged


def test_a_fault_at_full_size_is_placed_by_the_software_gpu_at_a_small_one(
    judge: Callable[..., PartVerdict],
) -> None:
    verdict = judge(WITH_SMALL_FAULT)
    assert verdict.state is State.wrong
    (finding,) = verdict.findings
    assert (finding.kind, finding.line) == ("out_of_bounds_write", FAULT_LINE)
    assert finding.message.startswith("On a GPU this went wrong: A kernel read or wrote memory that is not there")
    assert "The software GPU does, at n = 7: " in finding.message
    assert "`out[9]`" in finding.message
    assert verdict.cases[-1].device == "Pretended GPU"
    assert not verdict.cases[-1].passed
    assert verdict.timing is None


def test_a_fault_that_the_software_gpu_never_sees_is_told_as_the_hardware_has_it(
    judge: Callable[..., PartVerdict],
) -> None:
    verdict = judge(SOURCE.replace("FAULT", ""))
    (finding,) = verdict.findings
    assert finding.kind == "device_trap"
    assert "a fault that the software GPU had not found" in finding.message


def test_a_fault_in_a_small_case_is_placed_as_well(judge: Callable[..., PartVerdict]) -> None:
    asked = part(bench=Case(n=2000), groups={"some": [Case(n=1), Case(n=256), Case(n=STOPPED)]})
    verdict = judge(WITH_SMALL_FAULT, asked)
    (finding,) = verdict.findings
    assert (finding.kind, finding.line) == ("out_of_bounds_write", FAULT_LINE)
    assert "The software GPU does, at n = 7: " in finding.message
    assert (verdict.not_reached, [case.passed for case in verdict.cases]) == ((), [True, True, False])


@pytest.mark.parametrize("missing", ["driver", "bindings"])
def test_a_gpu_that_cannot_be_used_is_told_of_once_the_part_is_right(
    judge: Callable[..., PartVerdict], monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    words = "libcuda" if missing == "driver" else "pip install"
    if missing == "driver":
        pretend(monkeypatch, "no_driver")
    else:
        monkeypatch.setattr(checking, "why_not", lambda: "Type pip install.")
        monkeypatch.setattr(checking, "has_device", lambda: True)
    verdict = judge(SOURCE.replace("FAULT", ""))
    assert (verdict.state, verdict.device, verdict.timing) == (State.passed, "software", None)
    assert words in (verdict.untimed or "")
