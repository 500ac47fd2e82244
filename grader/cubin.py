"""Reads from a cubin what each kernel needs: registers, shared and local memory, its most threads, its parameters;
and the sizes of the module's variables.

A cubin is an ELF file. Its section .nv.info holds attributes of all kernels by symbol, .nv.info.NAME those of one. An
attribute is a format byte, an attribute byte and two bytes: a value (formats 1 to 3), or (format 4) the size of the
value that follows. The numbers are those that cuobjdump names EIATTR_...; NVIDIA publishes no list of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SIZED = 4
_MAX_THREADS = 0x05
_REQUIRED_THREADS = 0x10
_FRAME_SIZE = 0x11
_MIN_STACK_SIZE = 0x12
_KPARAM_INFO = 0x17
_REGCOUNT = 0x2F
_KPARAM_INFO_V2 = 0x45
_MOST_THREADS = 1024  # a block's, on every architecture since sm_20
# From sm_90 on the system's own shared memory of each block is counted into .nv.shared.NAME (measured with ptxas 13.0).
_FIRST_TO_RESERVE_SHARED = 90
_RESERVED_SHARED = 1024
# __device__ without and with a first value, __constant__
_OF_VARIABLES = (".nv.global", ".nv.global.init", ".nv.constant3")

_OF_CODE = (".text.", ".nv.constant", ".nv.global", ".nv.shared", ".nv.info")
# Where a kernel begins and which function a call reaches stand in symbols and relocations, not in the code.
_OF_LINKS = (".symtab", ".strtab", ".rel.text.", ".rela.text.", ".rel.nv.", ".rela.nv.")

_UNKNOWN = 0xFFFFFFFF  # as the stack of what calls itself


@dataclass(frozen=True)
class Kernel:
    """What ptxas made of one kernel.

    `registers` a thread; `static_shared` and `local` in bytes, a block's and a thread's; `max_threads` of a block, from
    `__launch_bounds__` or 1024; parameter sizes and offsets in bytes, in order.
    """

    name: str
    registers: int
    static_shared: int
    local: int
    max_threads: int
    parameter_sizes: tuple[int, ...]
    parameter_offsets: tuple[int, ...]

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Kernel:
        """What `dataclasses.asdict` made of a kernel, after a turn through JSON."""
        sizes, offsets = tuple(plain["parameter_sizes"]), tuple(plain["parameter_offsets"])
        return cls(**(plain | {"parameter_sizes": sizes, "parameter_offsets": offsets}))


def read_kernels(cubin: Path) -> dict[str, Kernel]:
    """The kernels of a cubin by mangled name."""
    from elftools.elf.elffile import ELFFile  # slow, and never needed for what is in the cache

    with cubin.open("rb") as stream:
        elf = ELFFile(stream)
        sections: dict[str, Any] = {section.name: section for section in elf.iter_sections()}
        symbols = [symbol.name for symbol in sections[".symtab"].iter_symbols()]
        of_all = _by_symbol(sections[".nv.info"].data(), symbols) if ".nv.info" in sections else {}
        of_one = {name: sections[f".nv.info.{name}"].data() for name in of_all if f".nv.info.{name}" in sections}
        sizes = {name: section["sh_size"] for name, section in sections.items()}
        reserved = _RESERVED_SHARED if elf["e_flags"] >> 8 & 0xFF >= _FIRST_TO_RESERVE_SHARED else 0
    return {
        name: _kernel(name, of_all[name], own, max(sizes.get(f".nv.shared.{name}", 0) - reserved, 0))
        for name, own in of_one.items()
    }


def read_variables(cubin: Path) -> dict[str, int]:
    """The bytes of each __device__ and __constant__ variable of a cubin, by mangled name."""
    from elftools.elf.elffile import ELFFile  # slow, and never needed for what is in the cache

    with cubin.open("rb") as stream:
        elf = ELFFile(stream)
        sections: list[Any] = list(elf.iter_sections())
        symbols = next(section for section in sections if section.name == ".symtab")
        numbers = {number for number, section in enumerate(sections) if section.name in _OF_VARIABLES}
        return {
            symbol.name: symbol["st_size"]
            for symbol in symbols.iter_symbols()
            if symbol["st_shndx"] in numbers and symbol["st_info"]["type"] == "STT_OBJECT"
        }


def read_code(cubin: Path) -> list[tuple[str, bytes]]:
    """The sections that decide what runs, by name in order: code, constants, first values, what a launch needs, and
    how the driver links them; first the names of all sections, which are numbered in the others.

    Of memory that has no first values, shared memory above all, it is the size.
    """
    from elftools.elf.elffile import ELFFile  # slow, and never needed for what is in the cache

    with cubin.open("rb") as stream:
        sections: list[Any] = list(ELFFile(stream).iter_sections())
        found = [section for section in sections if section.name.startswith((*_OF_CODE, *_OF_LINKS))]
        names = "\n".join(section.name for section in sections)
        return [("", names.encode()), *sorted((section.name, _content(section)) for section in found)]


def _content(section: Any) -> bytes:
    """With those fields of the header that say what the bytes are: of code its registers and barriers, of relocations
    whose they are.
    """
    fields = " ".join(str(section[field]) for field in ("sh_type", "sh_flags", "sh_link", "sh_info", "sh_size"))
    return fields.encode() + (b"" if section["sh_type"] == "SHT_NOBITS" else bytes(section.data()))


def _kernel(name: str, of_all: dict[int, int], info: bytes, static_shared: int) -> Kernel:
    own = list(_attributes(info))
    parameters = sorted(filter(None, (_parameter(attribute, value) for attribute, value in own)))
    bounds = [value for attribute, value in own if attribute in (_MAX_THREADS, _REQUIRED_THREADS)]
    x, y, z = struct.unpack("<3I", bounds[0]) if bounds else (_MOST_THREADS, 1, 1)
    return Kernel(
        name=name,
        registers=of_all[_REGCOUNT],
        static_shared=static_shared,
        local=max(size for size in (of_all.get(_FRAME_SIZE, 0), of_all.get(_MIN_STACK_SIZE, 0), 0) if size != _UNKNOWN),
        max_threads=x * y * z,
        parameter_sizes=tuple(size for _, _, size in parameters),
        parameter_offsets=tuple(offset for _, offset, _ in parameters),
    )


def _attributes(info: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position + 4 <= len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, position)
        position += 4
        if form == _SIZED:
            yield attribute, info[position : position + value]
            position += value
        else:
            yield attribute, value.to_bytes(2, "little")


def _by_symbol(info: bytes, symbols: list[str]) -> dict[str, dict[int, int]]:
    """For each kernel the attributes that .nv.info gives as a symbol's number and one value."""
    found: dict[str, dict[int, int]] = {}
    for attribute, value in _attributes(info):
        if attribute in (_REGCOUNT, _FRAME_SIZE, _MIN_STACK_SIZE):
            symbol, number = struct.unpack("<II", value)
            found.setdefault(symbols[symbol], {})[attribute] = number
    return found


def _parameter(attribute: int, value: bytes) -> tuple[int, int, int] | None:
    """(place, offset, size) of one parameter; the second form is for structs that the first has no room for."""
    if attribute == _KPARAM_INFO:
        _, place, offset, packed = struct.unpack("<IHHI", value)
        return place, offset, packed >> 18
    if attribute == _KPARAM_INFO_V2:
        _, place, offset, size, _ = struct.unpack("<IHHHH", value)
        return place, offset, size
    return None
