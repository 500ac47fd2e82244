"""The memory that a plan's kernels work in: one reserved range a buffer, and one for stream-ordered allocations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.cuda.driver import Driver
from grader.cuda.memory import AddressRange, fill
from grader.record.plan import Allocation, Plan, PlanBuffer, PlanInvalid

_STALE = bytes.fromhex("addbfa7f")  # what stream-ordered memory holds at first: a NaN
_SLACK = b"\xad"  # what is mapped around a buffer, since memory comes in granules


class WorkingMemory:
    """Ranges for buffers of these sizes, 256 bytes more each for its offset; `arena` is the last. Raises `DriverError`,
    and `PlanInvalid` for a plan that was recorded somewhere else.
    """

    def __init__(self, driver: Driver, sizes: Sequence[int], hints: Sequence[int], arena: int) -> None:
        self._driver = driver
        *buffers, last = [
            AddressRange(driver, size + 256, hint) for size, hint in zip([*sizes, arena], hints, strict=True)
        ]
        self._ranges, self._arena = buffers, last
        self._placed: list[tuple[PlanBuffer, AddressRange]] = []

    @property
    def addresses(self) -> list[int]:
        return [held.base for held in self._ranges]

    @property
    def arena(self) -> int:
        return self._arena.base

    @property
    def mapped(self) -> list[tuple[int, int]]:
        """All memory that is there, as (address, bytes)."""
        return [(held.base, held.mapped) for held in (*self._ranges, self._arena) if held.mapped]

    def map(self, plan: Plan) -> None:
        """Memory for the buffers of a plan, and for what it allocates."""
        if len(plan.buffers) != len(self._ranges):
            raise PlanInvalid(f"{len(plan.buffers)} buffers, and {len(self._ranges)} reserved ranges")
        placed = list(zip(plan.buffers, self._ranges, strict=True))
        for buffer, held in placed:
            if not held.holds(buffer.address, buffer.bytes):
                raise PlanInvalid(f"{buffer.name} does not lie where it was reserved")
        allocations = [operation for operation in plan.operations if isinstance(operation, Allocation)]
        if not all(self._arena.holds(made.address, made.bytes) for made in allocations):
            raise PlanInvalid("an allocation does not lie where it was reserved")
        for buffer, held in placed:
            held.map(buffer.address + buffer.bytes - held.base)
        if allocations:
            self._arena.map(max(made.address + made.bytes - self._arena.base for made in allocations))
        self._placed = placed

    def unmap(self) -> None:
        """Gives the memory back; the addresses stay reserved."""
        for held in (*self._ranges, self._arena):
            held.unmap()
        self._placed = []

    def poison(self, patterns: Mapping[str, str], stream: Any) -> None:
        """Everything but inputs: results and workspaces get their pattern, in hexadecimal, by name."""
        for address, size, pattern in self._besides_inputs(patterns):
            fill(self._driver, address, size, pattern, stream)

    def _besides_inputs(self, patterns: Mapping[str, str]) -> Iterator[tuple[int, int, bytes]]:
        for buffer, held in self._placed:
            if buffer.role in ("out", "workspace"):
                yield buffer.address, buffer.bytes, bytes.fromhex(patterns[buffer.name])
            for address, size in held.around(buffer.address, buffer.bytes):
                yield address, size, _SLACK
        yield self._arena.base, self._arena.mapped, _STALE
