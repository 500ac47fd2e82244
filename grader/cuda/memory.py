"""Device memory at addresses that were chosen before: ranges are reserved first, and memory is mapped there later."""

from __future__ import annotations

from typing import Any

from grader.cuda.driver import Driver, DriverError

# A driver gives small ranges where it likes, also among the addresses that a launcher's libraries may have; seen on an
# H200, it keeps to the hint for a large one. Reserved addresses cost nothing.
_LEAST = 1 << 30


class AddressRange:
    """A reserved range of device addresses; `map` puts memory under its first bytes, `unmap` takes it away.

    The range is longer than what is ever mapped: the next thing in the address space begins a granule later at least,
    so that a kernel which runs past the end of the memory meets nothing.
    """

    def __init__(self, driver: Driver, size: int, hint: int = 0) -> None:
        self._driver = driver
        self._granule = int(
            driver.call(
                "cuMemGetAllocationGranularity",
                self._properties(),
                driver.enum("CUmemAllocationGranularity_flags", "MEM_ALLOC_GRANULARITY_RECOMMENDED"),
            )
        )
        self.size = max(_LEAST, self._whole(size)) + self._granule
        self.base = self._reserve(hint)
        self.mapped = 0  # bytes, from the base on
        self._handle: Any = None

    def _reserve(self, hint: int) -> int:
        try:
            return int(self._driver.call("cuMemAddressReserve", self.size, 0, hint, 0))
        except DriverError:
            if not hint:
                raise
            return self._reserve(0)  # a hint is only a hint

    def holds(self, address: int, size: int) -> bool:
        """Whether these bytes can be mapped here."""
        return self.base <= address and address + size <= self.base + self.size - self._granule

    def around(self, address: int, size: int) -> list[tuple[int, int]]:
        """The mapped memory before and after these bytes of it, as (address, bytes)."""
        end = address + size
        return [(self.base, address - self.base), (end, self.base + self.mapped - end)]

    def map(self, size: int) -> None:
        """Memory for the first `size` bytes, one granule at least. It holds anything."""
        driver, whole = self._driver, self._whole(size)
        self.unmap()
        self._handle = driver.call("cuMemCreate", whole, self._properties(), 0)
        try:
            driver.call("cuMemMap", self.base, whole, 0, self._handle, 0)
            self.mapped = whole
            access = driver.api.CUmemAccessDesc()
            access.location.type = driver.enum("CUmemLocationType", "MEM_LOCATION_TYPE_DEVICE")
            access.location.id = int(driver.device)
            access.flags = driver.enum("CUmemAccess_flags", "MEM_ACCESS_FLAGS_PROT_READWRITE")
            driver.call("cuMemSetAccess", self.base, whole, [access], 1)
        except DriverError:
            self.unmap()
            raise

    def unmap(self) -> None:
        """Gives the memory back; the addresses stay reserved."""
        if self.mapped:
            self._driver.call("cuMemUnmap", self.base, self.mapped)
        if self._handle is not None:
            self._driver.call("cuMemRelease", self._handle)
        self.mapped, self._handle = 0, None

    def release(self) -> None:
        """Gives the addresses back as well; the range is of no use afterwards."""
        self.unmap()
        self._driver.call("cuMemAddressFree", self.base, self.size)

    def _whole(self, size: int) -> int:
        return max(-(-size // self._granule), 1) * self._granule

    def _properties(self) -> Any:
        driver = self._driver
        properties = driver.api.CUmemAllocationProp()
        properties.type = driver.enum("CUmemAllocationType", "MEM_ALLOCATION_TYPE_PINNED")
        properties.location.type = driver.enum("CUmemLocationType", "MEM_LOCATION_TYPE_DEVICE")
        properties.location.id = int(driver.device)
        return properties


def fill(driver: Driver, address: int, size: int, pattern: bytes, stream: Any) -> None:
    """`size` bytes from `address` on become repetitions of `pattern`: 1, 2, 4 or 8 bytes, as is the alignment."""
    count = size // len(pattern)
    if not count:
        return
    words = [int.from_bytes(pattern[start : start + 4], "little") for start in range(0, len(pattern), 4)]
    if len(pattern) < 4:
        driver.call(f"cuMemsetD{8 * len(pattern)}Async", address, words[0], count, stream)
    elif len(set(words)) == 1:
        driver.call("cuMemsetD32Async", address, words[0], count * len(words), stream)
    else:
        for place, word in enumerate(words):  # every second word
            driver.call("cuMemsetD2D32Async", address + 4 * place, len(pattern), word, 1, count, stream)
