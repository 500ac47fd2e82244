"""What pictures say in words, from the catalogue."""

from __future__ import annotations

from grader.explain import sentence
from grader.trace.accesses import Access, Array, Trace

_MOST_CHARACTERS = 56


def say(key: str, **facts: object) -> str:
    """A sentence of the catalogue's section for pictures."""
    return sentence("trace", key, facts=facts).replace("`", "")


def access_line(access: Access) -> str:
    """Such as "Line 30: warp 0 loads tile"."""
    what = access.array.name if access.array is not None else say("memory")
    return say(access.kind, line=access.line, warp=access.warp, what=what)


def counted(access: Access) -> tuple[str, str]:
    """Such as "32 wavefronts, where 1 would do", and the class that it is drawn in."""
    return counts(access.space, access.cost, access.ideal), "bad" if access.excess > 0 else "good"


def counts(space: str, cost: int, ideal: int, *, in_all: bool = False) -> str:
    """Wavefronts or sectors, and how many there need be; `in_all` of several accesses together."""
    unit = ("wavefront" if space == "shared" else "sector") + ("s" if cost != 1 else "")
    key = "excess" if cost > ideal else "fewest"
    return say(f"{key}_in_all" if in_all else key, cost=cost, ideal=ideal, unit=say(unit))


def first_elements(access: Access) -> str:
    """Such as "lane 0: tile[0][0], lane 1: tile[1][0], …"; as many as fit below a picture's head."""
    array = access.array
    if array is None:
        return ""
    told = say("together", number=access.together, bytes=access.bytes) if access.together > 1 else ""
    for lane, address in enumerate(access.lanes):
        if address is not None and array.holds(address):
            more = (", " if told else "") + say("lane_takes", lane=lane, element=element(array, address))
            if len(told) + len(more) > _MOST_CHARACTERS:
                return f"{told}, …"
            told += more
    return told


def element(array: Array, address: int) -> str:
    """The element at an address, as it is written in the source."""
    return array.element(array.index(address))


def launched(trace: Trace) -> str:
    """Such as "transpose_kernel<<<1, (32, 8)>>>, block 0"."""
    dimensions = max(
        (number + 1 for number in range(3) if trace.grid[number] > 1 or trace.block[number] > 1), default=1
    )
    grid, block, at = (_shown(extent, dimensions) for extent in (trace.grid, trace.block, trace.at))
    return say("launched", kernel=trace.kernel, grid=grid, block=block, at=at)


def _shown(extent: tuple[int, ...], dimensions: int) -> str:
    used = extent[:dimensions]
    return str(used[0]) if len(used) == 1 else f"({', '.join(map(str, used))})"
