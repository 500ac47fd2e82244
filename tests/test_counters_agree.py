"""The software GPU's counters against those of an H200 (results/h200/counting.json), launch by launch.

What the GPU counts is machine code, so the counts as compiled are compared, of the same sources for sm_90.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.build import build
from grader.simt.software import SoftwareGPU
from tests.access_patterns import KERNELS, MERGED, tables
from tests.one_launch import kernel_name, launched

HERE = Path(__file__).parent
RECORDED = json.loads((HERE.parent / "results" / "h200" / "counting.json").read_text())
WARP = ((1, 1, 1), (32, 1, 1))
# Bytes of the buffers: elements 0 to 1,023 and a few more of the widest type.
ROOM = 1040 * 16
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
EXECUTED = "smsp__inst_executed_op_{}.sum"
ACCESSES = {"ld": "load", "st": "store", "atom": "atomic"}
THEORETICAL = "memory_l2_theoretical_sectors_global"  # with atomics, of which the GPU itself counts several passes


def recorded(kernel: str, name: str) -> dict[str, int]:
    return dict(zip(RECORDED["metrics"], RECORDED["launches"][kernel][name], strict=True))


def hardware(counted: Mapping[str, int]) -> dict[str, int]:
    """What the GPU's own counters say, under our names; only sums of sectors are the Source page's."""
    found = {THEORETICAL: counted[THEORETICAL]}
    for theirs, ours in ACCESSES.items():
        found[f"shared_{ours}_wavefronts"] = counted[WAVEFRONTS.format(theirs)]
        found[f"shared_{ours} conflicts"] = counted[CONFLICTS.format(theirs)]
        if ours != "atomic":
            found[f"global_{ours}_sectors"] = counted[SECTORS.format(theirs)]
    return found


def ours(counters: Mapping[str, Any]) -> dict[str, int]:
    (kernel,) = counters["kernels"].values()
    compiled = kernel["compiled"]
    found = {THEORETICAL: compiled[THEORETICAL]}
    for access in ACCESSES.values():
        wavefronts = compiled.get(f"shared_{access}_wavefronts", 0)
        found[f"shared_{access}_wavefronts"] = wavefronts
        found[f"shared_{access} conflicts"] = wavefronts - compiled.get(f"shared_{access}_wavefronts_ideal", 0)
        if access != "atomic":
            found[f"global_{access}_sectors"] = compiled.get(f"global_{access}_sectors", 0)
    return found


@pytest.fixture(scope="module")
def merged() -> SoftwareGPU:
    return SoftwareGPU(build(HERE / "kernels" / "merged.cu", target=90))


@pytest.fixture(scope="module")
def by_table() -> SoftwareGPU:
    return SoftwareGPU(build(HERE / "kernels" / "access_patterns.cu", target=90))


@pytest.mark.parametrize("kernel", MERGED)
def test_kernels_that_ptxas_merged_count_as_on_the_gpu(merged: SoftwareGPU, kernel: str) -> None:
    grid, block, scalar = MERGED[kernel]
    kind = torch.uint8 if kernel == "bytes" else torch.float32
    inputs = ("a", "b") if kernel.startswith("gemm") else ("in",)
    buffers = {name: ("in", torch.ones(1 << 14, dtype=kind)) for name in inputs}
    buffers["out"] = ("inout", torch.zeros(1 << 14, dtype=kind))
    counters = launched(merged, kernel_name(merged.build, kernel), (grid, block), buffers, scalar).counters
    counted = recorded("merged", kernel)
    assert ours(counters) == hardware(counted)
    (counts,) = counters["kernels"].values()
    compiled = counts["compiled"]
    for space in ("shared", "global"):
        for theirs, access in (("ld", "load"), ("st", "store")):
            assert compiled.get(f"{space}_{access}_requests", 0) == counted[EXECUTED.format(f"{space}_{theirs}")]
    for name in ("memory_l1_wavefronts_shared", "memory_l2_theoretical_sectors_global"):
        assert (compiled.get(name, 0), compiled.get(f"{name}_ideal", 0)) == (counted[name], counted[f"{name}_ideal"])


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_pattern_of_addresses_counts_as_on_the_gpu(by_table: SoftwareGPU, kernel: str) -> None:
    mangled = kernel_name(by_table.build, kernel)
    differing = {}
    for name, where in tables(kernel).items():
        buffers = {
            "where": ("in", torch.tensor(where, dtype=torch.int32)),
            "in": ("in", torch.zeros(ROOM, dtype=torch.uint8)),
            "out": ("inout", torch.zeros(ROOM, dtype=torch.uint8)),
        }
        counted = ours(launched(by_table, mangled, WARP, buffers).counters)
        if counted != hardware(recorded(kernel, name)):
            differing[name] = counted, hardware(recorded(kernel, name))
    assert not differing


def test_the_gpu_counted_what_is_launched_here() -> None:
    assert {kernel: set(found) for kernel, found in RECORDED["launches"].items()} == {
        "merged": set(MERGED),
        **{kernel: set(tables(kernel)) for kernel in KERNELS},
    }


# Strides from 1 to 33, broadcasts, padded and swizzled tiles, misaligned accesses, warps with lanes away.
KINDS = {
    *("linear", *(f"every {stride}th" for stride in (2, 3, 4, 5, 8, 16, 32, 33)), "reversed", "rotated", "swapped"),
    *("all the same", "neighbours the same", "halves the same", "pairs", "fours", "eights", "two elements far apart"),
    *("a row of a swizzled tile", "a column of a swizzled tile", "from element 1", "from element 5"),
    *("only even lanes", "only every fourth lane", "only the last sixteen", "only lane 9", "nobody", "scattered 0"),
}


@pytest.mark.parametrize("access", ["load", "store"])
@pytest.mark.parametrize("space", ["shared", "global"])
def test_the_gpu_was_asked_about_every_kind_of_pattern(access: str, space: str) -> None:
    assert len(KINDS) >= 24
    for kind in ("int", "int2", "int4"):
        assert set(RECORDED["launches"][f"{access}_{space}_{kind}"]) >= KINDS
    assert set(RECORDED["launches"][f"add_{space}_int"]) >= KINDS
    assert set(RECORDED["launches"]["merged"]) >= {"padded", "column", "transpose", "gemm16", "gemm32"}
