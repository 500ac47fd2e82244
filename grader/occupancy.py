"""How many blocks of a kernel a multiprocessor holds at once, by NVIDIA's cuda_occupancy.h.

    occupancy(kernel, 256, 0, DEVICES[90]).share      # 0.75: three quarters of the warps that could be there

A kernel's registers and static shared memory are those of its cubin (grader/cubin.py), a device's limits those of
grader/record/device.py; no GPU is asked.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

from grader.build import Kernel, build_library
from grader.record.device import Device

WARP = 32  # threads


_RESOURCES = ("warps", "registers", "shared", "blocks", "barriers")


def _structure(name: str, *fields: str) -> Any:
    """A structure of ints, as grader/cuda/occupancy.cpp has it."""
    return type(name, (ctypes.Structure,), {"_fields_": [(field, ctypes.c_int) for field in fields]})


_Multiprocessor = _structure(
    "Multiprocessor",
    *("major", "minor", "count", "threads", "registers"),
    *("shared", "shared_of_block", "shared_of_block_optin", "shared_reserved"),
)
_Block = _structure("Block", "threads", "most_threads", "registers", "static_shared", "dynamic_shared")
_Limits = _structure("Limits", *_RESOURCES)


@dataclass(frozen=True)
class Occupancy:
    """`blocks` of `threads` threads are on a multiprocessor at once, 0 where such a launch cannot run; `most_warps` is
    what it has room for. `limited_by` names what allows no block more: "warps", "registers", "shared", "blocks",
    "barriers".
    """

    blocks: int
    threads: int
    most_warps: int
    limited_by: tuple[str, ...]

    @property
    def warps(self) -> int:
        """Warps on a multiprocessor at once."""
        return self.blocks * -(-self.threads // WARP)

    @property
    def share(self) -> float:
        """Warps that are there over those that could be, 0 to 1."""
        return self.warps / self.most_warps


def occupancy(kernel: Kernel, threads: int, dynamic_shared: int, device: Device) -> Occupancy:
    """The occupancy of launches of `kernel` with `threads` threads a block, `dynamic_shared` in bytes; whether
    `__launch_bounds__` allows them is another matter (grader/record/limits.py).

    Raises ValueError for what is no launch or a device that the toolkit's header does not know, and what
    `build_library` raises where the calculator cannot be built.
    """
    block = _Block(threads, kernel.max_threads, kernel.registers, kernel.static_shared, dynamic_shared)
    limits = _Limits()
    error = _calculator()(ctypes.byref(_multiprocessor(device)), ctypes.byref(block), ctypes.byref(limits))
    if error:
        raise ValueError(f"no occupancy of {threads} threads a block on {device.name}: cuda_occupancy.h says {error}")
    allowed: dict[str, int] = {name: getattr(limits, name) for name in _RESOURCES}
    least = min(allowed.values())
    named = tuple(name for name, blocks in allowed.items() if blocks == least)
    return Occupancy(least, threads, device.threads_per_multiprocessor // WARP, named)


def _multiprocessor(device: Device) -> Any:
    return _Multiprocessor(
        major=device.major,
        minor=device.minor,
        count=device.multiprocessors,
        threads=device.threads_per_multiprocessor,
        registers=device.registers_per_multiprocessor,
        shared=device.shared_per_multiprocessor,
        shared_of_block=device.shared_per_block,
        shared_of_block_optin=device.shared_per_block_optin,
        shared_reserved=device.shared_reserved,
    )


@functools.cache
def _calculator() -> Any:
    return ctypes.CDLL(str(build_library("occupancy"))).grader_occupancy
