"""Occupancy: beside what CUDA's documents say of some launches, and beside what a launcher is answered."""

from __future__ import annotations

import pytest

from grader.cubin import Kernel
from grader.occupancy import Occupancy, occupancy
from grader.record.device import DEVICES, Device
from grader.record.limits import judge

H100, T4 = DEVICES[90], DEVICES[75]


def kernel(registers: int = 32, static_shared: int = 0) -> Kernel:
    return Kernel("k", registers, static_shared, 0, 1024, (), ())


# By hand, from the table "Technical Specifications per Compute Capability": 65,536 registers and 2,048 threads (sm_75:
# 1,024) of a multiprocessor, 32 blocks (sm_75: 16), 228 KiB of shared memory (64), of which each block takes 1 more.
@pytest.mark.parametrize(
    ("needs", "threads", "dynamic_shared", "device", "blocks", "limited_by"),
    [
        (kernel(16), 32, 0, H100, 32, ("blocks",)),
        (kernel(16), 256, 0, H100, 8, ("warps",)),
        (kernel(64), 256, 0, H100, 4, ("registers",)),
        (kernel(255), 256, 0, H100, 1, ("registers",)),
        (kernel(16, static_shared=48 << 10), 128, 0, H100, 4, ("shared",)),
        (kernel(16), 128, 99 << 10, H100, 2, ("shared",)),
        (kernel(16), 1024, 0, T4, 1, ("warps",)),
        (kernel(16, static_shared=16_896), 256, 0, T4, 3, ("shared",)),
    ],
)
def test_the_scarcest_resource_sets_the_limit(
    needs: Kernel, threads: int, dynamic_shared: int, device: Device, blocks: int, limited_by: tuple[str, ...]
) -> None:
    found = occupancy(needs, threads, dynamic_shared, device)
    assert (found.blocks, found.limited_by) == (blocks, limited_by)


def test_the_share_is_of_the_warps_that_fit() -> None:
    assert occupancy(kernel(64), 256, 0, H100) == Occupancy(4, 256, 64, ("registers",))
    assert occupancy(kernel(64), 256, 0, H100).share == 0.5
    assert occupancy(kernel(16), 33, 0, H100).warps == 64  # a warp of one thread is a warp


@pytest.mark.parametrize("registers", [32, 40, 64, 65, 96, 128, 255])
@pytest.mark.parametrize("threads", [32, 96, 256, 512, 768, 1024])
def test_what_is_refused_at_a_launch_has_no_place(registers: int, threads: int) -> None:
    refused = judge(kernel(registers), H100, grid=(1, 1, 1), block=(threads, 1, 1), shared=0, max_dynamic_shared=0)
    assert (occupancy(kernel(registers), threads, 0, H100).blocks == 0) == (refused is not None)


def test_what_is_no_launch_and_no_device_is_refused() -> None:
    with pytest.raises(ValueError, match="0 threads a block"):
        occupancy(kernel(), 0, 0, H100)
    with pytest.raises(ValueError, match="H100"):
        occupancy(kernel(), 32, 0, Device(**{**vars(H100), "major": 99}))
