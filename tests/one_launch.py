"""One launch of a kernel on the software GPU, without an entry around it."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import torch

from grader.build import Build
from grader.record.plan import Launch, Plan, PlanBuffer
from grader.simt.software import RunResult, SoftwareGPU

_FIRST_ADDRESS, _ADDRESSES_A_BUFFER = 1 << 40, 1 << 37
Triple = tuple[int, int, int]


def kernel_name(built: Build, plain: str) -> str:
    """The mangled name of the kernel that is called `plain` and takes a pointer first."""
    (found,) = (name for name in built.kernels if name.startswith(f"_Z{len(plain)}{plain}P"))
    return found


def launched(
    gpu: SoftwareGPU,
    kernel: str,
    shape: tuple[Triple, Triple],
    buffers: Mapping[str, tuple[str, torch.Tensor]],
    scalar: int | None = None,
) -> RunResult:
    """Run `kernel` once with `shape`, grid and block, on the buffers, by name role and memory; no fault is expected."""
    plan_buffers, parameters = [], b""
    for number, (name, (role, memory)) in enumerate(buffers.items()):
        address = _FIRST_ADDRESS + number * _ADDRESSES_A_BUFFER
        plan_buffers.append(PlanBuffer(name, address, memory.numel() * memory.element_size(), role))
        parameters += struct.pack("<Q", address)
    parameters += b"" if scalar is None else struct.pack("<i", scalar)
    launch = Launch(kernel, *shape, 0, False, parameters, 48 << 10, 1)
    plan = Plan(gpu.build.target, "none", "0" * 64, tuple(plan_buffers), (), 0, (launch,))
    memories = {name: memory for name, (_, memory) in buffers.items()}
    result = gpu.run(plan, memories, roles={name: role for name, (role, _) in buffers.items()}, workers=1)
    assert result.findings == []
    return result
