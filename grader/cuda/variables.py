"""Puts a module's variables back to what its cubin says, so that nothing is kept in them from lap to lap.

A variable is a symbol in one of three sections of the ELF: .nv.global (zeros at first), .nv.global.init and
.nv.constant3 (whose bytes are in the file). The driver finds it by its name, static ones of a function too. Where a
section lies in one piece, that is put back whole, with what has no name, as the padding between two variables; some
drivers give each variable memory of its own (seen on an H200), and then each is put back by itself.
"""

from __future__ import annotations

import ctypes
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.cuda.driver import Driver, DriverError
from grader.cuda.memory import fill
from grader.record.plan import PlanInvalid

_SECTIONS = (".nv.global", ".nv.global.init", ".nv.constant3")
_MANAGED = "STV_EXPORTED"  # pyelftools' name for 4, which is STO_CUDA_MANAGED in a cubin
# Of the functions that a driver has for kernels those that give no memory; the others are malloc and its like, such as
# __cuda_syscall_aligned_malloc, which __nv_aligned_device_malloc becomes.
_WITHOUT_MEMORY = ("__assertfail", "vprintf")


@dataclass(frozen=True)
class Section:
    """Variables that are filled alike: `symbols` are (name, offset, bytes) in the section, `content` its first bytes,
    None for zeros.
    """

    size: int
    content: bytes | None
    symbols: tuple[tuple[str, int, int], ...]

    def content_of(self, offset: int, size: int) -> bytes | None:
        """The first bytes of a variable in it."""
        return None if self.content is None else self.content[offset : offset + size]


@dataclass(frozen=True)
class Module:
    """What a cubin keeps from launch to launch; `unrestorable` names what nobody can put back, None if all can be."""

    sections: tuple[Section, ...]
    unrestorable: str | None


def read_module(image: bytes) -> Module:
    """The variables of a cubin; raises `PlanInvalid` for what is no such file."""
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(io.BytesIO(image))
        sections: list[Any] = list(elf.iter_sections())
        symbols = [symbol for section in sections if section.name == ".symtab" for symbol in section.iter_symbols()]
        return Module(tuple(_sections(sections, symbols)), _unrestorable(symbols))
    except Exception as error:  # whatever a damaged file leads pyelftools to
        raise PlanInvalid("the cubin is no ELF file that can be read") from error


def _sections(sections: list[Any], symbols: list[Any]) -> Iterator[Section]:
    for number, section in enumerate(sections):
        if section.name not in _SECTIONS or not section["sh_size"]:
            continue
        named = [
            (symbol.name, int(symbol["st_value"]), int(symbol["st_size"]))
            for symbol in symbols
            if symbol["st_shndx"] == number and symbol["st_info"]["type"] == "STT_OBJECT"
        ]
        content = None if section["sh_type"] == "SHT_NOBITS" else bytes(section.data())
        yield Section(int(section["sh_size"]), content, tuple(named))


def _unrestorable(symbols: list[Any]) -> str | None:
    for symbol in symbols:
        if symbol["st_other"]["visibility"] == _MANAGED:
            return f"the managed variable {symbol.name}"
        is_drivers = symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["type"] == "STT_FUNC"
        if is_drivers and symbol.name not in _WITHOUT_MEMORY:
            return f"memory that a kernel gets by {symbol.name}"
    return None


class Variables:
    """The variables of a loaded module. `found` is false where the driver does not say where one of them lies: then
    only loading the module again puts them back. Raises `DriverError`.
    """

    def __init__(self, driver: Driver, handle: Any, module: Module) -> None:
        self._driver = driver
        self._held: list[tuple[int, Any, int]] = []
        self.found = True
        for section in module.sections:
            pieces = self._pieces(handle, section)
            self.found &= pieces is not None
            for address, content, size in pieces or ():
                held = None if content is None else ctypes.create_string_buffer(content, size)
                self._held.append((address, held, size))

    def restore(self, stream: Any) -> None:
        """All of them as they were when the module was loaded; in stream order."""
        for base, content, size in self._held:
            if content is None:
                fill(self._driver, base, size, b"\0", stream)
            else:
                self._driver.call("cuMemcpyHtoDAsync", base, ctypes.addressof(content), size, stream)

    def _pieces(self, handle: Any, section: Section) -> list[tuple[int, bytes | None, int]] | None:
        """(address, content, bytes) of what is to be put back; None where a variable is nowhere to be found."""
        addresses = [self._address(handle, name) for name, _, _ in section.symbols]
        bases = {
            address - offset
            for address, (_, offset, _) in zip(addresses, section.symbols, strict=True)
            if address is not None
        }
        if len(bases) == 1 and self._is_in_one_piece(base := bases.pop(), section.size):
            return [(base, section.content, section.size)]
        pieces = []
        for address, (_, offset, size) in zip(addresses, section.symbols, strict=True):
            if address is None:
                return None
            pieces.append((address, section.content_of(offset, size), size))
        return pieces

    def _address(self, handle: Any, name: str) -> int | None:
        try:
            address, _ = self._driver.call("cuModuleGetGlobal", handle, name.encode())
        except DriverError as error:
            if error.name != "CUDA_ERROR_NOT_FOUND":
                raise
            return None
        return int(address)

    def _is_in_one_piece(self, address: int, size: int) -> bool:
        first, length = (int(number) for number in self._driver.call("cuMemGetAddressRange", address))
        return first <= address and address + size <= first + length
