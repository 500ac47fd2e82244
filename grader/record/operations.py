"""The operations of a Plan, one class each, and what may be in them."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

MAX_OPERATIONS = 65_536
MAX_PAYLOAD_BYTES = 64 << 20  # of all uploads together
MAX_PARAMETER_BYTES = 32_764  # of one launch, since CUDA 12.1
MAX_NAME = 65_536  # characters; templates of templates make names of thousands
ADDRESS_END = 1 << 56

_GRID_LIMITS = (0x7FFFFFFF, 65_535, 65_535)
_BLOCK_LIMITS = (1_024, 1_024, 64)
_MAX_THREADS = 1_024
_MAX_SHARED = 1 << 20
_NAME = re.compile(r"[A-Za-z_$.][A-Za-z0-9_$.]*")

Triple: TypeAlias = tuple[int, int, int]


class PlanInvalid(ValueError):
    """The document is no Plan; the message is one sentence."""


@dataclass(frozen=True)
class Launch:
    """One kernel launch.

    `kernel` is the mangled name. `shared` is dynamic shared memory in bytes, `max_dynamic_shared` what the kernel's
    attribute allowed at that moment. `parameters` is the parameter block as PTX lays it out. `line` is the learner's.
    """

    kernel: str
    grid: Triple
    block: Triple
    shared: int
    cooperative: bool
    parameters: bytes = field(repr=False)
    max_dynamic_shared: int
    line: int | None = None


@dataclass(frozen=True)
class Memset:
    """`bytes` bytes from `address` on become `value`, 0 to 255."""

    address: int
    value: int
    bytes: int
    line: int | None = None


@dataclass(frozen=True)
class Copy:
    """Device to device."""

    destination: int
    source: int
    bytes: int
    line: int | None = None


@dataclass(frozen=True)
class Upload:
    """Host to device: the host's bytes as they were when the call was made."""

    destination: int
    payload: bytes = field(repr=False)
    line: int | None = None


@dataclass(frozen=True)
class SymbolCopy:
    """From device memory into the module's variable `symbol` (mangled), `offset` bytes from its start."""

    symbol: str
    offset: int
    source: int
    bytes: int
    line: int | None = None


@dataclass(frozen=True)
class SymbolUpload:
    """From the host into the module's variable `symbol`, `offset` bytes from its start."""

    symbol: str
    offset: int
    payload: bytes = field(repr=False)
    line: int | None = None


@dataclass(frozen=True)
class Allocation:
    """Stream-ordered memory: `bytes` bytes at `address`, from here until its Free."""

    address: int
    bytes: int
    line: int | None = None


@dataclass(frozen=True)
class Free:
    """The end of the Allocation at `address`."""

    address: int
    line: int | None = None


Operation: TypeAlias = Launch | Memset | Copy | Upload | SymbolCopy | SymbolUpload | Allocation | Free


# ---- checks --------------------------------------------------------------------------------------------------------


def refuse(sentence: str) -> NoReturn:
    """Raises `PlanInvalid`."""
    raise PlanInvalid(sentence)


def check_number(value: object, low: int, high: int, what: str) -> None:
    """Refuses what is no int, bools too, or lies outside [low, high]."""
    if type(value) is not int or not low <= value <= high:
        refuse(f"{what} is no whole number from {low} to {high}")


def check_name(value: object, what: str) -> None:
    """Refuses what is no C or mangled C++ name."""
    if not isinstance(value, str) or len(value) > MAX_NAME or not _NAME.fullmatch(value):
        refuse(f"{what} is no name")


def check_operations(operations: tuple[Operation, ...], buffers: Iterable[tuple[int, int]]) -> None:
    """Refuses what is malformed or reaches outside `buffers`, given as (address, end), and allocations."""
    if len(operations) > MAX_OPERATIONS:
        refuse(f"more than {MAX_OPERATIONS} operations")
    memory = _Memory(buffers)
    for operation in operations:
        if operation.line is not None:
            check_number(operation.line, 1, 1 << 31, "line")
        _CHECKS[type(operation)](operation, memory)


class _Memory:
    """What may be read and written at a point of the plan: the buffers and the live allocations."""

    def __init__(self, buffers: Iterable[tuple[int, int]]) -> None:
        self._buffers = tuple(buffers)
        self._live: dict[int, int] = {}  # from the address of each allocation to its end
        self._starts: list[int] = []  # the same addresses in order: a plan may hold 65,536 allocations
        self._payload = 0

    def holds(self, address: object, size: object, what: str) -> None:
        check_number(address, 1, ADDRESS_END, f"the address of {what}")
        check_number(size, 1, ADDRESS_END, f"the size of {what}")
        assert isinstance(address, int)
        assert isinstance(size, int)
        ranges = self._near(bisect_right(self._starts, address))
        if not any(first <= address and address + size <= last for first, last in ranges):
            refuse(f"{what} at {address:#x}, {size} bytes, lies in no buffer")

    def _near(self, place: int) -> Iterable[tuple[int, int]]:
        """The buffers, and of the allocations the last before this place in their order: no other can be touched."""
        yield from self._buffers
        if place:
            start = self._starts[place - 1]
            yield start, self._live[start]

    def take(self, payload: object) -> int:
        if not isinstance(payload, bytes) or not payload:
            refuse("a payload is missing or empty")
        self._payload += len(payload)
        if self._payload > MAX_PAYLOAD_BYTES:
            refuse(f"more than {MAX_PAYLOAD_BYTES} bytes of payload")
        return len(payload)

    def allocate(self, operation: Allocation) -> None:
        check_number(operation.address, 1, ADDRESS_END, "the address of an allocation")
        check_number(operation.bytes, 1, ADDRESS_END - operation.address, "the size of an allocation")
        first, last = operation.address, operation.address + operation.bytes
        if any(first < end and start < last for start, end in self._near(bisect_left(self._starts, last))):
            refuse("an allocation overlaps a buffer")
        self._live[first] = last
        insort(self._starts, first)

    def free(self, operation: Free) -> None:
        if type(operation.address) is not int or self._live.pop(operation.address, None) is None:
            refuse("a free of what was not allocated")
        del self._starts[bisect_left(self._starts, operation.address)]


def _check_launch(launch: Launch, _memory: _Memory) -> None:
    check_name(launch.kernel, "the name of a kernel")
    for extents, limits, what in ((launch.grid, _GRID_LIMITS, "grid"), (launch.block, _BLOCK_LIMITS, "block")):
        if not isinstance(extents, tuple) or len(extents) != len(limits):
            refuse(f"{what} has not three extents")
        for extent, limit in zip(extents, limits, strict=True):
            check_number(extent, 1, limit, what)
    if math.prod(launch.block) > _MAX_THREADS:
        refuse(f"a block of {math.prod(launch.block)} threads")
    check_number(launch.max_dynamic_shared, 0, _MAX_SHARED, "max_dynamic_shared")
    check_number(launch.shared, 0, launch.max_dynamic_shared, "shared")
    if type(launch.cooperative) is not bool:
        refuse("cooperative is neither true nor false")
    if not isinstance(launch.parameters, bytes) or len(launch.parameters) > MAX_PARAMETER_BYTES:
        refuse("the parameters of a launch are too long or missing")


def _check_memset(operation: Memset, memory: _Memory) -> None:
    check_number(operation.value, 0, 255, "the value of a memset")
    memory.holds(operation.address, operation.bytes, "a memset")


def _check_copy(operation: Copy, memory: _Memory) -> None:
    memory.holds(operation.source, operation.bytes, "the source of a copy")
    memory.holds(operation.destination, operation.bytes, "the destination of a copy")


def _check_upload(operation: Upload, memory: _Memory) -> None:
    memory.holds(operation.destination, memory.take(operation.payload), "the destination of a copy")


def _check_symbol_copy(operation: SymbolCopy, memory: _Memory) -> None:
    check_name(operation.symbol, "the name of a symbol")
    check_number(operation.offset, 0, ADDRESS_END, "an offset in a symbol")
    memory.holds(operation.source, operation.bytes, "the source of a copy")


def _check_symbol_upload(operation: SymbolUpload, memory: _Memory) -> None:
    check_name(operation.symbol, "the name of a symbol")
    check_number(operation.offset, 0, ADDRESS_END, "an offset in a symbol")
    memory.take(operation.payload)


_CHECKS: dict[type, Callable[[Any, _Memory], None]] = {
    Launch: _check_launch,
    Memset: _check_memset,
    Copy: _check_copy,
    Upload: _check_upload,
    SymbolCopy: _check_symbol_copy,
    SymbolUpload: _check_symbol_upload,
    Allocation: lambda operation, memory: memory.allocate(operation),
    Free: lambda operation, memory: memory.free(operation),
}
