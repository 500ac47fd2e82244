"""One run of a Plan on a machine: its operations in order, until one of them shows something."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from grader.record.plan import (
    Allocation,
    Copy,
    Free,
    Launch,
    Memset,
    Operation,
    Plan,
    SymbolCopy,
    SymbolUpload,
    Upload,
)
from grader.simt.early_return import without_early_returns
from grader.simt.findings import Budgets, DeviceFinding
from grader.simt.machine import MachineError
from grader.simt.process import MachineDied
from grader.simt.remote import Limits, RemoteMachine

if TYPE_CHECKING:
    import torch

WHOLE_BLOCK = 0xFFFFFFFF  # Watch.thread
_SMALL = 1 << 14  # threads: below, starting host threads costs more than they save


@dataclass(frozen=True)
class Schedule:
    """In which order blocks and warps run, by how many workers (0: what the host has), and for how long."""

    order: str
    seed: int
    workers: int
    budgets: Budgets


@dataclass(frozen=True)
class Watch:
    """A thread whose accesses are noted: `launch` of the plan, counted from 0; `block` and `thread`, linear indices.

    WHOLE_BLOCK instead of a thread watches all of a block, warp by warp: see `RunResult`.
    """

    block: int
    thread: int
    launch: int = 0
    most: int = 4096


@dataclass
class Execution:
    """`source` is the learner's file. `reports` are those of the launches, `trace` is what the watched thread did,
    `origins` which instructions made a NaN (only with `mark_nans`), and `undone` what the machine could not do: that
    says nothing against the entry. `unwritten` is by result, see `RunResult`.
    """

    machine: RemoteMachine
    plan: Plan
    schedule: Schedule
    limits: Limits
    source: str
    watch: Watch | None = None
    mark_nans: bool = False
    origins: list[dict[str, Any]] = field(default_factory=list)
    trace: list[dict[str, Any]] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)
    undone: list[DeviceFinding] = field(default_factory=list)
    unwritten: dict[str, dict[str, Any]] = field(default_factory=dict)
    _under_way: Operation | None = None

    def run(self, memory: Mapping[str, torch.Tensor], roles: Mapping[str, str]) -> None:
        """Runs on copies of the tensors, and copies what came of it back, unless the machine could not go on."""
        try:
            self.machine.begin(self.plan.buffers, memory, roles, self.limits)
            if self.mark_nans:
                self.machine.mark_nans()
            self._operations()
            self.origins = self.machine.nan_origins() if self.mark_nans else []
            self.trace = self.machine.trace() if self.watch is not None else []
            results = {name: memory[name].element_size() for name, role in roles.items() if role == "out"}
            self.unwritten = {name: _with_first(left) for name, left in self.machine.unwritten(results).items()}
            self.machine.read_back(memory, roles)
        except MachineDied as died:
            self._could_not(died.variant, seconds=round(self.limits.seconds + self.limits.grace), **died.facts)
        except MachineError as error:
            self._could_not("refused", reason=str(error))

    def _operations(self) -> None:
        deadline = time.monotonic() + self.limits.seconds
        for operation in self.plan.operations:
            self._under_way = operation
            if time.monotonic() > deadline:
                launches = sum(isinstance(other, Launch) for other in self.plan.operations)
                self._could_not("plan", launches=launches, seconds=round(self.limits.seconds))
                return
            self._operation(operation)
            if self._is_over():
                return

    def _is_over(self) -> bool:
        """What runs after a finding proves nothing."""
        return bool(self.reports and self.reports[-1]["findings"])

    def _could_not(self, variant: str, **facts: object) -> None:
        under_way = self._under_way
        kernel = under_way.kernel if isinstance(under_way, Launch) else ""
        line = under_way.line if under_way is not None else None
        self.undone = [
            DeviceFinding("unsupported", line, kernel, None, None, None, None, None, 1, {"variant": variant, **facts})
        ]

    def _operation(self, operation: Operation) -> None:
        machine = self.machine
        match operation:
            case Launch():
                self._launch(operation)
            case Memset():
                machine.set(operation.address, operation.value, 1, operation.bytes)
            case Copy():
                machine.copy(operation.destination, operation.source, operation.bytes)
            case Upload():
                machine.write(operation.destination, operation.payload)
            case SymbolCopy():
                to = machine.variable(operation.symbol) + operation.offset
                machine.copy(to, operation.source, operation.bytes)
            case SymbolUpload():
                machine.write(machine.variable(operation.symbol) + operation.offset, operation.payload)
            case Allocation():
                machine.allocate(operation.address, operation.bytes)
            case Free():
                machine.free(operation.address)

    def _launch(self, launch: Launch) -> None:
        watch = self.watch if self.watch is not None and self.watch.launch == len(self.reports) else None
        self.reports += self._launched(launch, watched=(watch.block, watch.thread, watch.most) if watch else None)

    def _launched(self, launch: Launch, **options: Any) -> list[dict[str, Any]]:
        """The report of one launch; `options` are further ones of `Machine.launch`."""
        threads = prod((*launch.grid, *launch.block))
        schedule = self.schedule
        reports = self.machine.launch(
            launch.kernel,
            launch.grid,
            launch.block,
            launch.shared,
            launch.parameters,
            order=schedule.order,
            seed=schedule.seed,
            workers=schedule.workers or (1 if threads < _SMALL else len(os.sched_getaffinity(0))),
            warp_budget=schedule.budgets.warp,
            launch_budget=schedule.budgets.launch,
            cooperative=launch.cooperative,
            **options,
        )
        for report in reports:
            report["findings"] = without_early_returns(report["findings"], self.source)
        return reports


def _with_first(unwritten: dict[str, Any]) -> dict[str, Any]:
    ranges = unwritten["ranges"]
    return unwritten | {"first": ranges[0][0] if ranges else 0}
