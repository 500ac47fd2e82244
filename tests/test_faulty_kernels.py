"""What learners get wrong is found at its line, in every order of blocks and warps, and the near twin is left alone."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest
import torch

from grader.build import build
from grader.simt.findings import DeviceFinding
from grader.simt.software import SoftwareGPU
from tests.correct_kernels import whole_numbers
from tests.kernel_runs import SCHEDULES, BufferSpec, Schedule, plan_of, run_plan
from tests.marked_kernels import MarkedKernel, marked_kernels

N = 128
BUFFERS = [BufferSpec("x", "in", N, torch.int32), BufferSpec("out", "out", N, torch.int32)]
SOURCES = sorted((Path(__file__).parent / "kernels" / "faulty").glob("*.cu"))
KERNELS = [kernel for source in SOURCES for kernel in marked_kernels(source)]
FAULTY = [kernel for kernel in KERNELS if kernel.marks]
SOUND = [kernel for kernel in KERNELS if not kernel.marks]


def findings(kernel: MarkedKernel) -> dict[Schedule, list[DeviceFinding]]:
    """What each schedule shows, each time on a device that has run nothing before."""
    built = build(kernel.source)
    plan = plan_of(built, f"{kernel.name}_entry", BUFFERS)
    found = {}
    for schedule in SCHEDULES:
        memory = {"x": whole_numbers(N, low=1, high=99), "out": BUFFERS[1].poisoned()}
        found[schedule] = run_plan(SoftwareGPU(built), plan, memory, schedule, budget=1 << 20).findings
    return found


def lines_of(finding: DeviceFinding) -> set[int]:
    return {line for line in (finding.line, finding.other_line) if line is not None}


@pytest.mark.parametrize("kernel", FAULTY, ids=str)
def test_a_fault_is_named_with_its_lines_in_every_order(kernel: MarkedKernel) -> None:
    named: set[int] = set()
    for schedule, found in findings(kernel).items():
        assert found, f"nothing was found: {schedule}"
        for finding in found:
            for line in lines_of(finding):
                assert finding.kind in kernel.marks.get(line, ()), (schedule, finding)
            named |= lines_of(finding)
    assert named == set(kernel.marks), "a line is marked that no finding names"


@pytest.mark.parametrize("kernel", SOUND, ids=str)
def test_its_near_twin_is_left_alone(kernel: MarkedKernel) -> None:
    for schedule, found in findings(kernel).items():
        assert found == [], schedule


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_every_fault_has_a_near_twin(source: Path) -> None:
    runs = [(sound, len(list(kernels))) for sound, kernels in groupby(marked_kernels(source), lambda k: not k.marks)]
    assert runs[-1][0], "the last one has no twin"
    assert all(count <= 2 for sound, count in runs if not sound)
    assert all(kernel.name.endswith("_ok") == (not kernel.marks) for kernel in marked_kernels(source))


def test_the_kinds_that_a_kernel_can_show_are_all_there() -> None:
    kinds = {kind for kernel in FAULTY for marked in kernel.marks.values() for kind in marked}
    assert kinds >= {
        "out_of_bounds_read",
        "out_of_bounds_write",
        "misaligned_access",
        "uninitialised_read",
        "data_race",
        "barrier_divergence",
        "deadlock",
        "bad_sync_mask",
        "endless_loop",
        "read_only_violation",
    }
