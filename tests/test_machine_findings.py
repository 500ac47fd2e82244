"""Each fault is found at its line, and its near twin is left alone: tests/kernels/faults.cu on the software GPU."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from grader.build import Build, build
from grader.puzzle import Case, In, Out, Part, Scalar, Tolerance, Work, f32, i32
from grader.record import record
from grader.simt.software import RunResult, SoftwareGPU

SOURCE = Path(__file__).parent / "kernels" / "faults.cu"
_N = 100


def kernels() -> dict[str, set[tuple[str, int]]]:
    """Kernel → the (kind, line) pairs that its comments name."""
    found: dict[str, set[tuple[str, int]]] = {}
    name = ""
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if match := re.match(r"__global__ void (\w+)", line):
            name = match[1]
            found[name] = set()
        if (match := re.search(r"// -> (\w+)", line)) and name:
            found[name].add((match[1], number))
    return found


KERNELS = kernels()
FAULTY = sorted(name for name, marks in KERNELS.items() if marks)
SOUND = sorted(name for name, marks in KERNELS.items() if not marks)


@pytest.fixture(scope="module")
def built() -> Build:
    return build(SOURCE)


def run(built: Build, kernel: str, order: str, workers: int = 1) -> RunResult:
    part = Part(
        f"{kernel}_entry",
        params=[In("x", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
        reference=lambda x: x,
        groups={"all": [Case(n=_N)]},
        bench=Case(n=_N),
        work=lambda n: Work(bytes=8 * n, flops=0),
        tolerance=Tolerance(0.0, why="not compared"),
        lesson="",
    )
    recording = record(built, part, Case(n=_N))
    assert not recording.findings
    memory = {"x": torch.rand(_N), "out": torch.full((_N,), float("nan"))}
    roles = {"x": "in", "out": "out"}
    return SoftwareGPU(built).run(recording.plan, memory, roles=roles, order=order, workers=workers, budget=1 << 23)


@pytest.mark.parametrize("order", ["forward", "reverse", "shuffled"])
@pytest.mark.parametrize("kernel", FAULTY)
def test_a_fault_is_named_with_its_line_in_every_order(built: Build, kernel: str, order: str) -> None:
    findings = run(built, kernel, order).findings
    expected = KERNELS[kernel]
    assert findings, "nothing was found"
    for finding in findings:
        lines = {finding.line, finding.other_line} - {None}
        assert any((finding.kind, line) in expected for line in lines), (finding.kind, lines, expected)


@pytest.mark.parametrize("order", ["forward", "reverse", "shuffled"])
@pytest.mark.parametrize("kernel", SOUND)
def test_its_near_twin_is_left_alone(built: Build, kernel: str, order: str) -> None:
    assert run(built, kernel, order).findings == []


def test_a_race_between_blocks_is_found_whoever_runs_them(built: Build) -> None:
    for _ in range(20):
        kinds = {finding.kind for finding in run(built, "same_element_two_blocks", "forward", workers=2).findings}
        assert kinds == {"data_race"}


def test_a_finding_counts_its_threads_and_shows_the_first(built: Build) -> None:
    (finding,) = (f for f in run(built, "past_the_end", "reverse").findings if f.kind == "out_of_bounds_write")
    assert (finding.buffer, finding.index, finding.count) == ("out", _N, 1)
    assert (finding.block, finding.thread) == ((3, 0, 0), (4, 0, 0))


def test_an_address_far_outside_still_names_the_buffer_it_started_from(built: Build) -> None:
    findings = run(built, "far_away", "forward").findings
    assert {finding.buffer for finding in findings} == {"x"}
    assert findings[0].index == 1 << 24
