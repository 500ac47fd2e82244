"""Loads and stores "as compiled": which of those in the PTX ptxas merged, and how wide the result is.

The cubin says for each machine instruction which line of PTX it was made of (`grader.sass`). A load of the PTX whose
line has an instruction of the same width stayed as it was. One whose line has none is part of another: of one that was
made wider, or that reads the same bytes, in the same block, with the same guard, from the same base. Where that does
not fit to the byte, both stay as written: nothing is guessed. How often an instruction runs is taken from the PTX.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from grader.sass import MemoryInstruction
from grader.simt.cfg import CodeBlock
from grader.simt.code import Code, Op
from grader.simt.program import CONSTANT32, CONSTANT64, INDEX_MASK, KIND_SHIFT, UNKNOWN_WIDTH

Compiled: TypeAlias = Mapping[int, Sequence[MemoryInstruction]]
"""The machine's loads and stores by line of the PTX."""

_SPACES = frozenset({"global", "shared", "local", "generic"})
_TYPE_BYTES = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "b32": 4, "b64": 8}
_ADDITIONS = frozenset({"add.b32", "add.b64"})
_LOCAL = frozenset({"ld.local", "st.local"})


def by_ptx_line(instructions: Iterable[MemoryInstruction]) -> Compiled:
    """What `grader.sass` reads, as `mark_merged` takes it."""
    found: dict[int, list[MemoryInstruction]] = {}
    for instruction in instructions:
        found.setdefault(instruction.ptx_line, []).append(instruction)
    return found


@dataclass(slots=True, eq=False)
class _Access:
    """A load or store of the PTX: `family` is what two must share to be merged, `offset` and `bytes` what it touches
    from their base on, `width` the bytes of its machine instructions: 0 without any, None where they differ.
    """

    op: Op
    family: tuple[object, ...]
    offset: int
    bytes: int
    width: int | None

    @property
    def end(self) -> int:
        return self.offset + self.bytes


_Window: TypeAlias = tuple[list[_Access], list[_Access]]
"""Of as many bytes as one access moves: those that have an instruction, and those that are part of it."""


def mark_merged(blocks: Sequence[CodeBlock], code: Code, compiled: Compiled) -> None:
    """Sets `Op.compiled` of a function's loads and stores, where it is known."""
    accesses = [access for block in blocks for access in _accesses(block, code, compiled)]
    families: dict[tuple[object, ...], list[_Access]] = {}
    for access in accesses:
        families.setdefault(access.family, []).append(access)
        if access.width == access.bytes:
            access.op.compiled = access.bytes
    for family in families.values():
        _mark_family(family)
    _mark_unused_local(accesses)


def _accesses(block: CodeBlock, code: Code, compiled: Compiled) -> Iterable[_Access]:
    values = _Values(code)
    for number, op in enumerate(block.ops):
        parts = op.name.split(".")
        verb, kind, vector = parts[0], *_type(parts)
        if verb in ("ld", "st") and kind in _TYPE_BYTES and not _SPACES.isdisjoint(parts):
            # One with an order of its own, `volatile` or `acquire`, is never merged; its name tells it from others.
            address = op.sources[0]
            base, offset = values.origin(address)
            guard = (op.guard, values.version(op.guard - 1 >> 1)) if op.guard else ()
            family = (id(block), op.name.replace(".tracked", "").partition(f".{kind}")[0], base, guard)
            width = _width(compiled.get(op.line, ()), is_load=verb == "ld")
            yield _Access(op, family, offset + op.immediate, _TYPE_BYTES[kind] * vector, width)
        values.written(op, number)


def _type(parts: list[str]) -> tuple[str, int]:
    """The type in an operation's name, and how many values of it there are: `ld.shared.b32.v4`."""
    if parts[-1][0] == "v" and parts[-1][1:].isdecimal():
        return parts[-2], int(parts[-1][1:])
    return parts[-1], 1


def _width(instructions: Sequence[MemoryInstruction], *, is_load: bool) -> int | None:
    """Bytes of the loads (stores) among the instructions: 0 where there are none, None where they differ."""
    widths = {instruction.bytes for instruction in instructions if instruction.is_load == is_load}
    if not widths:
        return 0
    return widths.pop() or None if len(widths) == 1 else None


class _Values:
    """What addresses in one block are sums of: a value as it was at some point, and a constant."""

    def __init__(self, code: Code) -> None:
        self.constants = {
            kind: {index: value for value, index in pool.items()}
            for kind, pool in ((CONSTANT32, code.constants32), (CONSTANT64, code.constants64))
        }
        self.versions: dict[int, int] = {}
        self.sums: dict[int, tuple[tuple[int, int], int]] = {}

    def version(self, value: int) -> int:
        """Number of the operation in this block that wrote the value last; -1 if none did."""
        return self.versions.get(value, -1)

    def origin(self, operand: int) -> tuple[tuple[int, int], int]:
        """Base and offset of an address; all constants have one base."""
        kind, index = operand >> KIND_SHIFT, operand & INDEX_MASK
        if kind in self.constants:
            return (-1, kind), self.constants[kind][index]
        return self.sums.get(index, ((index, self.version(index)), 0))

    def written(self, op: Op, number: int) -> None:
        """Notes what the operation, number `number` of the block, does to the values."""
        total = self._sum(op)
        for value in op.written_values():
            self.versions[value] = number
            self.sums.pop(value, None)
        if total is not None:
            self.sums[op.results[0] & INDEX_MASK] = total

    def _sum(self, op: Op) -> tuple[tuple[int, int], int] | None:
        if op.name not in _ADDITIONS or op.guard:
            return None
        constants = [source for source in op.sources if source >> KIND_SHIFT in self.constants]
        if len(constants) != 1:
            return None
        (other,) = (source for source in op.sources if source not in constants)
        kind, index = constants[0] >> KIND_SHIFT, constants[0] & INDEX_MASK
        bits = 32 if kind == CONSTANT32 else 64
        base, offset = self.origin(other)
        added = self.constants[kind][index]
        return base, offset + (added - (1 << bits) if added >> (bits - 1) else added)


def _mark_family(family: list[_Access]) -> None:
    """Marks what is part of what, among accesses that may have been merged."""
    missing = [access for access in family if access.width == 0]
    wide = [access for access in family if access.width is not None and access.width >= access.bytes]
    for width in sorted({access.width for access in wide if access.width}, reverse=True):
        carriers = [access for access in wide if access.width == width]
        for inside, parts in _best_windows(carriers, missing, width):
            together = (*inside, *parts)
            span = max(access.end for access in together) - min(access.offset for access in together)
            if 2 * span > width:  # less would not have taken so wide an access: it serves several rounds of a loop
                for access in together:
                    access.op.compiled = access.width or 0
        missing = [access for access in missing if access.op.compiled == UNKNOWN_WIDTH]


def _best_windows(carriers: list[_Access], missing: list[_Access], width: int) -> list[_Window]:
    """The carriers of `width` bytes with their parts, for the alignment of the base that explains most.

    Nobody says at which offsets from the base a wide access may begin; all do at the same ones, modulo the width. None
    where two alignments explain equally much, but not the same.
    """
    best: list[_Window] = []
    most, ambiguous = 0, False
    for residue in {access.offset % width for access in (*carriers, *missing)}:
        found = _windows(carriers, missing, width, residue)
        explained = sum(len(parts) for _, parts in found)
        if explained > most:
            best, most, ambiguous = found, explained, False
        elif explained == most and most and found != best:
            ambiguous = True
    return [] if ambiguous else best


def _windows(carriers: list[_Access], missing: list[_Access], width: int, residue: int) -> list[_Window]:
    """What lies in the same `width` bytes as a carrier, if they begin at `residue`; none where that cannot be."""
    found: dict[int, _Window] = {}
    for access in (*carriers, *missing):
        number = (access.offset - residue) // width
        fits = access.end <= (number + 1) * width + residue
        if access.width == width and not fits:
            return []
        if access.width == width:
            found.setdefault(number, ([], []))[0].append(access)
        elif number in found and fits:
            found[number][1].append(access)
    return [window for window in found.values() if window[1]]


def _mark_unused_local(accesses: list[_Access]) -> None:
    """Local memory of which no load or store is left lies in registers: whatever was made of several has a line."""
    local = [access for access in accesses if access.op.name.startswith(tuple(_LOCAL))]
    if all(access.width == 0 for access in local):
        for access in local:
            access.op.compiled = 0
