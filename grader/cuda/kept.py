"""Numbered sets of a plan's inputs, kept on the device beside the memory that its kernels work in.

They lie at addresses drawn by chance, which no kernel is told: one that looks for them meets addresses without memory.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

from grader.cuda.checksum import Checksums
from grader.cuda.driver import Driver
from grader.cuda.memory import AddressRange
from grader.cuda.shared_file import mapped
from grader.record.plan import PlanBuffer

_CHUNK = 32 << 20
_FIRST, _PLACES, _APART = 1 << 44, 1 << 23, 1 << 21  # below all that is reserved for buffers


class KeptInputs:
    """Inputs by set and name. Raises `DriverError`; OSError for a file that cannot be mapped."""

    def __init__(self, driver: Driver, stream: Any) -> None:
        self._driver = driver
        self._stream = stream
        self._checksums: Checksums | None = None
        self._sums: dict[tuple[int, str], int] = {}
        self._held: dict[tuple[int, str], AddressRange] = {}

    def fill(self, number: int, buffer: PlanBuffer, path: str) -> None:
        """The values of one input in this set, from a file."""
        if not buffer.bytes:
            return
        held = self._held.get((number, buffer.name))
        if held is None:
            held = AddressRange(self._driver, buffer.bytes, _FIRST + secrets.randbelow(_PLACES) * _APART)
            held.map(buffer.bytes)
            self._held[number, buffer.name] = held
        with mapped(path, buffer.bytes) as first:
            for place, count in chunks(buffer.bytes):
                self._driver.call("cuMemcpyHtoD", held.base + place, first + place, count)
        self._sums[number, buffer.name] = self._checksum(held.base, buffer.bytes)

    def copy(self, number: int, buffer: PlanBuffer) -> None:
        """Puts an input of this set where the kernels look for it, in stream order; nothing if it was never filled."""
        held = self._held.get((number, buffer.name))
        if held is not None:
            self._driver.call("cuMemcpyDtoDAsync", buffer.address, held.base, buffer.bytes, self._stream)

    def is_unchanged(self, number: int, buffer: PlanBuffer, *, kept: bool) -> bool:
        """Whether an input, or what is kept of it here, still has the values that the set was filled with."""
        held = self._held.get((number, buffer.name))
        if held is None:
            return True
        address = held.base if kept else buffer.address
        return self._checksum(address, buffer.bytes) == self._sums[number, buffer.name]

    def forget(self) -> None:
        """Gives all memory back."""
        for held in self._held.values():
            held.release()
        self._held, self._sums = {}, {}

    def _checksum(self, address: int, size: int) -> int:
        if self._checksums is None:
            self._checksums = Checksums(self._driver)
        return self._checksums.of(address, size, self._stream)


def chunks(size: int) -> Iterator[tuple[int, int]]:
    """(place, bytes) of pieces of `size` bytes that a copy takes at once."""
    for place in range(0, size, _CHUNK):
        yield place, min(_CHUNK, size - place)
