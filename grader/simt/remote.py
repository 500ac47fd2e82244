"""One device of the software GPU, in a process of its own: the `Machine` of machine.py, asked from a distance."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.record.plan import PlanBuffer
from grader.simt.machine import MachineError
from grader.simt.process import MachineDied, MachineProcess, acquire, release

if TYPE_CHECKING:
    import torch

# For each byte of a buffer at most 13 of shadow, where single bytes were used; memory that was freed lies around.
_SHADOW = 16
_CPU_SECONDS = 3600  # a wall behind the deadlines


@dataclass(frozen=True)
class Limits:
    """What a run may take before its process is ended.

    `seconds` are for all operations of a plan together, `grace` is what the last of them gets on top. `head_room` is
    memory in bytes beyond what the buffers need: stamps (1 GiB at most), what the module and its entry own (1 GiB),
    blocks that wait for each other.
    """

    seconds: float = 30.0
    grace: float = 5.0
    head_room: int = 4 << 30


@dataclass(frozen=True)
class SparseBuffer:
    """What a buffer holds at first: elements of a type, f32, f16, bf16 or i32, with the values of sampled_values.py for
    `seed`; None: nothing.
    """

    kind: str
    seed: int | None


@dataclass(frozen=True)
class Written:
    """How many elements of a buffer kernels have written, None for too many to tell; some ranges of them, the first and
    the last included, as first and last element.
    """

    count: int | None
    ranges: Sequence[tuple[int, int]]


def _loaded(program: Path) -> MachineProcess:
    """A process that holds the program. One that was kept may have come to its end meanwhile: then a fresh one."""
    process = acquire(str(program))
    try:
        process.ask("create", raw=program.read_bytes())
    except MachineDied:
        process = acquire(str(program))
        process.ask("create", raw=program.read_bytes())
    except MachineError:
        release(process)
        raise
    return process


class RemoteMachine:
    """A program, its module's variables, and the buffers that are mapped at the moment.

    Raises MachineError for what the machine refuses, and MachineDied, one of them, when the process is gone: then only
    another RemoteMachine helps.
    """

    def __init__(self, program: Path) -> None:
        self._process = _loaded(program)
        self._release = weakref.finalize(self, release, self._process)
        self._offsets: Mapping[str, int] = {}
        self._deadline: float | None = None

    @property
    def alive(self) -> bool:
        return self._process.alive

    @property
    def pid(self) -> int:
        return self._process.pid

    def begin(
        self,
        buffers: Sequence[PlanBuffer],
        memory: Mapping[str, torch.Tensor],
        roles: Mapping[str, str],
        limits: Limits,
    ) -> None:
        """Maps copies of the tensors in the place of what was mapped before; time runs from now on."""
        self._offsets = self._process.memory.fill({buffer.name: memory[buffer.name] for buffer in buffers})
        used = sum(buffer.bytes for buffer in buffers)
        self._process.allow(limits.head_room + _SHADOW * used, _CPU_SECONDS)
        mapped = [
            (
                buffer.name,
                buffer.address,
                buffer.bytes,
                self._offsets[buffer.name],
                roles[buffer.name] in ("in", "inout"),
                roles[buffer.name] != "in",
            )
            for buffer in buffers
        ]
        self._process.ask("map_buffers", mapped)
        self._deadline = time.monotonic() + limits.seconds + limits.grace

    def begin_sparse(
        self,
        buffers: Sequence[PlanBuffer],
        sparse: Mapping[str, SparseBuffer],
        roles: Mapping[str, str],
        limits: Limits,
    ) -> None:
        """Maps buffers that are there where they are touched; time runs from now on."""
        reserved = sum(buffer.bytes for buffer in buffers)
        self._offsets = {}
        self._process.allow(limits.head_room, _CPU_SECONDS, reserved)
        mapped = [
            (
                buffer.name,
                buffer.address,
                buffer.bytes,
                sparse[buffer.name].kind,
                sparse[buffer.name].seed,
                roles[buffer.name] != "in",
            )
            for buffer in buffers
        ]
        self._process.ask("map_sparse", mapped)
        self._deadline = time.monotonic() + limits.seconds + limits.grace

    def written(self, buffer: str, element_bytes: int, most: int) -> Written:
        """The elements of a sparse buffer that kernels have written."""
        written = self._process.ask("written", buffer, element_bytes, most)
        return Written(written["count"], [(first, last) for first, last in written["ranges"]])

    def gather(self, addresses: Sequence[int], size: int) -> bytes:
        """What lies at these addresses now, `size` bytes each, one behind the other."""
        return self._process.ask_for_bytes(len(addresses) * size, "gather", list(addresses), size)

    def read_back(self, memory: Mapping[str, torch.Tensor], roles: Mapping[str, str]) -> None:
        """Copies what buffers hold now into the tensors, inputs excepted."""
        for name, offset in self._offsets.items():
            if roles[name] != "in":
                self._process.memory.read(memory[name], offset)

    def launch(
        self, kernel: str, grid: Sequence[int], block: Sequence[int], shared: int, parameters: bytes, **options: Any
    ) -> list[dict[str, Any]]:
        """Runs a kernel to its end, with the options of `Machine.launch`; its report."""
        report: list[dict[str, Any]] = self._do("launch", kernel, grid, block, shared, options, raw=parameters)
        return report

    def set(self, address: int, value: int, element_bytes: int, count: int) -> None:
        self._do("set", address, value, element_bytes, count)

    def copy(self, to: int, source: int, size: int) -> None:
        self._do("copy", to, source, size)

    def write(self, to: int, payload: bytes) -> None:
        self._do("write", to, raw=payload)

    def variable(self, name: str) -> int:
        return int(self._do("variable", name))

    def allocate(self, address: int, size: int) -> None:
        self._do("allocate", address, size)

    def free(self, address: int) -> None:
        self._do("free", address)

    def unwritten(self, element_bytes: Mapping[str, int]) -> dict[str, Any]:
        """Of each buffer, how many elements nothing has written, and the first ranges of them."""
        unwritten: dict[str, Any] = self._process.ask("unwritten", element_bytes)
        return unwritten

    def trace(self) -> list[dict[str, Any]]:
        """The accesses of the thread that the last launch with `watched` had an eye on, in order."""
        trace: list[dict[str, Any]] = self._process.ask("trace")
        return trace

    def mark_nans(self) -> None:
        """As `Machine.mark_nans`."""
        self._process.ask("mark_nans")

    def nan_origins(self) -> list[dict[str, Any]]:
        """As `Machine.nan_origins`."""
        origins: list[dict[str, Any]] = self._process.ask("nan_origins")
        return origins

    def last_writer(self, address: int) -> dict[str, Any] | None:
        """As `Machine.last_writer`."""
        writer: dict[str, Any] | None = self._process.ask("last_writer", address)
        return writer

    def _do(self, call: str, *arguments: object, raw: bytes | None = None) -> Any:
        return self._process.ask(call, *arguments, raw=raw, deadline=self._deadline)
