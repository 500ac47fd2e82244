"""Kernels of cubins, launched with plain buffers on a real GPU: bytes go in, bytes come out."""

from __future__ import annotations

import ctypes
import datetime
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.cuda.driver import Driver

Array = NDArray[Any]


class BareGPU:
    """One GPU. What a launch reads is copied there before, what it writes is copied back after it."""

    def __init__(self) -> None:
        self.driver = Driver()
        self.driver.open()

    def module(self, image: bytes) -> Any:
        """A loaded cubin."""
        return self.driver.call("cuModuleLoadData", image)

    def unload(self, module: Any) -> None:
        self.driver.call("cuModuleUnload", module)

    def run(
        self,
        module: Any,
        kernel: str,
        blocks: int,
        threads: int,
        arguments: Sequence[Array | int | bytes],
        result: Array,
    ) -> Array:
        """Launches a kernel. Arrays become pointers to copies of them, integers ints, bytes a parameter passed by
        value; the array `result` comes back as the kernel has left it.
        """
        call = self.driver.call
        pointers: list[tuple[int, Array]] = []
        values: list[Any] = []
        for argument in arguments:
            if isinstance(argument, int):
                values.append(ctypes.c_int(argument))
            elif isinstance(argument, bytes):
                values.append(ctypes.create_string_buffer(argument, len(argument)))
            else:
                address = int(call("cuMemAlloc", max(argument.nbytes, 16)))
                if argument.nbytes:
                    call("cuMemcpyHtoD", address, argument.ctypes.data, argument.nbytes)
                pointers.append((address, argument))
                values.append(ctypes.c_uint64(address))
        addresses = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        function = call("cuModuleGetFunction", module, kernel.encode())
        call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, 0, ctypes.addressof(addresses), 0)
        call("cuCtxSynchronize")
        back = np.empty_like(result)
        for address, argument in pointers:
            if argument is result:
                call("cuMemcpyDtoH", back.ctypes.data, address, back.nbytes)
            call("cuMemFree", address)
        return back


def save(file: Path, arrays: Mapping[str, Array]) -> None:
    """An .npz with these arrays, whatever their names are."""
    packed: Any = dict(arrays)
    np.savez_compressed(file, **packed)


def about(module: str) -> dict[str, str]:
    """What was measured on, with which tools, when and how."""

    def output(*command: str) -> str:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": f"python -m {module}",
        "device": output("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"),
        "driver": output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        "nvcc": output("nvcc", "--version").splitlines()[-1],
    }
