"""What the recorder is asked, as the text that grader/runtime/recorder_request.cpp reads."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from grader.record.device import Device
from grader.record.layout import PAGE, Layout, pages
from grader.record.limits import KernelNeeds

CPU_MILLISECONDS = 2_000
WALL_MILLISECONDS = 5_000
MEMORY_BYTES = 1 << 30


class CompiledKernel(KernelNeeds, Protocol):
    """A kernel with its parameters; `grader.build.Kernel` is one."""

    @property
    def name(self) -> str: ...
    @property
    def local(self) -> int: ...
    @property
    def parameter_sizes(self) -> tuple[int, ...]: ...
    @property
    def parameter_offsets(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class EntryArgument:
    """One argument of the entry, in the order of the C parameters.

    `kind` is "buffer" (`value` is its size in bytes, `role` as in a Plan), "host" (`value` bytes of host memory for the
    entry to fill), "stream", "i32", "i64", "f32" or "f64".
    """

    name: str
    kind: str
    value: int | float = 0
    role: str = ""


@dataclass(frozen=True)
class EntryCall:
    """An entry and what it is called with; two calls, and one more for each of the first `inject`
    launches, in which that one fails.
    """

    entry: str
    arguments: Sequence[EntryArgument]
    layout: Layout
    inject: int = 0

    @property
    def buffers(self) -> list[EntryArgument]:
        return [argument for argument in self.arguments if argument.kind == "buffer"]

    @property
    def host_bytes(self) -> int:
        """Of host memory that the entry fills."""
        return sum(int(argument.value) for argument in self.arguments if argument.kind == "host")

    @property
    def calls(self) -> int:
        return 2 + self.inject


def request(call: EntryCall, library: Path, kernels: Iterable[CompiledKernel], device: Device) -> bytes:
    """The whole request."""
    lines = ["record 1", f"library {library}", f"entry {call.entry}", device_line(device)]
    lines += [kernel_line(kernel) for kernel in kernels]
    lines += [f"reserve {address} {size}" for address, size in _reserved(call)]
    lines += [
        f"stream {call.layout.stream}",
        f"memory {MEMORY_BYTES}",
        f"time {CPU_MILLISECONDS} {WALL_MILLISECONDS}",
        *_call(call, second=False),
        *_call(call, second=True),
    ]
    for launch in range(1, call.inject + 1):
        lines += _call(call, second=False, refused_launch=launch)
    return "\n".join([*lines, "end", ""]).encode()


def device_line(device: Device) -> str:
    """The device as grader/runtime/facts.cpp reads it."""
    numbers = (
        device.major,
        device.minor,
        device.multiprocessors,
        device.threads_per_multiprocessor,
        device.blocks_per_multiprocessor,
        device.registers_per_multiprocessor,
        device.shared_per_block,
        device.shared_per_block_optin,
        device.shared_per_multiprocessor,
        device.shared_reserved,
        device.l2_bytes,
        device.bus_bits,
        device.memory_khz,
        device.clock_khz,
        device.memory_bytes,
    )
    return f"device {' '.join(map(str, numbers))} {device.name}"


def kernel_line(kernel: CompiledKernel) -> str:
    """A kernel as grader/runtime/facts.cpp reads it."""
    needs = (kernel.registers, kernel.static_shared, kernel.local, kernel.max_threads, len(kernel.parameter_sizes))
    places = (f"{offset} {size}" for offset, size in zip(kernel.parameter_offsets, kernel.parameter_sizes, strict=True))
    return " ".join(["kernel", kernel.name, *map(str, needs), *places])


def _reserved(call: EntryCall) -> list[tuple[int, int]]:
    sizes = [int(buffer.value) for buffer in call.buffers]
    layout = call.layout
    ranges = [*zip(layout.first, sizes, strict=True), *zip(layout.second, sizes, strict=True)]
    ranges += [(arena, layout.arena_bytes) for arena in layout.arenas if layout.arena_bytes]
    return pages([*ranges, (layout.stream, PAGE - layout.stream % PAGE)])


def _call(call: EntryCall, *, second: bool, refused_launch: int = 0) -> Iterator[str]:
    layout = call.layout
    addresses = layout.second if second else layout.first
    yield f"call {refused_launch} {layout.arenas[second]} {layout.arena_bytes}"
    for buffer, address in zip(call.buffers, addresses, strict=True):
        yield f"buffer {address} {int(buffer.value)}"
    remaining = iter(addresses)
    for argument in call.arguments:
        if argument.kind in ("f32", "f64"):
            yield f"argument float {_bits(argument)}"
        elif argument.kind == "buffer":
            yield f"argument integer {next(remaining)}"
        elif argument.kind == "host":
            yield f"argument host {int(argument.value)}"
        else:
            value = layout.stream if argument.kind == "stream" else int(argument.value)
            yield f"argument integer {value & (1 << 64) - 1}"


def _bits(argument: EntryArgument) -> int:
    """The bits of a floating-point register: a float is its low half."""
    form, word = ("<f", "<I") if argument.kind == "f32" else ("<d", "<Q")
    return int(struct.unpack(word, struct.pack(form, argument.value))[0])
