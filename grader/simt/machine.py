"""The machine's C interface (machine/api.cpp) through ctypes; one `Machine` is one device with its module loaded.

It runs in this process: for hostile programs there is `grader/simt/remote.py`, the same in a process of its own. This
module is all of ours that such a process loads, so it imports little.
"""

from __future__ import annotations

import ctypes
import json
from functools import cache

TYPE_CHECKING = False  # as in typing, whose import takes longer than all others together
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

ORDERS = {"forward": 0, "reverse": 1, "shuffled": 2}
ELEMENT_TYPES = {"f32": 0, "f16": 1, "bf16": 2, "i32": 3}  # of sparse buffers
_NOTHING, _UNIFORM = 0, 1  # what a sparse buffer holds at first


class MachineError(Exception):
    """The machine refused what it was asked; the message is its sentence."""


class _Options(ctypes.Structure):
    _fields_ = (
        ("bytes", ctypes.c_uint32),
        ("order", ctypes.c_uint32),
        ("workers", ctypes.c_uint32),
        ("cooperative", ctypes.c_uint32),
        ("seed", ctypes.c_uint64),
        ("warp_budget", ctypes.c_uint64),
        ("launch_budget", ctypes.c_uint64),
        ("blocks", ctypes.POINTER(ctypes.c_uint64)),
        ("block_count", ctypes.c_uint64),
        ("trace_block", ctypes.c_uint64),
        ("trace_thread", ctypes.c_uint32),
        ("trace_most", ctypes.c_uint32),
    )


_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "simt_operation_names": (ctypes.c_char_p, ()),
    "simt_error": (ctypes.c_char_p, ()),
    "simt_device_create": (ctypes.c_void_p, (ctypes.c_char_p,)),
    "simt_device_create_from": (ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_uint64)),
    "simt_device_destroy": (None, (ctypes.c_void_p,)),
    "simt_add_buffer": (
        ctypes.c_int,
        (
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_uint64,
            ctypes.c_uint64,
            ctypes.c_void_p,
            ctypes.c_int,
            ctypes.c_int,
        ),
    ),
    "simt_add_sparse": (
        ctypes.c_int,
        (
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_uint64,
            ctypes.c_uint64,
            ctypes.c_uint32,
            ctypes.c_uint32,
            ctypes.c_uint64,
            ctypes.c_int,
        ),
    ),
    "simt_allocate": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)),
    "simt_free": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_uint64)),
    "simt_remove_buffers": (ctypes.c_int, (ctypes.c_void_p,)),
    "simt_launch": (
        ctypes.c_int,
        (
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.POINTER(ctypes.c_uint32),
            ctypes.POINTER(ctypes.c_uint32),
            ctypes.c_uint32,
            ctypes.c_char_p,
            ctypes.c_uint64,
            ctypes.POINTER(_Options),
        ),
    ),
    "simt_set": (
        ctypes.c_int,
        (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64),
    ),
    "simt_copy": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)),
    "simt_write": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_uint64)),
    "simt_read": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p)),
    "simt_variable": (ctypes.c_uint64, (ctypes.c_void_p, ctypes.c_char_p)),
    "simt_report": (ctypes.c_char_p, (ctypes.c_void_p,)),
    "simt_unwritten": (ctypes.c_char_p, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64)),
    "simt_written": (ctypes.c_char_p, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64)),
    "simt_trace": (ctypes.c_char_p, (ctypes.c_void_p,)),
    "simt_mark_nans": (ctypes.c_int, (ctypes.c_void_p,)),
    "simt_nan_origins": (ctypes.c_char_p, (ctypes.c_void_p,)),
    "simt_last_writer": (ctypes.c_char_p, (ctypes.c_void_p, ctypes.c_uint64)),
}


def built_library() -> Path:
    """The machine's shared library, built if need be; raises ToolMissing where it cannot be."""
    from grader.build import build_library

    return build_library("machine")


@cache
def loaded_library(path: Path | str) -> ctypes.CDLL:
    """The machine's shared library, ready to be called."""
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def operation_names(library: Path | str | None = None) -> list[str]:
    """The names of all operations that the machine knows."""
    names: list[str] = json.loads(loaded_library(library or built_library()).simt_operation_names())
    return names


def _triple(values: Sequence[int]) -> ctypes.Array[ctypes.c_uint32]:
    return (ctypes.c_uint32 * 3)(*values)


class Machine:
    """One device: a lowered program, its module's variables, and the buffers that are mapped at the moment.

    `program` is the content of a program's file, or its path. Raises MachineError where it cannot be loaded.
    """

    def __init__(self, program: bytes | Path, *, library: Path | str | None = None) -> None:
        self._library = loaded_library(library or built_library())
        if isinstance(program, bytes):
            self._device = self._library.simt_device_create_from(program, len(program))
        else:
            self._device = self._library.simt_device_create(str(program).encode())
        if not self._device:
            raise MachineError(self._error())

    def __del__(self) -> None:
        if getattr(self, "_device", None):
            self._library.simt_device_destroy(self._device)

    def add_buffer(self, name: str, address: int, size: int, memory: int, *, initialised: bool, writable: bool) -> None:
        """Maps `size` bytes of host memory at `memory`; the caller keeps that memory until `remove_buffers`."""
        self._do("simt_add_buffer", name.encode(), address, size, memory, initialised, writable)

    def add_sparse(self, name: str, address: int, size: int, kind: str, seed: int | None, *, writable: bool) -> None:
        """Memory of the machine's own that is there where it is touched, one of `ELEMENT_TYPES`.

        Its elements hold the values of sampled_values.py for `seed`; None: nothing yet.
        """
        fill = _NOTHING if seed is None else _UNIFORM
        self._do("simt_add_sparse", name.encode(), address, size, ELEMENT_TYPES[kind], fill, seed or 0, writable)

    def allocate(self, address: int, size: int) -> None:
        """Memory of the machine's own at `address`, until `free` or `remove_buffers`."""
        self._do("simt_allocate", address, size)

    def free(self, address: int) -> None:
        self._do("simt_free", address)

    def remove_buffers(self) -> None:
        self._do("simt_remove_buffers")

    def launch(
        self,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        shared: int,
        parameters: bytes,
        *,
        order: str,
        seed: int,
        workers: int,
        warp_budget: int,
        launch_budget: int,
        blocks: Sequence[int] = (),
        watched: tuple[int, int, int] | None = None,
        cooperative: bool = False,
    ) -> None:
        """Runs a kernel to its end. Budgets count warp instructions; 0 is no bound.

        `blocks` are the linear indices of those that run, none for all. `watched` is the block and thread, linear too,
        whose accesses `trace` tells (0xFFFFFFFF: all of the block), and the most of them. Blocks of a `cooperative`
        launch may wait for each other.
        """
        chosen = (ctypes.c_uint64 * len(blocks))(*blocks)
        orders = (ctypes.sizeof(_Options), ORDERS[order], workers, cooperative, seed, warp_budget, launch_budget)
        options = _Options(*orders, chosen, len(blocks), *(watched or (0, 0, 0)))
        arguments = (kernel.encode(), _triple(grid), _triple(block), shared, parameters, len(parameters))
        self._do("simt_launch", *arguments, ctypes.byref(options))

    def set(self, address: int, value: int, element_bytes: int, count: int) -> None:
        self._do("simt_set", address, value, element_bytes, count)

    def copy(self, to: int, source: int, size: int) -> None:
        self._do("simt_copy", to, source, size)

    def write(self, to: int, payload: bytes) -> None:
        self._do("simt_write", to, payload, len(payload))

    def read(self, source: int, size: int) -> bytes:
        """What lies at an address now."""
        held = ctypes.create_string_buffer(size)
        self._do("simt_read", source, size, held)
        return held.raw

    def variable(self, name: str) -> int:
        """Address of a module's variable by its name in the PTX; raises MachineError where there is none."""
        address = int(self._library.simt_variable(self._device, name.encode()))
        if not address:
            raise MachineError(self._error())
        return address

    def report(self) -> list[dict[str, Any]]:
        """One object a launch since the last report: kernel, findings, counters."""
        report: list[dict[str, Any]] = self._ask("simt_report")
        return report

    def unwritten(self, buffer: str, element_bytes: int) -> dict[str, Any]:
        """How many elements nothing has written, and the first ranges of them."""
        unwritten: dict[str, Any] = self._ask("simt_unwritten", buffer.encode(), element_bytes)
        return unwritten

    def written(self, buffer: str, element_bytes: int, most: int) -> list[list[int]]:
        """The first `most` ranges of elements of a sparse buffer that kernels have written, as [first, last]."""
        written: list[list[int]] = self._ask("simt_written", buffer.encode(), element_bytes, most)
        return written

    def trace(self) -> list[dict[str, Any]]:
        """The accesses of the thread that the last launch with `watched` had an eye on, in order."""
        trace: list[dict[str, Any]] = self._ask("simt_trace")
        return trace

    def mark_nans(self) -> None:
        """From now on a NaN carries, in its payload, the number of the instruction that made it of other values."""
        self._do("simt_mark_nans")

    def nan_origins(self) -> list[dict[str, Any]]:
        """These instructions, the first is number 1: line, op, and block, thread and operands of the first time."""
        origins: list[dict[str, Any]] = self._ask("simt_nan_origins")
        return origins

    def last_writer(self, address: int) -> dict[str, Any] | None:
        """Line of the learner's file that wrote this byte last; block and thread, linear, where one alone did."""
        writer: dict[str, Any] | None = self._ask("simt_last_writer", address)
        return writer

    def _do(self, function: str, *arguments: object) -> None:
        if getattr(self._library, function)(self._device, *arguments):
            raise MachineError(self._error())

    def _ask(self, function: str, *arguments: object) -> Any:
        text = getattr(self._library, function)(self._device, *arguments)
        if text is None:
            raise MachineError(self._error())
        return json.loads(text)

    def _error(self) -> str:
        return str(self._library.simt_error().decode(errors="replace"))
