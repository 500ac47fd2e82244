"""From an address in the host part of a built library to a line of the learner's file.

Made once, from the library's .debug_line, and saved with the build. What nvcc writes around the learner's code (the
host half of each kernel, registration) is left out: a launch is reported where the learner wrote it, not in a stub that
claims the kernel's line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Names of nvcc's own host functions, as they are mangled: _ZL37__nv_save_fatbinhandle..., _Z37__device_stub__Z12....
_OF_NVCC = re.compile(r"^_?Z?L?\d*(?:__wrapper)?_*(?:nv_|cuda|sti_|internal_cast|device_stub)")


@dataclass(frozen=True)
class HostLines:
    """Ranges of addresses and their lines: from `addresses[i]` to the next, the code is of `lines[i]`, 0 for none."""

    addresses: tuple[int, ...]
    lines: tuple[int, ...]

    def line(self, offset_in_library: int) -> int | None:
        """The learner's line for a *return address*: the line of the call before it. None in a stub or a header."""
        place = bisect_right(self.addresses, offset_in_library - 1) - 1
        return (self.lines[place] or None) if place >= 0 else None

    def exact(self, offset_in_library: int) -> int | None:
        """The learner's line for the address of an instruction itself, as a signal handler sees it."""
        return self.line(offset_in_library + 1)


@dataclass(frozen=True)
class HostCode:
    """The lines of a library, and for each of the learner's host functions by symbol its first and last line."""

    lines: HostLines
    functions: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class _Function:
    name: str
    start: int
    end: int


def read_host_code(library: Path, source_name: str, kernels: set[str]) -> HostCode:
    """What a library built with -g1 says of `source_name`; `kernels` are the mangled names of the cubin's kernels."""
    from elftools.elf.elffile import ELFFile  # slow, and never needed for what is in the cache

    with library.open("rb") as stream:
        elf = ELFFile(stream)
        rows = [(address, line) for address, _, line in sorted(_rows(elf, source_name), key=lambda row: row[:2])]
        functions = list(_functions(elf))
    stubs = [function for function in functions if _is_stub(function.name, kernels)]
    lines = _without(stubs, rows)
    return HostCode(_compact(lines), dict(_extents(functions, stubs, lines)))


def _rows(elf: Any, source_name: str) -> Iterator[tuple[int, bool, int]]:
    """(address, whether code follows, line) of each row of the line tables; line 0 for code that is not the learner's.

    In this order the end of one sequence comes before the start of the next at the same address.
    """
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        first = 0 if program["version"] >= 5 else 1  # DWARF 5 counts files from 0
        learners = {
            number
            for number, file in enumerate(program["file_entry"], first)
            if Path(file.name.decode(errors="replace")).name == source_name
        }
        for entry in program.get_entries():
            state = entry.state
            if state is not None:
                yield state.address, not state.end_sequence, state.line if state.file in learners else 0


def _functions(elf: Any) -> Iterator[_Function]:
    symbols = elf.get_section_by_name(".symtab")
    for symbol in symbols.iter_symbols() if symbols is not None else ():
        if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"] > 0:
            yield _Function(symbol.name, symbol["st_value"], symbol["st_value"] + symbol["st_size"])


def _is_stub(name: str, kernels: set[str]) -> bool:
    return _plain(name) in {_plain(kernel) for kernel in kernels} or _OF_NVCC.match(name) is not None


def _plain(name: str) -> str:
    """A mangled name without the marks of internal linkage: a static kernel has them on the host only."""
    return re.sub(r"L(?=\d)", "", name)


def _without(stubs: list[_Function], rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(address, 0 if any(stub.start <= address < stub.end for stub in stubs) else line) for address, line in rows]


def _compact(rows: list[tuple[int, int]]) -> HostLines:
    """One entry where the line changes; of several rows at one address the last is meant (the earlier hold no code)."""
    kept: list[tuple[int, int]] = []
    for address, line in dict(rows).items():
        if not kept or kept[-1][1] != line:
            kept.append((address, line))
    return HostLines(tuple(address for address, _ in kept), tuple(line for _, line in kept))


def _extents(
    functions: list[_Function], stubs: list[_Function], rows: list[tuple[int, int]]
) -> Iterator[tuple[str, tuple[int, int]]]:
    for function in functions:
        lines = [line for address, line in rows if function.start <= address < function.end and line > 0]
        if function not in stubs and lines:
            yield function.name, (min(lines), max(lines))
