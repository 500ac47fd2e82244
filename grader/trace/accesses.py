"""What a block did to memory, as plain data: accesses of warps to arrays, shuffles, barriers.

Accesses are those that ptxas made, as far as the cubin tells (see `grader.simt.merging`): four loads of a float that
became one of 16 bytes are one access, because that is what a GPU runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

from grader.banks.lanes import LANES

Lanes: TypeAlias = tuple[int | None, ...]
"""A number for each of the 32 lanes of a warp, None for one that takes no part."""


@dataclass(frozen=True)
class Array:
    """A buffer or a shared array. `address` is where it begins: on the device, or in the block's shared memory.

    `shape` counts elements of `element_bytes`, the last dimension innermost; a shape of one dimension is a row.
    """

    name: str
    space: str
    address: int
    bytes: int
    element_bytes: int
    shape: tuple[int, ...]

    def holds(self, address: int) -> bool:
        return self.address <= address < self.address + self.bytes

    def index(self, address: int) -> int:
        """The element that lies at an address."""
        return (address - self.address) // self.element_bytes

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return max(self.shape[-1] if self.shape else 1, 1)

    def element(self, index: int) -> str:
        """An element as it is written in the source: `tile[2][5]`; of a buffer, which has one subscript, `in[69]`."""
        if self.space == "global" or len(self.shape) < 2:
            return f"{self.name}[{index}]"
        subscripts = ""
        for extent in reversed(self.shape[1:]):
            index, inner = divmod(index, max(extent, 1))
            subscripts = f"[{inner}]{subscripts}"
        return f"{self.name}[{index}]{subscripts}"


@dataclass(frozen=True)
class Access:
    """One instruction of one warp. `kind` is "load", "store" or "atomic", `space` "shared" or "global".

    `lanes` are the addresses of the lanes, each of `bytes` bytes; `cost` the wavefronts (shared memory) or sectors
    (global) that the software GPU counts for it, and `ideal` the fewest that could serve the same lanes. `together` is
    how many accesses of the PTX ptxas made into this one, as a width: 1, 2, 4.
    """

    warp: int
    line: int
    instruction: int
    kind: str
    space: str
    bytes: int
    lanes: Lanes
    cost: int
    ideal: int
    together: int = 1
    array: Array | None = None

    @property
    def excess(self) -> int:
        return self.cost - self.ideal

    def elements(self) -> Iterator[int]:
        """The elements of its array that the lanes touch, lane by lane."""
        if self.array is None:
            return
        for address in self.lanes:
            if address is not None and self.array.holds(address):
                first, last = self.array.index(address), self.array.index(address + self.bytes - 1)
                yield from range(first, max(first, last) + 1)


@dataclass(frozen=True)
class Shuffle:
    """`sources` are the lanes that the lanes read from."""

    warp: int
    line: int
    instruction: int
    sources: Lanes


@dataclass(frozen=True)
class Barrier:
    """A warp came to a barrier of its block."""

    warp: int


Event: TypeAlias = Access | Shuffle | Barrier


@dataclass(frozen=True)
class Trace:
    """What the block `at` of a launch did, in the order in which the software GPU ran its warps.

    `kernel` is its name in the source, `launch` its number in the plan; `cut` is whether it did more than is told, and
    `faulty` whether the run ended at a fault. `source` is the text of the file whose lines are meant.
    """

    kernel: str
    launch: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    at: tuple[int, ...]
    sizes: Mapping[str, Any]
    events: Sequence[Event]
    source: str = ""
    cut: bool = False
    faulty: bool = False
    arrays: Sequence[Array] = field(default=())

    @property
    def accesses(self) -> list[Access]:
        return [event for event in self.events if isinstance(event, Access)]

    @property
    def warps(self) -> int:
        return -(-prod(self.block) // LANES)

    def on(self, line: int) -> list[Access]:
        """The accesses of one line."""
        return [access for access in self.accesses if access.line == line]


def events_of(entries: Sequence[Mapping[str, Any]], arrays: Sequence[Array]) -> Iterator[Event]:
    """The machine's entries of a whole block (see `RunResult.trace`) → events; what has no line is left out."""
    for entry in entries:
        if entry["kind"] == "barrier":
            yield Barrier(entry["warp"])
        elif entry["line"] is None:
            continue
        elif entry["kind"] == "shuffle":
            yield Shuffle(entry["warp"], entry["line"], entry["instruction"], _by_lane(entry, 0))
        elif entry["space"] in ("shared", "global") and entry["compiled_bytes"] != 0:
            yield _access(entry, arrays)


def _access(entry: Mapping[str, Any], arrays: Sequence[Array]) -> Access:
    size, compiled = entry["bytes"], entry["compiled_bytes"]
    is_wide = compiled is not None and compiled > size
    named = next(
        (one for one in arrays if one.space == entry["space"] == "global" and one.name == entry["region"]), None
    )
    lanes = _by_lane(entry, named.address if named is not None else 0)
    if is_wide:
        lanes = tuple(None if address is None else address - address % compiled for address in lanes)
    first = next(address for address in lanes if address is not None)
    cost, ideal = entry["compiled_cost" if is_wide else "cost"]
    return Access(
        warp=entry["warp"],
        line=entry["line"],
        instruction=entry["instruction"],
        kind=entry["kind"],
        space=entry["space"],
        bytes=compiled if is_wide else size,
        lanes=lanes,
        cost=cost,
        ideal=ideal,
        together=compiled // size if is_wide else 1,
        array=named
        or next((one for one in arrays if one.space == entry["space"] == "shared" and one.holds(first)), None),
    )


def _by_lane(entry: Mapping[str, Any], start: int) -> Lanes:
    """`at` spread over the lanes that take part, from `start` on."""
    places = iter(entry["at"])
    return tuple(start + next(places) if entry["lanes"] >> lane & 1 else None for lane in range(LANES))
