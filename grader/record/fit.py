"""Whether a Plan fits the module that it is to run with: what the Plan alone cannot show (docs/plan-format.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from grader.record.device import Device
from grader.record.limits import KernelNeeds, judge
from grader.record.operations import Allocation, Launch, Operation, SymbolCopy, SymbolUpload, refuse


class FittingKernel(KernelNeeds, Protocol):
    """What the cubin says of a kernel and its parameters; `grader.build.Kernel` is one."""

    @property
    def parameter_sizes(self) -> tuple[int, ...]: ...
    @property
    def parameter_offsets(self) -> tuple[int, ...]: ...


class Module(Protocol):
    """Kernels by mangled name, and the bytes of each variable; `grader.build.Build` is one."""

    @property
    def kernels(self) -> Mapping[str, FittingKernel]: ...
    @property
    def variables(self) -> Mapping[str, int]: ...


def check_fit(operations: Iterable[Operation], module: Module, device: Device, arena: tuple[int, int]) -> None:
    """Refuses a launch of no kernel of the module or past a limit of the device, a copy to what is no variable or past
    its end, and an allocation outside `arena`, given as its start and its bytes. Raises `PlanInvalid`.
    """
    for operation in operations:
        match operation:
            case Launch():
                _check_launch(operation, module, device)
            case SymbolCopy(bytes=size):
                _check_symbol(operation, size, module)
            case SymbolUpload(payload=payload):
                _check_symbol(operation, len(payload), module)
            case Allocation(address=address, bytes=size) if not 0 <= address - arena[0] <= arena[1] - size:
                refuse("an allocation outside its range")


def _check_launch(launch: Launch, module: Module, device: Device) -> None:
    kernel = module.kernels.get(launch.kernel)
    if kernel is None:
        refuse("a launch of no kernel")
    places = zip(kernel.parameter_offsets, kernel.parameter_sizes, strict=True)
    size = max((offset + size for offset, size in places), default=0)
    room = device.shared_per_block_optin - kernel.static_shared
    refusal = judge(
        kernel,
        device,
        grid=launch.grid,
        block=launch.block,
        shared=launch.shared,
        max_dynamic_shared=launch.max_dynamic_shared,
    )
    if refusal is not None or len(launch.parameters) != size or launch.max_dynamic_shared > room:
        refuse("a launch that the runtime would have refused")


def _check_symbol(operation: SymbolCopy | SymbolUpload, size: int, module: Module) -> None:
    if operation.offset + size > module.variables.get(operation.symbol, -1):
        refuse("a copy to what is no variable of the module, or past its end")
