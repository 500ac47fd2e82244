"""Counters of real kernels on sm_80: as written and as compiled, by line, and what is read for each result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from grader.build import build
from grader.evidence import CaseEvidence, Evidence, Goal, Shortfall
from grader.goals import no_bank_conflicts
from grader.puzzle import Case
from grader.simt.software import RunResult, SoftwareGPU
from tests.one_launch import kernel_name, launched

SOURCE = Path(__file__).parent / "kernels" / "merged.cu"
WARP = ((1, 1, 1), (32, 1, 1))
EXCESS = "derived__memory_l1_wavefronts_shared_excessive"


@pytest.fixture(scope="module")
def gpu() -> SoftwareGPU:
    return SoftwareGPU(build(SOURCE))


def run(gpu: SoftwareGPU, kernel: str) -> RunResult:
    """One warp that reads 1,024 floats and writes 32."""
    buffers = {"in": ("in", torch.ones(1024)), "out": ("out", torch.empty(32))}
    return launched(gpu, kernel_name(gpu.build, kernel), WARP, buffers)


def gemm(gpu: SoftwareGPU, tile: int, size: int) -> RunResult:
    blocks = size // tile
    matrix = torch.ones(size * size)
    buffers = {"a": ("in", matrix), "b": ("in", matrix.clone()), "c": ("out", torch.empty(size * size))}
    shape = ((blocks, blocks, 1), (tile, tile, 1))
    return launched(gpu, kernel_name(gpu.build, f"gemm{tile}"), shape, buffers, size)


def line_of(marker: str) -> int:
    """The line that ends with that comment."""
    (line,) = (n for n, text in enumerate(SOURCE.read_text().split("\n"), 1) if text.endswith(f"// {marker}"))
    return line


def on_line(result: RunResult, marker: str) -> dict[str, Any]:
    """The counts of the line that ends with that comment."""
    counts: dict[str, Any] = result.counters["lines"][str(line_of(marker))]
    return counts


def missed(goal: Goal, result: RunResult) -> str | Shortfall | None:
    """What the goal says of one case with the run's counters."""
    return goal.check(Evidence([CaseEvidence("group", Case(n=32), (), result.counters, {})], {}))


def loads(counts: dict[str, Any]) -> tuple[int, int, int]:
    """Requests, wavefronts and the fewest wavefronts of loads from shared memory."""
    return (
        counts["shared_load_requests"],
        counts["shared_load_wavefronts"],
        counts["shared_load_wavefronts_ideal"],
    )


def test_a_column_read_conflicts_both_ways(gpu: SoftwareGPU) -> None:
    counts = on_line(run(gpu, "column"), "column")
    assert loads(counts) == (32, 1024, 32)
    assert loads(counts["compiled"]) == (8, 256, 32)
    assert (counts[EXCESS], counts["compiled"][EXCESS]) == (992, 224)
    assert counts["compiled"]["shared_load_requests_by_bytes"] == {"16": 8}


def test_a_padded_tile_conflicts_neither_way(gpu: SoftwareGPU) -> None:
    counts = on_line(run(gpu, "padded"), "padded")
    assert loads(counts) == loads(counts["compiled"]) == (32, 32, 32)
    assert counts[EXCESS] == counts["compiled"][EXCESS] == 0


def test_a_goal_takes_conflicts_that_ptxas_mends_for_none(gpu: SoftwareGPU) -> None:
    """Four neighbours a lane: 4-way conflicts as written, one load of 16 bytes without any as compiled."""
    result = run(gpu, "own_four")
    counts = on_line(result, "own four")
    assert (counts[EXCESS], counts["compiled"][EXCESS]) == (12, 0)
    assert missed(no_bank_conflicts(), result) is None


def test_a_goal_misses_conflicts_that_are_there_both_ways(gpu: SoftwareGPU) -> None:
    assert missed(no_bank_conflicts(), run(gpu, "padded")) is None
    shortfall = missed(no_bank_conflicts(), run(gpu, "column"))
    assert isinstance(shortfall, Shortfall)
    assert shortfall.line == line_of("column")
    assert "32 passes over shared memory, and 1 would do" in shortfall.sentence


def test_stores_of_a_row_conflict_both_ways(gpu: SoftwareGPU) -> None:
    counts = on_line(run(gpu, "row_stores"), "row stores")
    assert (counts[EXCESS], counts["compiled"][EXCESS]) == (992, 224)
    assert counts["compiled"]["shared_store_requests"] == 8


@pytest.mark.parametrize(("tile", "requests", "wavefronts"), [(16, 20, 24), (32, 40, 48)])
def test_a_tiled_product_has_no_conflict_either_way(
    gpu: SoftwareGPU, tile: int, requests: int, wavefronts: int
) -> None:
    """Per warp and tile: as many loads of 4 bytes from b as rows, and a quarter as many of 16 bytes from a, where half
    a warp agrees on the address: two wavefronts each.
    """
    size = 2 * tile
    counts = on_line(gemm(gpu, tile, size), "gemm")
    warps = size * size // 32 * (size // tile)
    assert loads(counts) == (2 * tile * warps,) * 3
    assert loads(counts["compiled"]) == (requests * warps, wavefronts * warps, wavefronts * warps)


def test_what_ptxas_left_alone_counts_the_same(gpu: SoftwareGPU) -> None:
    buffers = {"in": ("in", torch.ones(1024)), "out": ("out", torch.empty(1024))}
    result = launched(gpu, kernel_name(gpu.build, "transpose"), ((1, 1, 1), (32, 8, 1)), buffers, 32)
    counts = on_line(result, "transpose")
    compiled = counts.pop("compiled")
    assert loads(counts) == (32, 1024, 32)
    assert compiled == {name: value for name, value in counts.items() if name in compiled}
    assert "requests_unknown" not in compiled


def test_an_array_that_lies_in_registers_costs_nothing_as_compiled(gpu: SoftwareGPU) -> None:
    buffers = {"in": ("in", torch.ones(1024)), "out": ("out", torch.empty(32))}
    (kernel,) = (
        launched(gpu, kernel_name(gpu.build, "array_in_registers"), WARP, buffers, 3).counters["kernels"].values()
    )
    assert kernel["local_load_requests"] > 0
    assert "local_load_requests" not in kernel["compiled"]


def test_sectors_beyond_the_fewest_are_told(gpu: SoftwareGPU) -> None:
    counts = on_line(run(gpu, "global_pairs"), "global pairs")
    assert counts["memory_l2_theoretical_sectors_global"] == 8 + 8 + 4
    assert counts["derived__memory_l2_theoretical_sectors_global_excessive"] == 8


def test_a_tile_divides_the_reads_for_each_result(gpu: SoftwareGPU) -> None:
    reads = gemm(gpu, 16, 64).counters["reads"]
    assert reads["results"] == 64 * 64
    assert reads["elements_a_result"] == 2 * 64 / 16
    assert reads["bytes_a_result"] == 4 * 2 * 64 / 16
    assert reads["buffers"]["a"] == {
        "elements": 64 * 64 * 4,
        "bytes": 64 * 64 * 16,
        "elements_a_result": 4,
        "bytes_a_result": 16,
    }


def test_only_results_that_were_written_are_counted(gpu: SoftwareGPU) -> None:
    buffers = {"in": ("in", torch.ones(1024)), "out": ("out", torch.empty(100))}
    result = launched(gpu, kernel_name(gpu.build, "global_pairs"), WARP, buffers)
    reads = result.counters["reads"]
    assert (reads["results"], reads["elements"], reads["elements_a_result"]) == (32, 64, 2)
