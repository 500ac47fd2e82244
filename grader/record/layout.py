"""Where the buffers of an entry lie while it is recorded: two sets of addresses, one for each of the two calls.

Both sets agree modulo 256, and every buffer is shifted by a distance of its own, so that a word which differs between
the two recordings by exactly one buffer's distance is an address in that buffer, and anything else that differs is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ALIGNMENT = 256
WORDS = 1 << 64  # values of an 8-byte word
PAGE = 4096
MAX_BUFFERS = 24  # the recorder passes no more pointers and integers

_FIRST = 0x2000_0000_0000
_SLOT = 1 << 37
_MIDDLE = 1 << 36  # a buffer starts in the middle of its slot
_ODD = 256 * 4_194_319
_SHIFT = 0x1000_0000_0000
_ARENA = 0x2800_0000_0000
_ARENA_BYTES = 1 << 36
_ARENA_SHIFT = _SHIFT + 512 * 211
_STREAM = 0x1F00_0000_0010
_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)


@dataclass(frozen=True)
class Layout:
    """Addresses in the order of the entry's buffers. `first` is where a Plan will run.

    `arenas` are the starts of the two ranges, `arena_bytes` long, where cudaMallocAsync finds its memory. `stream` is
    the handle passed as the stream: nothing may be read there.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    arenas: tuple[int, int] = (_ARENA, _ARENA + _ARENA_SHIFT)
    arena_bytes: int = _ARENA_BYTES
    stream: int = _STREAM

    @property
    def shifts(self) -> tuple[int, ...]:
        """How far each buffer moves between the calls, then how far stream-ordered allocations do, modulo 2**64.

        A driver may give addresses above those of the second call.
        """
        moved = (second - first for first, second in zip(self.first, self.second, strict=True))
        return tuple(distance % WORDS for distance in (*moved, self.arenas[1] - self.arenas[0]))


def software_layout(offsets: Sequence[int]) -> Layout:
    """The layout for the software GPU: each buffer alone in 128 GiB, `offsets` bytes past a 256-byte boundary."""
    # Off the round numbers, so that a step of some power of two does not lead from one buffer into another.
    first = tuple(_FIRST + number * _SLOT + _MIDDLE + _ODD * number + offset for number, offset in enumerate(offsets))
    return Layout(first, _second(first))


def layout_at(addresses: Sequence[int], *, arena: int, arena_bytes: int) -> Layout:
    """The layout for addresses reserved by the process that will run the plan, as a real GPU's driver gives them."""
    return Layout(tuple(addresses), _second(addresses), (arena, _ARENA + _ARENA_SHIFT), arena_bytes)


def _second(first: Sequence[int]) -> tuple[int, ...]:
    if len(first) > MAX_BUFFERS:
        raise ValueError(f"{len(first)} buffers; an entry has at most {MAX_BUFFERS}")
    return tuple(
        _FIRST + _SHIFT + number * _SLOT + _MIDDLE + ALIGNMENT * prime + address % ALIGNMENT
        for number, (address, prime) in enumerate(zip(first, _PRIMES, strict=False))
    )


def pages(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """(address, size) of the whole pages under such ranges, in order, none twice; an empty range has one page."""
    spans = sorted((address // PAGE * PAGE, -(-(address + max(size, 1)) // PAGE) * PAGE) for address, size in ranges)
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return [(start, end - start) for start, end in merged]
