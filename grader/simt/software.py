"""The software GPU: runs a Plan on the machine, on CPU tensors.

A `SoftwareGPU` is one device with one module loaded: module variables keep their values from one run to the next, as
they do between two calls on a GPU.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.cache import content_key, entry
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
from grader.sass import read_memory_instructions
from grader.simt.counters import add_up
from grader.simt.findings import Budgets, DeviceFinding, device_findings
from grader.simt.lower import lower
from grader.simt.machine import Machine, MachineError
from grader.simt.merging import by_ptx_line
from grader.simt.program import VERSION, write_program

if TYPE_CHECKING:
    import torch

    from grader.build import Build

WARP_BUDGET = 1 << 26  # instructions of one warp: under a second of looping, 60 times what a long puzzle needs
LAUNCH_BUDGET = 1 << 29  # of all warps, and something for each that is started: some 20 seconds on one core
PLAN_SECONDS = 30
_SMALL = 1 << 14  # threads: below, starting host threads costs more than they save


@dataclass
class RunResult:
    """What one run of a Plan showed.

    `unwritten` says, for each buffer that was poisoned before, how many elements nothing has written and which is the
    first: {"out": {"count": 3, "first": 254, "ranges": [[254, 256]]}}. `writer_line(buffer, element)` is the line that
    wrote an element last. `counters` are described in docs/verdict.md.
    """

    findings: list[DeviceFinding]
    counters: dict[str, Any]
    unwritten: dict[str, dict[str, Any]]
    writer_line: Callable[[str, int], int | None]
    printed: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class _Schedule:
    order: str
    seed: int
    workers: int
    budgets: Budgets


@dataclass
class SoftwareGPU:
    """Runs the plans of one build.

    Raises PtxError where the PTX cannot be read, MachineError where the machine cannot be started.
    """

    build: Build
    _machine: Machine = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._machine = Machine(lowered_program(self.build))

    def run(
        self,
        plan: Plan,
        memory: Mapping[str, torch.Tensor],
        *,
        roles: Mapping[str, str],
        order: str = "forward",
        seed: int = 0,
        workers: int = 0,
        budget: int | None = None,
        launch_budget: int | None = None,
    ) -> RunResult:
        """Run `plan` on `memory`, one contiguous CPU tensor per buffer, changed in place.

        `roles`: "in" is read only, "out" and "workspace" hold nothing yet, "inout" holds values. `order` is that of
        blocks and warps: forward, reverse or shuffled by `seed`. `workers` = 0 takes what the host has. `budget` bounds
        the instructions of one warp, `launch_budget` those of all warps of a launch and 16 for each warp that starts. A
        launch with a finding is the last one that runs.
        """
        started = time.perf_counter()
        machine = self._machine
        machine.remove_buffers()
        for buffer in plan.buffers:
            tensor, role = memory[buffer.name], roles[buffer.name]
            machine.add_buffer(
                buffer.name,
                buffer.address,
                buffer.bytes,
                tensor.data_ptr(),
                initialised=role in ("in", "inout"),
                writable=role != "in",
            )
        schedule = _Schedule(order, seed, workers, Budgets(budget or WARP_BUDGET, launch_budget or LAUNCH_BUDGET))
        reports, undone = self._operations(plan, schedule)
        sizes = {name: tensor.element_size() for name, tensor in memory.items()}
        addresses = {buffer.name: buffer.address for buffer in plan.buffers}
        return RunResult(
            findings=device_findings(reports, _launch_lines(plan), sizes, schedule.budgets) or undone,
            counters=add_up(reports),
            unwritten={
                name: _with_first(machine.unwritten(name, sizes[name])) for name, role in roles.items() if role == "out"
            },
            printed="".join(report["printed"] for report in reports),
            writer_line=lambda name, element: machine.last_writer(addresses[name] + element * sizes[name]),
            seconds=time.perf_counter() - started,
        )

    def _operations(self, plan: Plan, schedule: _Schedule) -> tuple[list[dict[str, Any]], list[DeviceFinding]]:
        """The reports of the launches, and what the machine could not do, which says nothing against the entry."""
        reports: list[dict[str, Any]] = []
        deadline = time.monotonic() + PLAN_SECONDS
        for operation in plan.operations:
            if time.monotonic() > deadline:
                launches = sum(isinstance(other, Launch) for other in plan.operations)
                return reports, [_unsupported(operation, variant="plan", launches=launches, seconds=PLAN_SECONDS)]
            try:
                self._operation(operation, schedule)
            except MachineError as error:
                return reports, [_unsupported(operation, variant="refused", reason=str(error))]
            reports += self._machine.report()
            if reports and reports[-1]["findings"]:
                break
        return reports, []

    def _operation(self, operation: Operation, schedule: _Schedule) -> None:
        if isinstance(operation, Launch):
            self._launch(operation, schedule)
        else:
            self._memory_operation(operation)

    def _launch(self, launch: Launch, schedule: _Schedule) -> None:
        threads = 1
        for extent in (*launch.grid, *launch.block):
            threads *= extent
        self._machine.launch(
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
        )

    def _memory_operation(self, operation: Operation) -> None:
        machine = self._machine
        match operation:
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


def lowered_program(build: Build) -> Path:
    """The build's PTX, lowered, with what its cubin says; kept in the cache beside the build."""
    key = content_key(str(VERSION), build.key, _lowering_identity())

    def make(directory: Path) -> None:
        text = build.ptx.read_text(encoding="utf-8", errors="replace")
        compiled = by_ptx_line(read_memory_instructions(build.cubin))
        write_program(lower(text, build.source_name, compiled), directory / "program.simt")

    return entry("programs", key, make) / "program.simt"


@cache
def _lowering_identity() -> str:
    """Changes whenever our own readers or lowering do."""
    here = Path(__file__).parent
    return content_key(*(path.read_bytes() for path in (*sorted(here.glob("*.py")), here.parent / "sass.py")))


def _unsupported(operation: Operation, **facts: object) -> DeviceFinding:
    kernel = operation.kernel if isinstance(operation, Launch) else ""
    return DeviceFinding("unsupported", operation.line, kernel, None, None, None, None, None, 1, facts)


def _launch_lines(plan: Plan) -> list[int | None]:
    return [operation.line for operation in plan.operations if isinstance(operation, Launch)]


def _with_first(unwritten: dict[str, Any]) -> dict[str, Any]:
    ranges = unwritten["ranges"]
    return unwritten | {"first": ranges[0][0] if ranges else 0}
