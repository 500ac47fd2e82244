"""From an address in the host part of a built library to a line of the learner's file.

Made once, from the library's .debug_line, and saved with the build. What nvcc writes around the learner's code (the
host half of each kernel, registration) is left out: a launch is reported where the learner wrote it, not in a stub that
claims the kernel's line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# nvcc's own host functions as they are mangled: _ZL37__nv_save_fatbinhandle..., _Z37__device_stub__Z12....
_OF_NVCC = re.compile(r"(?:_ZL?\d+)?__(?:__)?(?:nv_|cuda|sti_|internal_cast|(?:wrapper__)?device_stub)")
_MOST_BYTES = 16 << 20  # of all sections that the file holds; CUB and Thrust make about one
# Line tables can hold far more than their bytes: a row takes one, and many units may share a table.
_MOST_LINE_BYTES = 200_000  # CUB and Thrust make about 20,000
_MOST_ROWS = 200_000
_MOST_UNITS = 1_000


class _TooMany(Exception):
    """More in the line tables than a course needs."""


@dataclass(frozen=True)
class HostLines:
    """Ranges of addresses and their lines: from `addresses[i]` to the next, the code is of `lines[i]`, 0 for none."""

    addresses: tuple[int, ...]
    lines: tuple[int, ...]

    def line(self, offset_in_library: int) -> int | None:
        """The learner's line for a *return address*: that of the call before it; None in a stub or a header.

        For the address of an instruction itself, as a signal handler sees it, ask for the next byte.
        """
        place = bisect_right(self.addresses, offset_in_library - 1) - 1
        return (self.lines[place] or None) if place >= 0 else None


@dataclass(frozen=True)
class HostCode:
    """The lines of a library, and for each of the learner's host functions by symbol its first and last line."""

    lines: HostLines
    functions: dict[str, tuple[int, int]]


@dataclass
class _Function:
    """Code from `start` to `end`, under one name or several; `lines` are those of the source that it holds."""

    start: int
    end: int
    names: list[str]
    stub: bool = False
    lines: set[int] = field(default_factory=set)


def read_host_code(library: Path, source_name: str, kernels: set[str], *, inlined: bool = False) -> HostCode:
    """What a library built with -g1 says of `source_name`; `kernels` are the mangled names of the cubin's kernels.

    `inlined`: host code may be optimised, so that headers' code stands within the learner's functions; it gets the line
    that was there before it.

    A source can write anything into the line tables with `asm`. Nonsense, or more than a course needs, gives no lines.
    """
    try:
        rows, functions = _read(library, source_name)
    except Exception:  # whatever the reader stumbles over
        return HostCode(HostLines((), ()), {})
    stubs = {_plain(kernel) for kernel in kernels}
    for function in functions:
        function.stub = any(_plain(name) in stubs or _OF_NVCC.match(name) for name in function.names)
    kept = _without_stubs(((address, line) for address, _, line in rows), functions, inlined=inlined)
    lines = _compact(list(kept))
    return HostCode(
        lines,
        {name: (min(code.lines), max(code.lines)) for code in functions if code.lines for name in code.names},
    )


def _read(library: Path, source_name: str) -> tuple[list[tuple[int, bool, int]], list[_Function]]:
    from elftools.elf.elffile import ELFFile  # slow, and never needed for what is in the cache

    with library.open("rb") as stream:
        elf = ELFFile(stream)
        held = (section["sh_size"] for section in elf.iter_sections() if section["sh_type"] != "SHT_NOBITS")
        if sum(held) > _MOST_BYTES:
            return [], []
        rows = sorted(_rows(elf, source_name), key=lambda row: row[:2])
        return rows, sorted(_functions(elf), key=lambda function: function.start)


def _rows(elf: Any, source_name: str) -> Iterator[tuple[int, bool, int]]:
    """(address, whether code follows, line) of each row of the line tables; line 0 for code that is not the learner's.

    In this order the end of one sequence comes before the start of the next at the same address.
    """
    dwarf = elf.get_dwarf_info()
    if dwarf.debug_line_sec is not None and dwarf.debug_line_sec.size > _MOST_LINE_BYTES:
        raise _TooMany
    rows = 0
    for number, unit in enumerate(dwarf.iter_CUs()):
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        first = 0 if program["version"] >= 5 else 1  # DWARF 5 counts files from 0
        learners = {
            place
            for place, file in enumerate(program["file_entry"], first)
            if Path(file.name.decode(errors="replace")).name == source_name
        }
        entries = program.get_entries()
        rows += len(entries)
        if rows > _MOST_ROWS or number > _MOST_UNITS:
            raise _TooMany
        for entry in entries:
            state = entry.state
            if state is not None:
                yield state.address, not state.end_sequence, state.line if state.file in learners else 0


def _functions(elf: Any) -> Iterable[_Function]:
    found: dict[int, _Function] = {}
    symbols = elf.get_section_by_name(".symtab")
    for symbol in symbols.iter_symbols() if symbols is not None else ():
        start, size = symbol["st_value"], symbol["st_size"]
        if symbol["st_info"]["type"] == "STT_FUNC" and size > 0:
            found.setdefault(start, _Function(start, start + size, [])).names.append(symbol.name)
    return found.values()


def _plain(name: str) -> str:
    """A mangled name without the marks of internal linkage: a static kernel has them on the host only."""
    return re.sub(r"L(?=\d)", "", name)


def _without_stubs(
    rows: Iterable[tuple[int, int]], functions: list[_Function], *, inlined: bool
) -> Iterator[tuple[int, int]]:
    """The rows, line 0 in stubs; what is the learner's is noted in its function."""
    starts = [function.start for function in functions]
    last, last_inside = 0, None
    for address, line in rows:
        place = bisect_right(starts, address) - 1
        inside = functions[place] if place >= 0 and address < functions[place].end else None
        kept = 0 if inside is not None and inside.stub else line
        if inside is not None and kept:
            inside.lines.add(kept)
        if inlined and not line and inside is last_inside:
            kept = last
        last, last_inside = kept, inside
        yield address, kept


def _compact(rows: list[tuple[int, int]]) -> HostLines:
    """One entry where the line changes; of several rows at one address the last is meant (the earlier hold no code)."""
    kept: list[tuple[int, int]] = []
    for address, line in dict(rows).items():
        if not kept or kept[-1][1] != line:
            kept.append((address, line))
    return HostLines(tuple(address for address, _ in kept), tuple(line for _, line in kept))
