"""What tests that run small kernels share: an entry is recorded once and run under many schedules.

Every entry takes its pointers in a fixed order, then `int n`, then the stream. `n` is the number of elements of the
first buffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from grader.build import Build
from grader.record import EntryArgument, EntryCall, Plan, record_entry, software_layout
from grader.simt.software import RunResult, SoftwareGPU


@dataclass(frozen=True)
class Schedule:
    """The order of blocks and warps, and how many host threads run them."""

    order: str
    seed: int = 0
    workers: int = 1

    def __str__(self) -> str:
        return f"{self.order} {self.seed}, {self.workers} workers"


_ORDERS = (("forward", 0), ("reverse", 0), ("shuffled", 1), ("shuffled", 2), ("shuffled", 3))
SCHEDULES = [Schedule(order, seed, workers) for order, seed in _ORDERS for workers in (1, 2)]


@dataclass(frozen=True)
class BufferSpec:
    """A pointer parameter of an entry; `role` as in a puzzle: in, out or workspace."""

    name: str
    role: str
    elements: int
    dtype: torch.dtype

    @property
    def bytes(self) -> int:
        return self.elements * self.dtype.itemsize

    def poisoned(self) -> torch.Tensor:
        """Memory that holds nothing yet: bytes that no kernel makes by accident."""
        return torch.full((self.bytes,), 0x7A, dtype=torch.uint8).view(self.dtype)


def plan_of(built: Build, entry: str, buffers: Sequence[BufferSpec]) -> Plan:
    """What `entry` asks for; its host code must be blameless."""
    arguments = [EntryArgument(buffer.name, "buffer", buffer.bytes, buffer.role) for buffer in buffers]
    arguments += [EntryArgument("n", "i32", buffers[0].elements), EntryArgument("stream", "stream")]
    recording = record_entry(built, EntryCall(entry, arguments, software_layout([0] * len(buffers))))
    assert recording.findings == []
    return recording.plan


def run_plan(
    gpu: SoftwareGPU,
    plan: Plan,
    memory: Mapping[str, torch.Tensor],
    schedule: Schedule,
    *,
    budget: int = 1 << 22,
) -> RunResult:
    """Run `plan` on `memory`, changed in place; a warp may issue `budget` instructions."""
    return gpu.run(
        plan,
        memory,
        roles={buffer.name: buffer.role for buffer in plan.buffers},
        order=schedule.order,
        seed=schedule.seed,
        workers=schedule.workers,
        budget=budget,
    )
