"""The software GPU: runs a Plan on the machine, on CPU tensors.

A `SoftwareGPU` is one device with one module loaded: module variables keep their values from one run to the next, as
they do between two calls on a GPU. The machine works in a process of its own (process.py): a kernel that brings it
down, hangs it or fills its memory is told as `unsupported`, with the launch that was under way, and the next run begins
on a fresh device.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from grader.cache import content_key, entry
from grader.record.plan import Allocation, Launch, Plan
from grader.sass import read_memory_instructions
from grader.simt.counters import access_of, add_up, moved, reads
from grader.simt.execution import Execution, Schedule, Watch
from grader.simt.findings import Budgets, DeviceFinding, device_findings
from grader.simt.lower import lower
from grader.simt.merging import by_ptx_line
from grader.simt.process import MachineDied
from grader.simt.program import VERSION, write_program
from grader.simt.remote import Limits, RemoteMachine, SparseBuffer
from grader.simt.sample import SampledExecution
from grader.simt.shared_variables import with_variables

if TYPE_CHECKING:
    import torch

    from grader.build import Build

WARP_BUDGET = 1 << 26  # instructions of one warp: under a second of looping, 60 times what a long puzzle needs
LAUNCH_BUDGET = 1 << 29  # of all warps, and something for each that is started: some 20 seconds on one core


# A sample is to take about a second; what takes longer is no finding, and is not judged. A block that makes 128 x 128
# results of a product with K = 4096 takes 2.8 million instructions, and half a second.
_SAMPLE_BUDGETS = Budgets(warp=1 << 19, launch=1 << 22)
_SAMPLE_LIMITS = Limits(seconds=10.0, grace=5.0, head_room=2 << 30)

_ALLOCATED = "allocated memory"  # what the machine calls the memory that an entry allocates

Writer: TypeAlias = tuple[int | None, int | None, int | None]
NOBODY: Writer = (None, None, None)


@dataclass
class RunResult:
    """What one run of a Plan showed.

    `unwritten` says, for each buffer that was poisoned before, how many elements nothing has written and which is the
    first: {"out": {"count": 3, "first": 254, "ranges": [[254, 256]]}}. `writer(buffer, element)` is who wrote an
    element last: line, block and thread, both linear, each None where nobody knows. `count` makes the counters, which
    docs/verdict.md describes. `trace` holds the accesses of the watched thread in order, each with line, op, function,
    space, region, offset in bytes, write, and value as hexadecimal bytes; that of a whole block holds what its warps
    asked for, each with line, op, function, instruction (its number), warp, kind (load, store, atomic, shuffle,
    barrier), space, region, bytes a lane, lanes (a mask) and, lane by lane, where in the region: `at`; `cost` and
    `compiled_cost` are the wavefronts or sectors that count for it, and the fewest possible. `origins` are the
    instructions that made a NaN of values that were none, where that was asked for: line, op, block, thread and
    operands of the first time; the n-th of them is n in the payload of the NaNs that came of it. `moved` are the bytes
    of `counters.moved`, of memory that the entry allocates no more than all of it. `tells_writers` is False of a run on
    a real GPU.
    """

    findings: list[DeviceFinding]
    count: Callable[[], dict[str, Any]]
    unwritten: dict[str, dict[str, Any]]
    writer: Callable[[str, int], Writer]
    tells_writers: bool = True
    printed: str = ""
    seconds: float = 0.0
    trace: list[dict[str, Any]] = field(default_factory=list)
    origins: list[dict[str, Any]] = field(default_factory=list)
    moved: int = 0

    @cached_property
    def counters(self) -> dict[str, Any]:
        """Added up when somebody asks: of the runs of a case, only the first is asked."""
        return self.count()

    def writer_line(self, buffer: str, element: int) -> int | None:
        """The line that wrote an element last."""
        return self.writer(buffer, element)[0]


@dataclass
class SampleResult:
    """What a sample showed; `execution` knows which blocks ran, what they wrote, and what follows for the others.

    `values(buffer, elements)` are the bytes of these elements, one behind the other; the rest as in `RunResult`.
    """

    findings: list[DeviceFinding]
    counters: dict[str, Any]
    execution: SampledExecution
    values: Callable[[str, Sequence[int]], bytes]
    writer: Callable[[str, int], Writer]
    printed: str = ""
    seconds: float = 0.0


@dataclass
class SoftwareGPU:
    """Runs the plans of one build, or of `program`, made of the build's PTX in another way; two of them work in two
    processes.

    Raises PtxError where the PTX cannot be read, MachineError where the machine cannot load it, ToolMissing where there
    is no machine.
    """

    build: Build
    limits: Limits = field(default_factory=Limits)
    program: Path | None = None
    _machine: RemoteMachine = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._machine = self._fresh_machine()

    def _fresh_machine(self) -> RemoteMachine:
        return RemoteMachine(self.program or lowered_program(self.build))

    @property
    def pid(self) -> int:
        """The process that the machine works in."""
        return self._machine.pid

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
        trace: Watch | None = None,
        mark_nans: bool = False,
    ) -> RunResult:
        """Run `plan` on `memory`, one contiguous CPU tensor per buffer, changed in place.

        `roles`: "in" is read only, "out" and "workspace" hold nothing yet, "inout" holds values. `order` is that of
        blocks and warps: forward, reverse or shuffled by `seed`. `workers` = 0 takes what the host has. `budget` bounds
        the instructions of one warp, `launch_budget` those of all warps of a launch and 16 for each warp that starts. A
        launch with a finding is the last one that runs. `trace` is a thread or block to watch; `mark_nans` makes every
        NaN tell which instruction made it, on this device from now on. Where the machine cannot go on, tensors stay as
        they are.
        """
        started = time.perf_counter()
        if not self._machine.alive:
            self._machine = self._fresh_machine()
        schedule = Schedule(order, seed, workers, Budgets(budget or WARP_BUDGET, launch_budget or LAUNCH_BUDGET))
        execution = Execution(self._machine, plan, schedule, self.limits, _text(self.build.source), trace, mark_nans)
        execution.run(memory, roles)
        sizes = {name: tensor.element_size() for name, tensor in memory.items()}
        lines = [operation.line for operation in plan.operations if isinstance(operation, Launch)]
        found = device_findings(execution.reports, lines, sizes, schedule.budgets)
        results = sum(memory[name].numel() for name, role in roles.items() if role in ("out", "inout"))
        results -= sum(missing["count"] for missing in execution.unwritten.values())
        reports = execution.reports
        allocated = {_ALLOCATED: sum(one.bytes for one in plan.operations if isinstance(one, Allocation))}
        return RunResult(
            findings=with_variables(found, lowered_program(self.build)) or execution.undone,
            count=lambda: add_up(reports) | {"reads": reads(reports, sizes, results)},
            unwritten=execution.unwritten,
            printed="".join(report["printed"] for report in execution.reports),
            writer=_writers(self._machine, plan, sizes, execution.reports, lines),
            seconds=time.perf_counter() - started,
            trace=execution.trace,
            origins=execution.origins,
            moved=moved(execution.reports, {name: tensor.nbytes for name, tensor in memory.items()} | allocated),
        )

    def run_sample(
        self,
        plan: Plan,
        sparse: Mapping[str, SparseBuffer],
        *,
        roles: Mapping[str, str],
        sizes: Mapping[str, int],
        elements: int,
        seed: int,
    ) -> SampleResult:
        """Run some blocks of each launch of `plan` on sparse buffers, chosen by `seed`.

        `sizes` are bytes of an element by buffer; `elements`, those of the largest result, say which are of interest.
        """
        started = time.perf_counter()
        if not self._machine.alive:
            self._machine = RemoteMachine(lowered_program(self.build))
        schedule = Schedule("forward", seed, 1, _SAMPLE_BUDGETS)
        text = _text(self.build.source)
        execution = SampledExecution(self._machine, plan, schedule, _SAMPLE_LIMITS, text, elements=elements)
        execution.run_sample(sparse, roles, sizes)
        lines = [sample.launch.line for sample in execution.launches for _ in sample.reports]
        addresses = {buffer.name: buffer.address for buffer in plan.buffers}
        found = [] if execution.cut else device_findings(execution.reports, lines, sizes, schedule.budgets)
        return SampleResult(
            findings=with_variables(found, lowered_program(self.build)),
            counters=add_up(execution.reports),
            execution=execution,
            values=lambda name, chosen: self._machine.gather(
                [addresses[name] + element * sizes[name] for element in chosen], sizes[name]
            ),
            writer=_writers(self._machine, plan, sizes, execution.reports, lines),
            printed="".join(report["printed"] for report in execution.reports),
            seconds=time.perf_counter() - started,
        )


def _text(source: Path) -> str:
    """What stands in the learner's file; nothing where it is gone by now."""
    try:
        return source.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _writers(
    machine: RemoteMachine,
    plan: Plan,
    sizes: Mapping[str, int],
    reports: Sequence[Mapping[str, Any]],
    launch_lines: Sequence[int | None],
) -> Callable[[str, int], Writer]:
    """`RunResult.writer`, answered until the machine's next run.

    What was written by a kernel that lies in no file of the learner's, as one of a part that is called, is told at the
    line of the last launch that stored into that buffer.
    """
    addresses = {buffer.name: buffer.address for buffer in plan.buffers}

    def launched(name: str) -> int | None:
        lines = zip(reports, launch_lines, strict=False)
        return next((line for report, line in reversed(list(lines)) if _stores_into(report, name)), None)

    def writer(name: str, element: int) -> Writer:
        try:
            found = machine.last_writer(addresses[name] + element * sizes[name])
        except MachineDied:
            found = None
        return (found["line"] or launched(name), found.get("block"), found.get("thread")) if found else NOBODY

    return writer


def _stores_into(report: Mapping[str, Any], buffer: str) -> bool:
    accesses = report["counters"]["accesses"]
    return any(access["buffer"] == buffer and access_of(access)[1] != "load" for access in accesses)


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
