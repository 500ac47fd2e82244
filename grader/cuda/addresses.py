"""Where buffers are asked to lie on a real GPU: a driver takes a hint for the addresses that it reserves.

Who records for a GPU that is not there yet records at several places, and whoever has the GPU takes the first that its
driver gives. They lie apart from each other, from the addresses of a recording's second call (grader/record/layout.py),
and from where programs and libraries are loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.record.layout import Layout, layout_at

ARENA_BYTES = 1 << 32  # of stream-ordered allocations


@dataclass(frozen=True)
class Place:
    """A part of the address space: buffer k is asked for at `first` + k · `between`, the arena behind the last."""

    first: int
    between: int

    def hints(self, count: int) -> list[int]:
        """For `count` ranges, in order."""
        return [self.first + number * self.between for number in range(count)]

    def layout(self, offsets: Sequence[int]) -> Layout:
        """The layout that a driver gives which takes every hint; `offsets` past the ranges' starts, one a buffer."""
        *bases, arena = self.hints(len(offsets) + 1)
        addresses = [base + offset for base, offset in zip(bases, offsets, strict=True)]
        return layout_at(addresses, arena=arena, arena_bytes=ARENA_BYTES)


# The first is what every GPU that we have seen gives. The last is below 2**39, for systems with short addresses.
PLACES = (
    Place(0x2000_0000_0000, 1 << 37),
    Place(0x1000_0000_0000, 1 << 37),
    Place(0x4000_0000_0000, 1 << 37),
    Place(0x0010_0000_0000, 1 << 34),
)
