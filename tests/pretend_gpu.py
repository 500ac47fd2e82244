"""A replay process on a GPU that is none: `python -m tests.pretend_gpu [MODE]`, in the place of `grader.cuda.replay`.

Its driver is a Python object with the calls that the replay makes. Device memory is bytearrays at pretended addresses;
the one kernel, `add`, takes three pointers and n, as vector_add does. In it, n = 13 is an illegal address, n = 14 never
ends, and n = 15 prints. MODE "silent" ends before a word was said, "no_driver" finds no libcuda.
"""

# ruff: noqa: N802
from __future__ import annotations

import ctypes
import os
import struct
import sys
import time
from collections.abc import Callable
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

GRANULE = 2 << 20
SYMBOL_BYTES = 64
_SYMBOL = 0x5000_0000_0000
_PARAMETERS = ((0, 8), (8, 8), (16, 8), (24, 4))


class Status(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


class _Anything:
    """An enumeration whose values nobody looks at, or a structure whose fields nobody reads."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("CU_"):
            return name
        value = self.__dict__[name] = _Anything()
        return value

    def __call__(self) -> _Anything:
        return _Anything()


class PretendDriver:
    """The module `cuda.bindings.driver`, as far as a replay needs it."""

    CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT = 1
    CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT = 2
    CU_LAUNCH_PARAM_END_AS_INT = 0

    def __init__(self) -> None:
        self.memory: dict[int, bytearray] = {_SYMBOL: bytearray(SYMBOL_BYTES)}
        self.captured: list[Callable[[], None]] | None = None
        self.fault = Status.CUDA_SUCCESS
        self.allocated = 0x6000_0000_0000
        self.clock = 0.0

    def __getattr__(self, name: str) -> Any:
        return _Anything() if name.startswith("CU") else lambda *_: (Status.CUDA_SUCCESS,)

    # ---- the device -----------------------------------------------------------------------------------------------

    def cuDeviceGet(self, _: int) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, 0

    def cuDeviceGetName(self, *_: Any) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, b"Pretended GPU\0\0\0"

    def cuDeviceGetAttribute(self, name: str, _: int) -> tuple[Any, ...]:
        known = {"MAJOR": 9, "MINOR": 0, "COUNT": 4, "SIZE": 1 << 10, "RATE": 0, "WIDTH": 0}
        return Status.CUDA_SUCCESS, known[name.rsplit("_", 1)[1]]

    def cuDeviceTotalMem(self, _: int) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, 1 << 34

    def cuDriverGetVersion(self) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, 13_000

    def cuDeviceGetUuid(self, _: int) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, SimpleNamespace(bytes=bytes(16))

    def cuDevicePrimaryCtxRetain(self, _: int) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, 1

    def cuGetErrorString(self, status: Status) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, f"the driver's words for {int(status)}".encode()

    # ---- memory -----------------------------------------------------------------------------------------------------

    def cuMemGetAllocationGranularity(self, *_: Any) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, GRANULE

    def cuMemAddressReserve(self, _size: int, _alignment: int, hint: int, _flags: int) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, hint + GRANULE  # a hint is only a hint

    def cuMemCreate(self, size: int, *_: Any) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, size

    def cuMemMap(self, address: int, size: int, *_: Any) -> tuple[Any, ...]:
        self.memory[address] = bytearray(b"\xee" * size)
        return (Status.CUDA_SUCCESS,)

    def cuMemSetAccess(self, *_: Any) -> tuple[Any, ...]:
        return (Status.CUDA_SUCCESS,)

    def cuMemUnmap(self, address: int, _: int) -> tuple[Any, ...]:
        del self.memory[address]
        return (Status.CUDA_SUCCESS,)

    def cuMemRelease(self, _: int) -> tuple[Any, ...]:
        return (Status.CUDA_SUCCESS,)

    def cuMemAlloc(self, size: int) -> tuple[Any, ...]:
        self.allocated += 1 << 32
        self.memory[self.allocated] = bytearray(size)
        return Status.CUDA_SUCCESS, self.allocated

    def cuMemFree(self, address: int) -> tuple[Any, ...]:
        del self.memory[address]
        return (Status.CUDA_SUCCESS,)

    def view(self, address: int, size: int) -> memoryview:
        """Device memory; an address in no range is the illegal one of a real GPU."""
        for base, held in self.memory.items():
            if base <= address and address + size <= base + len(held):
                return memoryview(held)[address - base : address - base + size]
        self.fault = Status.CUDA_ERROR_ILLEGAL_ADDRESS
        return memoryview(bytearray(size))

    def cuMemsetD8Async(self, address: int, value: int, count: int, _: Any) -> tuple[Any, ...]:
        return self.later(lambda: self.put(address, bytes([value]) * count))

    def cuMemsetD16Async(self, address: int, value: int, count: int, _: Any) -> tuple[Any, ...]:
        return self.later(lambda: self.put(address, struct.pack("<H", value) * count))

    def cuMemsetD32Async(self, address: int, value: int, count: int, _: Any) -> tuple[Any, ...]:
        return self.later(lambda: self.put(address, struct.pack("<I", value) * count))

    def cuMemsetD2D32Async(self, address: int, pitch: int, value: int, _w: int, rows: int, _: Any) -> tuple[Any, ...]:
        def work() -> None:
            for row in range(rows):
                self.put(address + row * pitch, struct.pack("<I", value))

        return self.later(work)

    def cuMemcpyDtoDAsync(self, to: int, source: int, size: int, _: Any) -> tuple[Any, ...]:
        return self.later(lambda: self.put(to, bytes(self.view(source, size))))

    def cuMemcpyHtoDAsync(self, to: int, source: int, size: int, _: Any) -> tuple[Any, ...]:
        return self.later(lambda: self.put(to, ctypes.string_at(source, size)))

    def cuMemcpyHtoD(self, to: int, source: int, size: int) -> tuple[Any, ...]:
        self.put(to, ctypes.string_at(source, size))
        return (Status.CUDA_SUCCESS,)

    def cuMemcpyDtoH(self, to: int, source: int, size: int) -> tuple[Any, ...]:
        ctypes.memmove(to, bytes(self.view(source, size)), size)
        return (self.fault,)

    def put(self, address: int, values: bytes) -> None:
        self.view(address, len(values))[:] = values

    # ---- the module and its kernel --------------------------------------------------------------------------------

    def cuModuleLoadData(self, image: bytes) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, image

    def cuModuleGetFunction(self, _: Any, name: bytes) -> tuple[Any, ...]:
        return (Status.CUDA_SUCCESS, name) if name == b"add" else (Status.CUDA_ERROR_NOT_FOUND, None)

    def cuModuleGetGlobal(self, _: Any, name: bytes) -> tuple[Any, ...]:
        found = name == b"table"
        return (Status.CUDA_SUCCESS, _SYMBOL, SYMBOL_BYTES) if found else (Status.CUDA_ERROR_NOT_FOUND, 0, 0)

    def cuFuncGetParamInfo(self, _: Any, place: int) -> tuple[Any, ...]:
        if place == len(_PARAMETERS):
            return Status.CUDA_ERROR_INVALID_VALUE, 0, 0
        return Status.CUDA_SUCCESS, *_PARAMETERS[place]

    def cuLaunchKernelEx(self, _config: Any, _function: Any, pointers: Any, extra: int) -> tuple[Any, ...]:
        words = (ctypes.c_uint64 * 5).from_address(extra)
        size = ctypes.c_size_t.from_address(words[3]).value
        assert (pointers, words[0], words[2], words[4], size) == (0, 1, 2, 0, 28)
        a, b, out, n = struct.unpack("<QQQi", ctypes.string_at(words[1], size))
        return self.later(lambda: self.add(a, b, out, n))

    def add(self, a: int, b: int, out: int, n: int) -> None:
        if n == 13:
            self.fault = Status.CUDA_ERROR_ILLEGAL_ADDRESS
        elif n == 14:
            time.sleep(60)
        elif n == 15:
            os.write(1, b'{"state": "passed"}\n')
        left, right = (self.view(address, 4 * n).cast("f") for address in (a, b))
        self.view(out, 4 * n).cast("f")[:] = memoryview(
            struct.pack(f"{n}f", *(x + y for x, y in zip(left, right, strict=True)))
        ).cast("f")

    # ---- streams, graphs, events ----------------------------------------------------------------------------------

    def later(self, work: Callable[[], None]) -> tuple[Any, ...]:
        if self.captured is not None:
            self.captured.append(work)
        else:
            work()
        return (Status.CUDA_SUCCESS,)

    def cuStreamCreate(self, _: int) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, 1

    def cuStreamSynchronize(self, _: Any) -> tuple[Any, ...]:
        return (self.fault,)

    def cuStreamBeginCapture(self, *_: Any) -> tuple[Any, ...]:
        self.captured = []
        return (Status.CUDA_SUCCESS,)

    def cuStreamEndCapture(self, _: Any) -> tuple[Any, ...]:
        captured, self.captured = self.captured, None
        return Status.CUDA_SUCCESS, captured

    def cuGraphInstantiate(self, graph: Any, _: int) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, list(graph)

    def cuGraphLaunch(self, graph: list[Callable[[], None]], _: Any) -> tuple[Any, ...]:
        for work in graph:
            work()
        self.clock += 2.0
        return (Status.CUDA_SUCCESS,)

    def cuEventCreate(self, _: int) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, [0.0]

    def cuEventRecord(self, event: list[float], _: Any) -> tuple[Any, ...]:
        event[0] = self.clock
        return (Status.CUDA_SUCCESS,)

    def cuEventElapsedTime(self, start: list[float], stop: list[float]) -> tuple[Any, ...]:
        return Status.CUDA_SUCCESS, stop[0] - start[0]


def main() -> int:
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode == "silent":
        print("something went wrong", file=sys.stderr)
        return 1
    from grader.cuda import replay

    replay._FLUSH_BYTES = 1 << 10
    driver = PretendDriver()
    if mode == "no_driver":
        driver.cuInit = _no_driver  # type: ignore[attr-defined]
    return replay.main(driver)


def _no_driver(_: int) -> None:
    raise RuntimeError("Failed to dlopen libcuda.so.1")


if __name__ == "__main__":
    sys.exit(main())
