"""NVIDIA's driver through `cuda.bindings.driver`, thinly: a status that is no success becomes one sentence.

Handles, enumerations and structures stay those of the bindings. `Driver.api` is the module itself: a test can put
another in its place.
"""

from __future__ import annotations

import ctypes
import importlib
import uuid
from dataclasses import dataclass
from typing import Any

from grader.record.operations import Triple

# What a status means for somebody whose kernel ran into it; all others speak in the driver's own words.
_SENTENCES = {
    "CUDA_ERROR_OUT_OF_MEMORY": "The GPU has not enough free memory for this case.",
    "CUDA_ERROR_NO_DEVICE": "The driver finds no GPU.",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "The driver's library does not fit the kernel's module: restart the machine.",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "The kernel was compiled for another GPU.",
    "CUDA_ERROR_ILLEGAL_ADDRESS": "A kernel read or wrote memory that is not there.",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "A kernel used an address that its access is not aligned for.",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "A kernel used an address of another kind of memory.",
    "CUDA_ERROR_INVALID_PC": "A kernel jumped to where no code is.",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "A kernel came upon an instruction that is none.",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "A kernel ran out of stack.",
    "CUDA_ERROR_ASSERT": "An assertion in a kernel does not hold.",
    "CUDA_ERROR_LAUNCH_FAILED": "A kernel ended with a fault.",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "A kernel ran longer than the driver allows.",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "A launch asks for more registers or shared memory than the GPU has.",
}
# After one of these the context is lost, and with it the process.
FAULTS = frozenset(
    {
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        "CUDA_ERROR_INVALID_PC",
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "CUDA_ERROR_HARDWARE_STACK_ERROR",
        "CUDA_ERROR_ASSERT",
        "CUDA_ERROR_LAUNCH_FAILED",
        "CUDA_ERROR_LAUNCH_TIMEOUT",
    }
)


class DriverError(Exception):
    """A call that failed: `name` is the CUresult's, `function` the call; the message is one sentence."""

    def __init__(self, name: str, function: str, words: str = "") -> None:
        sentence = _SENTENCES.get(name) or f"{function} failed{f': {words}' if words else ''}."
        super().__init__(f"{sentence[:-1]} ({name}).")
        self.name = name
        self.function = function


@dataclass(frozen=True)
class DeviceFacts:
    """The GPU. `target` is its compute capability times ten, `driver` the CUDA version that its driver knows, times
    1000 (13000); memory and L2 in bytes. `uuid` is as nvidia-smi writes it. Clocks are the highest, of multiprocessors
    and of memory, in kHz, `bus_bits` the memory's width; 0 where the driver does not say.
    """

    name: str
    target: int
    multiprocessors: int
    l2_bytes: int
    memory_bytes: int
    driver: int
    uuid: str
    clock_khz: int = 0
    memory_khz: int = 0
    bus_bits: int = 0


class Driver:
    """One GPU with its context current in this thread."""

    def __init__(self, api: Any = None) -> None:
        self.api: Any = api if api is not None else importlib.import_module("cuda.bindings.driver")
        try:
            self.call("cuInit", 0)
        except RuntimeError as error:  # the bindings' own word for a libcuda that is not there
            raise DriverError("no libcuda", "cuInit", str(error)) from error
        self.device = self.call("cuDeviceGet", 0)

    def call(self, function: str, *arguments: Any) -> Any:
        """The result of a call: None, a value, or a tuple. Raises `DriverError`."""
        status, *results = getattr(self.api, function)(*arguments)
        if int(status) != 0:
            raise DriverError(_name(status), function, self._words(status))
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    def facts(self) -> DeviceFacts:
        """What the driver says of the GPU; needs no context."""
        major, minor = self.attribute("COMPUTE_CAPABILITY_MAJOR"), self.attribute("COMPUTE_CAPABILITY_MINOR")
        name = self.call("cuDeviceGetName", 256, self.device)
        return DeviceFacts(
            name=name.split(b"\0")[0].decode(errors="replace").strip(),
            target=10 * major + minor,
            multiprocessors=self.attribute("MULTIPROCESSOR_COUNT"),
            l2_bytes=self.attribute("L2_CACHE_SIZE"),
            memory_bytes=int(self.call("cuDeviceTotalMem", self.device)),
            driver=int(self.call("cuDriverGetVersion")),
            uuid=f"GPU-{uuid.UUID(bytes=bytes(self.call('cuDeviceGetUuid', self.device).bytes)[:16])}",
            clock_khz=self.attribute("CLOCK_RATE"),
            memory_khz=self.attribute("MEMORY_CLOCK_RATE"),
            bus_bits=self.attribute("GLOBAL_MEMORY_BUS_WIDTH"),
        )

    def attribute(self, name: str) -> int:
        """A CU_DEVICE_ATTRIBUTE_…."""
        return int(
            self.call("cuDeviceGetAttribute", self.enum("CUdevice_attribute", f"DEVICE_ATTRIBUTE_{name}"), self.device)
        )

    def enum(self, kind: str, name: str) -> Any:
        """The bindings' value `CU_name` of an enumeration."""
        return getattr(getattr(self.api, kind), f"CU_{name}")

    def module_of(self, ptx: str) -> Any:
        """A module that the driver compiles, for kernels of our own."""
        return self.call("cuModuleLoadData", ptx.encode() + b"\0")

    def launch_config(self, grid: Triple, block: Triple, shared: int, stream: Any, *, cooperative: bool = False) -> Any:
        """How to launch; `cooperative` with all blocks resident at once."""
        config = self.api.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block
        config.sharedMemBytes = shared
        config.hStream = stream
        if cooperative:
            config.attrs, config.numAttrs = [self._cooperative()], 1
        return config

    def _cooperative(self) -> Any:
        value = self.api.CUlaunchAttributeValue()
        value.cooperative = 1
        attribute = self.api.CUlaunchAttribute()
        attribute.id = self.enum("CUlaunchAttributeID", "LAUNCH_ATTRIBUTE_COOPERATIVE")
        attribute.value = value
        return attribute

    def packed(self, parameters: bytes) -> tuple[int, list[Any]]:
        """The address of a list that tells a launch to take the parameter block whole, 0 for an empty one; and what
        has to be kept as long as the address is used.
        """
        if not parameters:
            return 0, []
        block = ctypes.create_string_buffer(parameters, len(parameters))
        size = ctypes.c_size_t(len(parameters))
        words = (ctypes.c_void_p * 5)(
            int(self.api.CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT),
            ctypes.addressof(block),
            int(self.api.CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT),
            ctypes.addressof(size),
            int(self.api.CU_LAUNCH_PARAM_END_AS_INT),
        )
        return ctypes.addressof(words), [block, size, words]

    def read(self, address: int, size: int) -> bytes:
        """What the device has there; for some bytes, not for gigabytes."""
        values = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH", ctypes.addressof(values), address, size)
        return values.raw

    def reset_persisting(self) -> None:
        """Lines that the L2 was asked to keep are lines like others; older GPUs keep none, and refuse the call."""
        if self.attribute("MAX_PERSISTING_L2_CACHE_SIZE"):
            self.call("cuCtxResetPersistingL2Cache")

    def open(self) -> None:
        """Makes the device's context current."""
        self.call("cuCtxSetCurrent", self.call("cuDevicePrimaryCtxRetain", self.device))

    def _words(self, status: Any) -> str:
        known, words = self.api.cuGetErrorString(status)
        return words.decode(errors="replace") if int(known) == 0 and words else ""


def _name(status: Any) -> str:
    return getattr(status, "name", str(status))
