"""Cubins for the pretended GPU (tests/pretend_gpu.py): ELF files with variables, and no code."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from typing import Any


def pretended_cubin(
    zeros: Mapping[str, int] | None = None,
    values: Mapping[str, bytes] | None = None,
    *,
    managed: tuple[str, ...] = (),
    undefined: tuple[str, ...] = (),
) -> bytes:
    """An ELF file with variables of these sizes in .nv.global, and of these contents in .nv.global.init; functions that
    are `undefined` in it are the driver's.
    """
    names, symbols = bytearray(b"\0"), bytearray(24)
    ends = [0, 0]
    for section, name, size in [
        *((4, name, size) for name, size in (zeros or {}).items()),
        *((3, name, len(value)) for name, value in (values or {}).items()),
    ]:
        symbols += struct.pack("<IBBHQQ", len(names), 1, 4 if name in managed else 0, section, ends[section - 3], size)
        names += name.encode() + b"\0"
        ends[section - 3] += size
    for name in undefined:
        symbols += struct.pack("<IBBHQQ", len(names), 0x12, 0, 0, 0, 0)
        names += name.encode() + b"\0"
    content = b"".join((values or {}).values())
    titles = [".symtab", ".strtab", ".nv.global.init", ".nv.global"]
    where = dict.fromkeys(titles, 0)
    table = bytearray(names)
    for title in titles:
        where[title] = len(table)
        table += title.encode() + b"\0"
    parts = [(".symtab", 2, bytes(symbols), 2, 24), (".strtab", 3, bytes(table), 0, 0)]
    parts += [(".nv.global.init", 1, content, 0, 0), (".nv.global", 8, bytes(ends[1]), 0, 0)]
    headers, body, at = bytearray(64), bytearray(), 64
    for title, kind, data, link, entry in parts:
        headers += struct.pack("<IIQQQQIIQQ", where[title], kind, 3, 0, at, len(data), link, 0, 8, entry)
        body += data
        at += len(data)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, at, 0, 64, 56, 0, 64, len(parts) + 1, 2)
    return bytes(head + body + headers)


def sections_of(image: bytes) -> list[tuple[bytes, list[tuple[str, int, int]]]]:
    """Content and (name, offset, size) of the variables in each section that has some."""
    from elftools.elf.elffile import ELFFile

    if len(image) < 64:
        return []
    sections: list[Any] = list(ELFFile(io.BytesIO(image)).iter_sections())
    symbols = next(section for section in sections if section.name == ".symtab")
    return [
        (
            bytes(section["sh_size"]) if section["sh_type"] == "SHT_NOBITS" else section.data(),
            [
                (one.name, one["st_value"], one["st_size"])
                for one in symbols.iter_symbols()
                if one["st_shndx"] == number
            ],
        )
        for number, section in enumerate(sections)
        if section.name.startswith(".nv.global")
    ]
