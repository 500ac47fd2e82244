"""A plan as calls of the driver, every name looked up and every size checked beforehand, so that a replay is quick."""

from __future__ import annotations

import ctypes
from typing import Any

from grader.cuda.driver import Driver, DriverError
from grader.record.plan import (
    Allocation,
    Copy,
    Free,
    Launch,
    Memset,
    Operation,
    Plan,
    PlanInvalid,
    SymbolCopy,
    SymbolUpload,
    Upload,
)

_MOST_PARAMETERS = 4096


class Script:
    """The operations of a plan in stream order, on one stream. Raises PlanInvalid, DriverError.

    Parameter blocks are passed as they were recorded. Memory of a stream-ordered allocation is there before the plan
    begins: Allocation and Free do nothing here.
    """

    def __init__(self, driver: Driver, module: Any, plan: Plan, stream: Any) -> None:
        self._driver = driver
        self._module = module
        self._stream = stream
        self._alive: list[Any] = []  # host memory that the calls point to
        self._functions: dict[str, Any] = {}
        self.calls = [call for operation in plan.operations if (call := self._call(operation)) is not None]
        self._allow_shared(plan)

    def enqueue(self) -> None:
        """Everything, in order; returns at once."""
        for function, *arguments in self.calls:
            self._driver.call(function, *arguments)

    def local_bytes(self) -> int:
        """The most local memory that one of its kernels has, bytes a thread."""
        name = self._driver.enum("CUfunction_attribute", "FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES")
        sizes = [int(self._driver.call("cuFuncGetAttribute", name, held)) for held in self._functions.values()]
        return max(sizes, default=0)

    def captured(self) -> Any:
        """The same as a CUDA graph, ready for cuGraphLaunch; the second call as good as the first."""
        driver = self._driver
        driver.call(
            "cuStreamBeginCapture", self._stream, driver.enum("CUstreamCaptureMode", "STREAM_CAPTURE_MODE_RELAXED")
        )
        try:
            self.enqueue()
        finally:
            graph = driver.call("cuStreamEndCapture", self._stream)
        try:
            return driver.call("cuGraphInstantiate", graph, 0)
        finally:
            driver.call("cuGraphDestroy", graph)

    def _call(self, operation: Operation) -> tuple[Any, ...] | None:
        stream = self._stream
        match operation:
            case Launch():
                return self._launch(operation)
            case Memset(address=address, value=value, bytes=size):
                return "cuMemsetD8Async", address, value, size, stream
            case Copy(destination=destination, source=source, bytes=size):
                return "cuMemcpyDtoDAsync", destination, source, size, stream
            case Upload(destination=destination, payload=payload):
                return "cuMemcpyHtoDAsync", destination, self._kept(payload), len(payload), stream
            case SymbolCopy(source=source, bytes=size):
                return "cuMemcpyDtoDAsync", self._symbol(operation, size), source, size, stream
            case SymbolUpload(payload=payload):
                size = len(payload)
                return "cuMemcpyHtoDAsync", self._symbol(operation, size), self._kept(payload), size, stream
            case Allocation() | Free():
                return None

    def _launch(self, launch: Launch) -> tuple[Any, ...]:
        driver, function = self._driver, self._function(launch.kernel)
        config = driver.launch_config(
            launch.grid, launch.block, launch.shared, self._stream, cooperative=launch.cooperative
        )
        if self._parameter_bytes(function) != len(launch.parameters):
            raise PlanInvalid(f"the parameters of {launch.kernel} are not as many bytes as it takes")
        extra, held = driver.packed(launch.parameters)
        self._alive += held
        return "cuLaunchKernelEx", config, function, 0, extra

    def _kept(self, payload: bytes) -> int:
        held = ctypes.create_string_buffer(payload, len(payload))
        self._alive.append(held)
        return ctypes.addressof(held)

    def _function(self, kernel: str) -> Any:
        if kernel not in self._functions:
            self._functions[kernel] = self._driver.call("cuModuleGetFunction", self._module, kernel.encode())
        return self._functions[kernel]

    def _parameter_bytes(self, function: Any) -> int:
        end = 0
        for place in range(_MOST_PARAMETERS):
            try:
                offset, size = self._driver.call("cuFuncGetParamInfo", function, place)
            except DriverError as error:
                if error.name != "CUDA_ERROR_INVALID_VALUE":
                    raise
                break  # there are no more
            end = max(end, int(offset) + int(size))
        return end

    def _symbol(self, operation: SymbolCopy | SymbolUpload, size: int) -> int:
        address, there = self._driver.call("cuModuleGetGlobal", self._module, operation.symbol.encode())
        if operation.offset + size > int(there):
            raise PlanInvalid(f"a copy reaches past the end of {operation.symbol}")
        return int(address) + operation.offset

    def _allow_shared(self, plan: Plan) -> None:
        """Dynamic shared memory past 48 KiB must be asked for, once for each kernel."""
        most: dict[str, int] = {}
        for operation in plan.operations:
            if isinstance(operation, Launch):
                most[operation.kernel] = max(most.get(operation.kernel, 0), operation.shared)
        name = self._driver.enum("CUfunction_attribute", "FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES")
        for kernel, shared in most.items():
            if shared:
                self._driver.call("cuFuncSetAttribute", self._function(kernel), name, shared)
