"""How an access is served: which wavefront takes which words from which bank, and which sectors are fetched for whom.

The rules are those by which the software GPU counts (machine/counters.cpp, with their sources); here they say which
lane waits for which. That both come to the same numbers is tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader.banks.lanes import BANKS, LANES, WORD
from grader.trace.accesses import Access, Lanes

SECTOR = 32  # bytes
LINE = 128  # bytes of a cache line: four sectors side by side


@dataclass(frozen=True)
class Served:
    """A word of 4 bytes that a lane wants. `wavefront` counts from 0 over the access, `wait` within the lanes that
    could have been served together: 0 is at once.
    """

    lane: int
    bank: int
    word: int
    wavefront: int
    wait: int


def served(access: Access) -> list[Served]:
    """Of an access to shared memory: its lanes' words in the order in which they are served."""
    found: list[Served] = []
    begun = 0
    for group in _groups(access):
        waits: dict[tuple[int, int], int] = {}
        depth = [0] * BANKS
        for lane in group:
            for word in _words(access, lane):
                bank = word % BANKS
                # Lanes that want one word get it together; atomics on it queue all the same.
                key = (word, lane if access.kind == "atomic" else 0)
                if key not in waits:
                    waits[key] = depth[bank]
                    depth[bank] += 1
                found.append(Served(lane, bank, word, begun + waits[key], waits[key]))
        begun += max(depth)
    return found


def wavefronts(access: Access) -> int:
    """Passes over the banks that an access to shared memory takes."""
    return max((one.wavefront + 1 for one in served(access)), default=0)


def _words(access: Access, lane: int) -> range:
    address = access.lanes[lane]
    assert address is not None
    first = address // WORD
    return range(first, first + (1 if access.kind == "atomic" else max(access.bytes // WORD, 1)))


def _groups(access: Access) -> Iterator[list[int]]:
    """The lanes that are served together if no two of them meet: all, half a warp, or a quarter."""
    width = LANES
    if access.kind != "atomic" and access.bytes > WORD:
        merge = access.kind == "load" and any(_agree(access.lanes, distance) for distance in (1, 2))
        width = {8: LANES // 2, 16: LANES // 4}[access.bytes] * (2 if merge else 1)
    for first in range(0, LANES, width):
        group = [lane for lane in range(first, first + width) if access.lanes[lane] is not None]
        if group:
            yield group


def _agree(lanes: Lanes, distance: int) -> bool:
    """Whether each lane and its neighbour at a distance want the same address, if both want any."""
    return all(
        address is None or lanes[lane ^ distance] is None or lanes[lane ^ distance] == address
        for lane, address in enumerate(lanes)
    )


def sectors(access: Access) -> list[int]:
    """Of an access to global memory: the sectors that are fetched, as multiples of 32 bytes, in order."""
    return sorted({address // SECTOR for address in access.lanes if address is not None})


def lanes_by_place(access: Access) -> dict[int, list[int]]:
    """The address of each piece that is wanted → the lanes that want it."""
    found: dict[int, list[int]] = {}
    for lane, address in enumerate(access.lanes):
        if address is not None:
            found.setdefault(address, []).append(lane)
    return dict(sorted(found.items()))
