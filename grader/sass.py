"""Reads from a cubin the loads and stores that ptxas made, each with the line of the PTX that it was made of.

The section .nv_debug_line_sass, which ptxas writes under -lineinfo, is a DWARF line program (version 2) that gives for
each machine instruction its line of PTX. Where ptxas makes one instruction of several, it carries the line of one of
them, and the lines of the others have none.

NVIDIA publishes neither that section nor the encoding. Both were measured with nvcc 13.0.88 on one access of each
width and space, for sm_75, sm_80 and sm_90, where they agree (tests/test_sass_reading.py repeats it): an instruction
has 128 bits, its operation is in bits 0 to 8, bits 9 to 11 say where its operands come from, bits 73 to 75 how wide a
load or store is: u8, s8, u16, s16, 32, 64, 128.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_INSTRUCTION_BYTES = 16
_OPERATION_BITS = 9
_NAMES = {
    0x180: "LD",
    0x181: "LDG",
    0x183: "LDL",
    0x184: "LDS",
    0x185: "ST",
    0x186: "STG",
    0x187: "STL",
    0x188: "STS",
}
_WIDTH_BIT = 73
_WIDTHS = (1, 1, 2, 2, 4, 8, 16, 0)  # bytes; nothing has been seen under the last number

_LINES = ".nv_debug_line_sass"
_MOST_LINE_BYTES = 4 << 20  # CUB's heaviest files have some 200,000
_COPY, _ADVANCE_ADDRESS, _ADVANCE_LINE = 1, 2, 3
_ADVANCE_CONSTANT, _ADVANCE_FIXED = 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2
_LAST_WITH_THIS_HEADER = 3  # version 4 of DWARF has one field more


@dataclass(frozen=True, slots=True)
class MemoryInstruction:
    """A load or store: `name` as nvdisasm spells it ("LDS"), `bytes` that a lane moves (0: not known), where it stands
    in its section, and the line of PTX that it was made of, counted from 1.
    """

    section: str
    address: int
    name: str
    bytes: int
    ptx_line: int

    @property
    def is_load(self) -> bool:
        return self.name.startswith("LD")


def read_memory_instructions(cubin: Path) -> list[MemoryInstruction]:
    """The loads and stores of all kernels and functions of a cubin; none where it does not tell their lines."""
    from elftools.elf.elffile import ELFFile  # slow, and never needed for what is in the cache

    with cubin.open("rb") as stream:
        elf = ELFFile(stream)
        lines = elf.get_section_by_name(_LINES)
        if lines is None or lines.data_size > _MOST_LINE_BYTES:
            return []
        starts = dict(_relocations(elf))
        found: list[MemoryInstruction] = []
        try:
            for sequence in _sequences(lines.data()):
                if sequence.place in starts:
                    section, start = starts[sequence.place]
                    found += _of_sequence(sequence, section.name, start, section.data())
        except (struct.error, IndexError, ValueError, ZeroDivisionError):  # a form that this reader does not know
            return []
        return found


def _relocations(elf: Any) -> Iterator[tuple[int, tuple[Any, int]]]:
    """For each place in the line table that holds an address: the section and the offset in it that are meant."""
    symbols = elf.get_section_by_name(".symtab")
    for prefix in (".rel", ".rela"):  # the second from sm_90 on
        relocations = elf.get_section_by_name(prefix + _LINES)
        for entry in relocations.iter_relocations() if relocations is not None else ():
            symbol = symbols.get_symbol(entry["r_info_sym"])
            addend = entry["r_addend"] if entry.is_RELA() else 0
            yield entry["r_offset"], (elf.get_section(symbol["st_shndx"]), symbol["st_value"] + addend)


@dataclass(slots=True)
class _Sequence:
    """Rows of addresses and lines, the end of the code last; `place` is where in the table its first address stands."""

    place: int
    rows: list[tuple[int, int]] = field(default_factory=list)


def _of_sequence(sequence: _Sequence, section: str, start: int, code: bytes) -> Iterator[MemoryInstruction]:
    for (first, line), (end, _) in zip(sequence.rows, sequence.rows[1:], strict=False):
        if (start + first) % _INSTRUCTION_BYTES:
            raise ValueError(first)
        for address in range(start + first, min(start + end, len(code)), _INSTRUCTION_BYTES):
            word = int.from_bytes(code[address : address + _INSTRUCTION_BYTES], "little")
            name = _NAMES.get(word & ((1 << _OPERATION_BITS) - 1))
            if name is not None:
                yield MemoryInstruction(section, address, name, _WIDTHS[word >> _WIDTH_BIT & 7], line)


def _sequences(table: bytes) -> Iterator[_Sequence]:
    """All sequences of a table of line programs (DWARF 2, section 6.2)."""
    unit = 0
    while unit < len(table):
        length, version, header_length = struct.unpack_from("<IHI", table, unit)
        if version > _LAST_WITH_THIS_HEADER:
            raise ValueError(version)
        end = unit + 4 + length
        yield from _LineProgram(table[:end], unit + 10, unit + 10 + header_length).run()
        unit = end


class _LineProgram:
    """One line program; columns, files and statements say nothing here."""

    def __init__(self, table: bytes, fields: int, first: int) -> None:
        self.table = table
        self.at = first
        layout: tuple[int, ...] = struct.unpack_from("<BBbBB", table, fields)
        self.step = layout[0]
        self.line_base, self.line_range, self.first_special = layout[2:]
        self.operand_counts = table[fields + 5 : fields + 4 + self.first_special]

    def run(self) -> Iterator[_Sequence]:
        sequence, address, line = _Sequence(-1), 0, 1
        while self.at < len(self.table):
            operation = self.byte()
            if operation == 0:
                end = self.unsigned() + self.at
                extended = self.byte()
                if extended == _SET_ADDRESS:
                    sequence.place, address = self.at, int.from_bytes(self.table[self.at : end], "little")
                elif extended == _END_SEQUENCE:
                    sequence.rows.append((address, 0))
                    yield sequence
                    sequence, address, line = _Sequence(-1), 0, 1
                self.at = end
            elif operation >= self.first_special:
                address_steps, lines = divmod(operation - self.first_special, self.line_range)
                address += address_steps * self.step
                line += self.line_base + lines
                sequence.rows.append((address, line))
            elif operation == _COPY:
                sequence.rows.append((address, line))
            elif operation == _ADVANCE_LINE:
                line += self.signed()
            else:
                address += self.advance(operation)

    def advance(self, operation: int) -> int:
        """How far a standard operation moves the address; its operands are read."""
        if operation == _ADVANCE_FIXED:
            self.at += 2
            return int.from_bytes(self.table[self.at - 2 : self.at], "little")
        if operation == _ADVANCE_CONSTANT:
            return (255 - self.first_special) // self.line_range * self.step
        operands = [self.unsigned() for _ in range(self.operand_counts[operation - 1])]
        return operands[0] * self.step if operation == _ADVANCE_ADDRESS else 0

    def byte(self) -> int:
        self.at += 1
        return self.table[self.at - 1]

    def unsigned(self) -> int:
        return self.variable_length()[0]

    def signed(self) -> int:
        value, bits = self.variable_length()
        return value - (1 << bits) if value >> (bits - 1) else value

    def variable_length(self) -> tuple[int, int]:
        """A number in LEB128, and how many bits it was given."""
        value = bits = 0
        while True:
            piece = self.byte()
            value |= (piece & 0x7F) << bits
            bits += 7
            if piece < 0x80:
                return value, bits
