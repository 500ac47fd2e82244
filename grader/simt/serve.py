"""The process of the software GPU: it owns a machine, and does what the grader asks of it (grader/wire.py).

Kernels of strangers run here, in C++ that checks every access; should those checks ever fail, this process has nothing
to lose. It shares the buffers of the case with the grader and nothing else, and before the first program reaches it,
it locks itself in (grader/cage/confine.cpp). It holds one device at a time.

    {"call": "create", "arguments": []} + a lowered program     answered with {"value": null}
    {"call": "launch", "arguments": [...]} + parameters         {"value": [report, ...]}, or {"error": "one sentence"}
    {"call": "gather", "arguments": [[address, ...], size]}     {"value": null} + what lies there

It is started early and often, so it imports as little as it can.
"""

from __future__ import annotations

import ctypes
import mmap
import os

from grader.simt.machine import Machine, MachineError, loaded_library
from grader.wire import WireBroken, read_into, receive, send

TYPE_CHECKING = False  # as in typing, whose import takes longer than all others together
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, BinaryIO

_MOST_RANGES = 1 << 18
MOST_SHARED = 1 << 36  # bytes of address space for the buffers of a case; nothing lies behind what the case needs


class Requests:
    """What can be asked of the process: one method a call."""

    def __init__(self, library: str, shared: int) -> None:
        self._library = library
        self._shared = shared
        self._device: Machine | None = None

    def create(self, program: bytes) -> None:
        """The device, with this program loaded; the one before is gone."""
        self._device = None
        self._device = Machine(program, library=self._library)

    def map_buffers(self, buffers: Sequence[tuple[str, int, int, int, bool, bool]]) -> None:
        """Buffers in the place of those before: name, address, bytes, offset where shared, initialised, writable."""
        self._machine.remove_buffers()
        for name, address, size, offset, initialised, writable in buffers:
            if offset + size > MOST_SHARED:
                raise MachineError("the buffers of this case are too large for the software GPU")
            memory = self._shared + offset
            self._machine.add_buffer(name, address, size, memory, initialised=initialised, writable=writable)

    def map_sparse(self, buffers: Sequence[tuple[str, int, int, str, int | None, bool]]) -> None:
        """The same for sparse buffers: name, address, bytes, type of the elements, seed of their values, writable."""
        self._machine.remove_buffers()
        for name, address, size, kind, seed, writable in buffers:
            self._machine.add_sparse(name, address, size, kind, seed, writable=writable)

    def launch(
        self,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        shared: int,
        options: Mapping[str, Any],
        parameters: bytes,
    ) -> list[dict[str, Any]]:
        """Runs a kernel to its end; its report."""
        self._machine.launch(kernel, grid, block, shared, parameters, **options)
        return self._machine.report()

    def set(self, address: int, value: int, element_bytes: int, count: int) -> None:
        self._machine.set(address, value, element_bytes, count)

    def copy(self, to: int, source: int, size: int) -> None:
        self._machine.copy(to, source, size)

    def write(self, to: int, payload: bytes) -> None:
        self._machine.write(to, payload)

    def variable(self, name: str) -> int:
        return self._machine.variable(name)

    def allocate(self, address: int, size: int) -> None:
        self._machine.allocate(address, size)

    def free(self, address: int) -> None:
        self._machine.free(address)

    def unwritten(self, element_bytes: Mapping[str, int]) -> dict[str, Any]:
        """What nothing has written, by buffer."""
        return {name: self._machine.unwritten(name, size) for name, size in element_bytes.items()}

    def written(self, buffer: str, element_bytes: int, most: int) -> dict[str, Any]:
        """How many elements kernels have written, null for too many to tell; and ranges of them, evenly chosen."""
        ranges = self._machine.written(buffer, element_bytes, _MOST_RANGES)
        count = sum(last - first + 1 for first, last in ranges) if len(ranges) < _MOST_RANGES else None
        if len(ranges) > most:
            ranges = [ranges[number * (len(ranges) - 1) // (most - 1)] for number in range(most)]
        return {"count": count, "ranges": ranges}

    def gather(self, addresses: Sequence[int], size: int) -> bytes:
        """What lies at these addresses, `size` bytes each."""
        return b"".join(self._machine.read(address, size) for address in addresses)

    def trace(self) -> list[dict[str, Any]]:
        return self._machine.trace()

    def mark_nans(self) -> None:
        self._machine.mark_nans()

    def nan_origins(self) -> list[dict[str, Any]]:
        return self._machine.nan_origins()

    def last_writer(self, address: int) -> dict[str, Any] | None:
        return self._machine.last_writer(address)

    @property
    def _machine(self) -> Machine:
        if self._device is None:
            raise MachineError("no program is loaded")
        return self._device


def serve(requests: Requests, link: BinaryIO) -> None:
    """Answers until the other side is gone."""
    while True:
        try:
            message, raw_bytes = receive(link)
            raw = bytearray(raw_bytes)
            read_into(link, memoryview(raw))
        except WireBroken:
            return
        answer = _answer(requests, message, bytes(raw))
        if isinstance(answer, bytes):
            send(link, {"value": None}, answer)
        else:
            send(link, answer)


def _answer(requests: Requests, message: dict[str, Any], raw: bytes) -> dict[str, Any] | bytes:
    call = str(message["call"])
    if call.startswith("_"):
        return {"error": f"there is no call {call}"}
    arguments = [*message["arguments"], *([raw] if message["raw"] else [])]
    try:
        value = getattr(requests, call)(*arguments)
    except MachineError as error:
        return {"error": str(error)}
    return value if isinstance(value, bytes) else {"value": value}


def main(link: str, memory: str, machine: str, confinement: str) -> None:
    """Serves on descriptor `link`, a socket; buffers lie in the file of descriptor `memory`.

    `machine` and `confinement` are the paths of the two libraries.
    """
    with os.fdopen(int(link), "r+b", buffering=0) as stream:
        shared = _mapped(int(memory))
        loaded_library(machine)
        refused = ctypes.CDLL(confinement).grader_confine
        refused.restype = ctypes.c_char_p
        words = refused()
        if words is not None:
            send(stream, {"unavailable": words.decode()})
            return
        serve(Requests(machine, shared), stream)


def _mapped(memory: int) -> int:
    """All that the file may ever hold, as addresses; it grows later. Nobody here keeps its descriptor."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(3 * (ctypes.c_int,)), ctypes.c_long)
    address = int(library.mmap(None, MOST_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, memory, 0))
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "no address space for the buffers of a case")
    os.close(memory)
    return address
