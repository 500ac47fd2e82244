"""Numbered sets of a plan's inputs, kept on the device beside the memory that its kernels work in.

They lie at addresses drawn by chance, which no kernel is told: one that looks for them meets addresses without memory.
"""

from __future__ import annotations

import ctypes
import secrets
from collections.abc import Iterator
from typing import Any

from grader.cuda.driver import Driver
from grader.cuda.memory import AddressRange
from grader.cuda.shared_file import mapped
from grader.record.plan import PlanBuffer

_CHUNK = 32 << 20
_FIRST, _PLACES, _APART = 1 << 44, 1 << 23, 1 << 21  # below all that is reserved for buffers


class KeptInputs:
    """Inputs by set and name. Raises `DriverError`; OSError for a file that cannot be mapped."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
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

    def copy(self, number: int, buffer: PlanBuffer, stream: Any) -> None:
        """Puts an input of this set where the kernels look for it, in stream order; nothing if it was never filled."""
        held = self._held.get((number, buffer.name))
        if held is not None:
            self._driver.call("cuMemcpyDtoDAsync", buffer.address, held.base, buffer.bytes, stream)

    def address(self, number: int, buffer: PlanBuffer) -> int:
        """Where the set has this input; 0 if it was never filled."""
        held = self._held.get((number, buffer.name))
        return held.base if held is not None else 0

    def forget(self) -> None:
        """Gives all memory back."""
        for held in self._held.values():
            held.release()
        self._held = {}


def same_bytes(driver: Driver, address: int, path: str, size: int) -> bool:
    """Whether the device has at `address` what is in the file."""
    if not size:
        return True
    chunk = ctypes.create_string_buffer(min(size, _CHUNK))
    with mapped(path, size) as first:
        for place, count in chunks(size):
            driver.call("cuMemcpyDtoH", ctypes.addressof(chunk), address + place, count)
            if ctypes.string_at(chunk, count) != ctypes.string_at(first + place, count):
                return False
    return True


def chunks(size: int) -> Iterator[tuple[int, int]]:
    """(place, bytes) of pieces of `size` bytes that a copy takes at once."""
    for place in range(0, size, _CHUNK):
        yield place, min(_CHUNK, size - place)
