"""Each fault is found at its line, and its near twin is left alone: tests/kernels/faults.cu on the software GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from grader.build import Build, build
from grader.puzzle import Case, In, Out, Part, Scalar, Tolerance, Work, f32, i32
from grader.record import record
from grader.simt.execution import Watch
from grader.simt.findings import Budgets, device_findings
from grader.simt.software import RunResult, SoftwareGPU
from tests.marked_kernels import marked_kernels

SOURCE = Path(__file__).parent / "kernels" / "faults.cu"
_N = 100


# Kernel → the (kind, line) pairs that its comments name.
KERNELS = {
    kernel.name: {(kind, line) for line, kinds in kernel.marks.items() for kind in kinds}
    for kernel in marked_kernels(SOURCE)
}
FAULTY = sorted(name for name, marks in KERNELS.items() if marks)
SOUND = sorted(name for name, marks in KERNELS.items() if not marks)


@pytest.fixture(scope="module")
def built() -> Build:
    return build(SOURCE)


def run(built: Build, kernel: str, order: str, workers: int = 1, **budgets: Any) -> RunResult:
    memory = {"x": torch.rand(_N), "out": torch.full((_N,), float("nan"))}
    return execute(built, kernel, memory, order, workers, **budgets)


def execute(
    built: Build,
    kernel: str,
    memory: dict[str, torch.Tensor],
    order: str = "forward",
    workers: int = 1,
    budget: int = 1 << 21,
    launch_budget: int | None = None,
    watch: Watch | None = None,
) -> RunResult:
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
    roles = {"x": "in", "out": "out"}
    return SoftwareGPU(built).run(
        recording.plan,
        memory,
        roles=roles,
        order=order,
        workers=workers,
        budget=budget,
        launch_budget=launch_budget,
        trace=watch,
    )


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


def test_a_race_tells_whether_it_is_between_warps_and_at_one_place(built: Build) -> None:
    def facts(kernel: str) -> tuple[bool, bool]:
        (found,) = run(built, kernel, "forward").findings
        return found.facts["between_warps"], found.facts["one_place"]

    assert facts("all_read_what_one_writes") == (True, True)
    assert facts("all_add_to_one_place") == (True, True)
    assert facts("shared_without_barrier") == (True, False)
    assert facts("neighbour_in_the_warp")[0] is False


def test_the_two_threads_of_a_race_are_two(built: Build) -> None:
    (found,) = run(built, "all_read_what_one_writes", "forward").findings
    assert (found.thread, tuple(found.facts["other_thread"])) == ((1, 0, 0), (0, 0, 0))


def test_a_fault_in_a_function_names_the_lines_that_called_it(built: Build) -> None:
    (found,) = run(built, "shared_without_barrier_in_a_function", "forward").findings
    lines = SOURCE.read_text().splitlines()
    called = {
        line
        for name in ("callers", "other_callers")
        for line in found.facts.get(name, ())
        if "other_half(tile)" in lines[line - 1]
    }
    assert len(called) == 1


def test_bytes_of_a_constant_can_be_read_from_several_host_threads(built: Build) -> None:
    for _ in range(5):
        assert run(built, "bytes_of_a_constant_ok", "forward", workers=4).findings == []


def test_a_finding_counts_its_threads_and_shows_the_first(built: Build) -> None:
    (finding,) = (f for f in run(built, "past_the_end", "reverse").findings if f.kind == "out_of_bounds_write")
    assert (finding.buffer, finding.index, finding.count) == ("out", _N, 1)
    assert (finding.block, finding.thread) == ((3, 0, 0), (4, 0, 0))


def test_a_grid_that_is_too_large_ends_soon_with_the_line_of_its_launch(built: Build) -> None:
    (finding,) = run(built, "idle_grid_ok", "forward", launch_budget=1 << 19).findings
    assert (finding.kind, finding.facts["blocks_asked"]) == ("redundant_traffic", 1 << 16)
    assert "ENTRY(idle_grid_ok" in SOURCE.read_text().splitlines()[(finding.line or 0) - 1]


def test_work_that_every_thread_does_again_is_stopped_in_its_loop(built: Build) -> None:
    (finding,) = run(built, "all_do_everything_ok", "forward", launch_budget=1 << 14).findings
    assert (finding.kind, finding.facts["variant"]) == ("redundant_traffic", "instructions")


def test_a_grid_is_not_called_too_large_where_something_else_used_up_the_work() -> None:
    raw = {"line": 3, "other_line": None, "block": [0, 0, 0], "thread": [0, 0, 0], "region": "", "count": 1}
    found = [raw | {"kind": "redundant_traffic", "text": text, "blocks": 1} for text in ("grid", "instructions")]
    report = {"kernel": "k", "grid": [1056, 1, 1], "findings": found}
    (told,) = device_findings([report], [9], {}, Budgets(1, 1))
    assert told.facts["variant"] == "instructions"
    (told,) = device_findings([report | {"findings": found[:1]}], [9], {}, Budgets(1, 1))
    assert told.facts["variant"] == "grid"


def test_an_address_far_outside_still_names_the_buffer_it_started_from(built: Build) -> None:
    findings = run(built, "far_away", "forward").findings
    assert {finding.buffer for finding in findings} == {"x"}
    assert findings[0].index == 1 << 24


def values(built: Build, kernel: str) -> tuple[torch.Tensor, torch.Tensor]:
    """What the kernel was given and what it made of it."""
    memory = {"x": torch.rand(_N), "out": torch.full((_N,), float("nan"))}
    assert execute(built, kernel, memory).findings == []
    return memory["x"], memory["out"]


def test_calls_come_back_with_their_values(built: Build) -> None:
    x, out = values(built, "calls_ok")
    i = torch.arange(_N)
    assert torch.equal(out, torch.where(i % 2 == 1, x + x, (x + 1) + (x + 1)) + 2.0 ** (i % 7))


def test_a_pointer_leads_to_its_function(built: Build) -> None:
    x, out = values(built, "calls_through_a_table_ok")
    assert torch.equal(out, torch.where(torch.arange(_N) % 2 == 0, x + x, 3 * x))


def test_a_structure_arrives_as_it_was_passed(built: Build) -> None:
    x, out = values(built, "structure_by_value_ok")
    i = torch.arange(_N)
    assert torch.equal(out, torch.addcmul(10.0 * (1 + i % 3), x, (1.0 + i % 8)).float())


def test_every_way_of_a_switch_is_taken(built: Build) -> None:
    x, out = values(built, "many_ways_ok")
    x = x.double()
    ways = [x + 1, x * 3, x.sqrt(), x.exp(), x / 7, (x.float() * 1000).double().sin(), x % 0.1, x**1.7]
    ways += [(x.float() * 100).int() % 7, x.tanh(), x.cos() + (x + 1).log(), -x]
    expected = torch.stack([way.double() for way in ways]).gather(0, (torch.arange(_N) % 12)[None])[0]
    torch.testing.assert_close(out.double(), expected, rtol=2e-6, atol=2e-6)


def test_what_a_kernel_prints_is_kept_thread_by_thread(built: Build) -> None:
    assert run(built, "prints_ok", "forward").printed == (
        "thread 0 of block:  1.50|7   |1099511627776|x|%\nthread 1 of block:  2.50|7   |1099511627776|x|%\n"
    )


def test_an_assertion_is_quoted(built: Build) -> None:
    (finding,) = run(built, "asserts", "forward").findings
    assert finding.facts["assertion"] == "i < n - 90"
    assert finding.thread == (10, 0, 0)


def test_a_watched_thread_tells_its_accesses_and_an_element_who_wrote_it(built: Build) -> None:
    x = torch.rand(_N)
    memory = {"x": x, "out": torch.full((_N,), float("nan"))}
    result = execute(built, "past_the_end_ok", memory, watch=Watch(block=2, thread=5))
    load, store = result.trace
    value = x[69].numpy().tobytes().hex()
    assert (load["region"], load["offset"], load["write"], load["value"]) == ("x", 4 * 69, False, value)
    assert (store["region"], store["offset"], store["write"], store["value"]) == ("out", 4 * 69, True, value)
    assert result.writer("out", 69) == (store["line"], 2, 5)
    assert result.writer_line("out", 69) == store["line"]
    assert execute(built, "past_the_end_ok", memory).trace == []
