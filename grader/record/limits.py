"""Judges a launch as CUDA would: which error, and the reason in words.

The runtime in the child judges too, because a launcher must get CUDA's answer; but the child is hostile, so that what
the verdict rests on, and every word of it, is found here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from grader.record.device import Device
from grader.record.errors import (
    COOPERATIVE_LAUNCH_TOO_LARGE,
    INVALID_VALUE,
    LAUNCH_OUT_OF_RESOURCES,
)
from grader.record.operations import Triple

WARP = 32
_MAX_THREADS = 1_024
_MAX_BLOCK = (1_024, 1_024, 64)
_MAX_GRID = (0x7FFFFFFF, 65_535, 65_535)
_REGISTER_GRANULARITY = 256  # registers are given to a warp in portions of this many
_PARTITIONS = 4  # of a multiprocessor, each with its share of the registers


class KernelNeeds(Protocol):
    """What the cubin says of a kernel; `grader.build.Kernel` is one."""

    @property
    def registers(self) -> int: ...
    @property
    def static_shared(self) -> int: ...
    @property
    def max_threads(self) -> int: ...


@dataclass(frozen=True)
class Refusal:
    """Why a launch is not possible: the cudaError_t and the reason, half a sentence."""

    code: int
    reason: str


def judge(
    kernel: KernelNeeds, device: Device, *, grid: Triple, block: Triple, shared: int, max_dynamic_shared: int
) -> Refusal | None:
    """The refusal of an ordinary launch, or None when CUDA would accept it. `shared` is dynamic, in bytes."""
    return (
        _shape(grid, block)
        or _threads(kernel, block)
        or _shared(kernel, device, shared, max_dynamic_shared)
        or _registers(kernel, device, block)
    )


def cooperative_refusal() -> Refusal:
    """The refusal of a cooperative launch with more blocks than are resident at once."""
    return Refusal(
        COOPERATIVE_LAUNCH_TOO_LARGE, "a cooperative launch, and its blocks do not all fit on the device at once"
    )


def _shape(grid: Triple, block: Triple) -> Refusal | None:
    if 0 in grid:
        return Refusal(INVALID_VALUE, "a grid of 0 blocks")
    if 0 in block:
        return Refusal(INVALID_VALUE, "a block of 0 threads")
    for axis, extent, limit in zip("xyz", grid, _MAX_GRID, strict=True):
        if extent > limit:
            return Refusal(INVALID_VALUE, f"{extent:,} blocks along {axis}; at most {limit:,}")
    threads = block[0] * block[1] * block[2]
    if threads > _MAX_THREADS:
        return Refusal(INVALID_VALUE, f"{threads:,} threads a block; at most {_MAX_THREADS:,}")
    if block[2] > _MAX_BLOCK[2]:
        return Refusal(INVALID_VALUE, f"{block[2]:,} threads along z; at most {_MAX_BLOCK[2]}")
    return None


def _threads(kernel: KernelNeeds, block: Triple) -> Refusal | None:
    threads = block[0] * block[1] * block[2]
    if threads <= kernel.max_threads:
        return None
    return Refusal(
        INVALID_VALUE, f"{threads:,} threads a block; __launch_bounds__ promised at most {kernel.max_threads:,}"
    )


def _shared(kernel: KernelNeeds, device: Device, shared: int, max_dynamic_shared: int) -> Refusal | None:
    if shared <= max_dynamic_shared:
        return None
    total = shared + kernel.static_shared
    if total > device.shared_per_block_optin:
        reason = f"{total:,} bytes of shared memory a block; {device.name} has {device.shared_per_block_optin:,}"
    else:
        reason = (
            f"{total:,} bytes of shared memory a block; more than {device.shared_per_block:,} must be asked for with "
            "cudaFuncSetAttribute"
        )
    return Refusal(INVALID_VALUE, reason)


def _registers(kernel: KernelNeeds, device: Device, block: Triple) -> Refusal | None:
    """The rule of NVIDIA's cuda_occupancy.h: whole warps, in portions, divided evenly over the partitions."""
    threads = block[0] * block[1] * block[2]
    warps = -(-threads // WARP)
    of_a_warp = -(-kernel.registers * WARP // _REGISTER_GRANULARITY) * _REGISTER_GRANULARITY
    needed = of_a_warp * (-(-warps // _PARTITIONS) * _PARTITIONS)
    if needed <= device.registers_per_multiprocessor:
        return None
    return Refusal(
        LAUNCH_OUT_OF_RESOURCES,
        f"{threads:,} threads of {kernel.registers} registers each need {needed:,}; "
        f"a block can have {device.registers_per_multiprocessor:,}",
    )
