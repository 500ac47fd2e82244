"""Fragments are counted as the loads and stores that ptxas makes of them for sm_80: LDG.32, LDSM.x4 and STG.64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from grader.build import build
from grader.simt.software import SoftwareGPU
from tests.kernel_runs import SCHEDULES, BufferSpec, plan_of, run_plan

M, N, K = 48, 64, 80  # as in tests/kernels/correct/matrices.cu
TILES, ROUNDS = (M // 16) * (N // 16), K // 16


@pytest.fixture(scope="module")
def counted() -> dict[str, dict[str, Any]]:
    """By entry, what its kernel counts."""
    built = build(Path(__file__).parent / "kernels" / "correct" / "matrices.cu")
    buffers = [BufferSpec("x", "in", M * K + K * N, torch.float16), BufferSpec("out", "out", M * N, torch.float32)]
    found = {}
    for entry in ("a_warp_a_tile", "shared_tiles"):
        memory = {"x": torch.ones(buffers[0].elements, dtype=torch.float16), "out": buffers[1].poisoned()}
        result = run_plan(SoftwareGPU(built), plan_of(built, f"{entry}_entry", buffers), memory, SCHEDULES[0])
        (found[entry],) = result.counters["kernels"].values()
    return found


def test_a_tile_from_global_memory_is_four_requests_of_four_bytes_a_lane(counted: dict[str, dict[str, Any]]) -> None:
    counts = counted["a_warp_a_tile"]
    requests = 2 * 4 * ROUNDS * TILES
    assert counts["global_load_requests"] == requests
    assert counts["global_load_requests_by_bytes"] == {"4": requests}
    assert counts["global_load_lanes"] == 32 * requests
    assert counts["global_load_sectors"] == 8 * requests  # 16 bytes of each of 8 rows
    assert counts["compiled"]["global_load_sectors"] == counts["global_load_sectors"]


def test_a_tile_of_results_is_stored_in_four_requests_of_eight_bytes_a_lane(counted: dict[str, dict[str, Any]]) -> None:
    counts = counted["a_warp_a_tile"]
    assert counts["global_store_requests_by_bytes"] == {"8": 4 * TILES}
    assert counts["global_store_sectors"] == counts["global_store_sectors_ideal"] == 8 * 4 * TILES


def test_a_tile_from_shared_memory_is_one_request_of_sixteen_bytes_a_lane(counted: dict[str, dict[str, Any]]) -> None:
    counts = counted["shared_tiles"]
    warps = 2 * 2 * 4
    assert counts["shared_load_requests_by_bytes"] == {"16": 2 * ROUNDS * warps}
    assert counts["shared_load_wavefronts"] == counts["shared_load_wavefronts_ideal"] == 4 * 2 * ROUNDS * warps


def test_products_count_with_what_they_multiply(counted: dict[str, dict[str, Any]]) -> None:
    counts = counted["a_warp_a_tile"]
    assert counts["matrix_instructions"] == ROUNDS * TILES
    assert counts["matrix_flops"] == 2 * M * N * K
