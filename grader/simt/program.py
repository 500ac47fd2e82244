"""The lowered program: what the software GPU executes, and the file it is kept in.

`docs/program-format.md` describes the file and every operation. This module holds the plain data, the
writer and the reader; `program_check` says whether a program is well formed, `program_text` shows one.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

MAGIC = b"GRSIMT\r\n"  # the line end shows a file that went through a text-mode copy
VERSION = 3

R32, R64, PREDICATE, CONSTANT32, CONSTANT64, CONSTANT_PREDICATE, NONE, NOT_PREDICATE = range(8)
KIND_SHIFT = 28
INDEX_MASK = (1 << KIND_SHIFT) - 1
SINK = NONE << KIND_SHIFT
FALSE = CONSTANT_PREDICATE << KIND_SHIFT
TRUE = FALSE | 1

NO_BLOCK = 0xFFFFFFFF
UNKNOWN_WIDTH = 0xFFFFFFFF  # Instruction.compiled
FUNCTION_RELOCATION = 0x80000000  # bit 31 of a relocation's index: the address of a function, not of a variable

GLOBAL, CONST = 1, 2  # Variable.space
ENTRY = 1  # Function.flags


class ProgramError(Exception):
    """A file or a program that does not fit the format; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where an instruction comes from.

    `line` is a line of the learner's file (0: none); `file` and `file_line` say where the code itself
    stands, in a header perhaps; `function` is the mangled name of the function it was written in. `callers` are the
    lines of the learner's file on which it was called, where it was made part of another function, innermost first.
    """

    line: int
    file: str
    file_line: int
    function: str
    callers: tuple[int, ...] = ()


@dataclass(slots=True)
class Relocation:
    """An address inside a variable's initial bytes: `offset` bytes in, 8 bytes, index's address + addend."""

    offset: int
    index: int
    addend: int


@dataclass(slots=True)
class Variable:
    """A `__device__` or `__constant__` variable; the bytes after `initial` are zero."""

    name: str
    space: int
    align: int
    size: int
    initial: bytes = b""
    relocations: list[Relocation] = field(default_factory=list)


@dataclass(slots=True)
class Parameter:
    """One parameter in the parameter block, all in bytes."""

    offset: int
    size: int
    align: int


@dataclass(slots=True)
class SharedVariable:
    """A variable in shared memory; size 0 is dynamic shared memory, whose size the launch gives."""

    name: str
    offset: int
    size: int
    align: int


@dataclass(slots=True)
class Special:
    """A special register ("tid.x") and the 32-bit slot that holds it before the first instruction."""

    name: str
    slot: int


@dataclass(slots=True)
class Block:
    """Instructions [first, first + count) and where the lanes go that do not branch."""

    first: int
    count: int
    next: int


@dataclass(slots=True)
class Instruction:
    """One operation; `op` indexes Program.op_names, operands are kind << 28 | index, destinations first.

    `compiled` is what a lane moves in the machine instruction that ptxas made of a load or store, in bytes: 0 where it
    made none of it, UNKNOWN_WIDTH where nobody knows and for all other operations.
    """

    op: int
    site: int
    guard: int
    operands: list[int]
    immediate: int = 0
    compiled: int = UNKNOWN_WIDTH


@dataclass(slots=True)
class Function:
    """A kernel, or a function that one calls: its register file's size, its memory, its blocks."""

    name: str
    flags: int
    n32: int
    n64: int
    npred: int
    parameter_bytes: int
    parameters: list[Parameter]
    shared_bytes: int
    shared: list[SharedVariable]
    local_bytes: int
    result_bytes: int
    argument_bytes: int
    returned_bytes: int
    constants32: list[int]
    constants64: list[int]
    specials: list[Special]
    blocks: list[Block]
    instructions: list[Instruction]


@dataclass(slots=True)
class Program:
    """A whole module. Site 0 is "unknown"."""

    target: int
    op_names: list[str]
    sites: list[Site]
    variables: list[Variable]
    functions: list[Function]


class _Writer:
    """Collects little-endian pieces."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def numbers(self, *values: int) -> None:
        self.pieces.append(struct.pack(f"<{len(values)}I", *values))

    def text(self, value: str) -> None:
        encoded = value.encode()
        self.numbers(len(encoded))
        self.pieces.append(encoded)

    def array(self, code: str, values: list[int]) -> None:
        self.pieces.append(struct.pack(f"<I{len(values)}{code}", len(values), *values))

    def variable(self, variable: Variable) -> None:
        self.text(variable.name)
        self.pieces.append(struct.pack("<IIQI", variable.space, variable.align, variable.size, len(variable.initial)))
        self.pieces.append(variable.initial)
        self.numbers(len(variable.relocations))
        for item in variable.relocations:
            self.pieces.append(struct.pack("<QIq", item.offset, item.index, item.addend))

    def function(self, function: Function) -> None:
        self.text(function.name)
        self.numbers(function.flags, function.n32, function.n64, function.npred)
        self.numbers(function.parameter_bytes, len(function.parameters))
        for parameter in function.parameters:
            self.numbers(parameter.offset, parameter.size, parameter.align)
        self.numbers(function.shared_bytes, len(function.shared))
        for shared in function.shared:
            self.text(shared.name)
            self.numbers(shared.offset, shared.size, shared.align)
        self.numbers(function.local_bytes, function.result_bytes, function.argument_bytes, function.returned_bytes)
        self.array("I", function.constants32)
        self.array("Q", function.constants64)
        self.numbers(len(function.specials))
        for special in function.specials:
            self.text(special.name)
            self.numbers(special.slot)
        self.numbers(len(function.blocks))
        for block in function.blocks:
            self.numbers(block.first, block.count, block.next)
        self.numbers(len(function.instructions))
        for item in function.instructions:
            count = len(item.operands)
            head = (item.op, item.site, item.guard, item.compiled)
            self.pieces.append(struct.pack(f"<{5 + count}Iq", *head, count, *item.operands, item.immediate))


def program_bytes(program: Program) -> bytes:
    """The file's content. Raises ProgramError when a number does not fit its field."""
    writer = _Writer()
    writer.pieces.append(MAGIC)
    try:
        writer.numbers(VERSION, program.target, len(program.op_names))
        for name in program.op_names:
            writer.text(name)
        writer.numbers(len(program.sites))
        for site in program.sites:
            writer.numbers(site.line)
            writer.text(site.file)
            writer.numbers(site.file_line)
            writer.text(site.function)
            writer.array("I", list(site.callers))
        writer.numbers(len(program.variables))
        for variable in program.variables:
            writer.variable(variable)
        writer.numbers(len(program.functions))
        for function in program.functions:
            writer.function(function)
    except struct.error as error:
        raise ProgramError(f"a number does not fit its field: {error}") from error
    return b"".join(writer.pieces)


def write_program(program: Program, path: Path) -> None:
    """Writes the program to `path`."""
    path.write_bytes(program_bytes(program))


class _Reader:
    """Takes little-endian pieces off a buffer; every count is held against the bytes that are left."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        piece = self.data[self.at : self.at + size]
        if len(piece) != size:
            raise ProgramError("the file ends too early")
        self.at += size
        return piece

    def unpack(self, layout: struct.Struct) -> tuple[int, ...]:
        return layout.unpack(self.take(layout.size))

    def number(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def count(self, item_size: int) -> int:
        """A list's length, refused where the file could not hold that many items of at least item_size bytes."""
        count = self.number()
        if count * item_size > len(self.data) - self.at:
            raise ProgramError("a list is longer than the file")
        return count

    def text(self) -> str:
        try:
            return self.take(self.number()).decode()
        except UnicodeDecodeError as error:
            raise ProgramError("a name is not UTF-8") from error

    def array(self, code: str, size: int) -> list[int]:
        count = self.count(size)
        return list(struct.unpack(f"<{count}{code}", self.take(count * size)))

    def site(self) -> Site:
        return Site(self.number(), self.text(), self.number(), self.text(), tuple(self.array("I", 4)))

    def variable(self) -> Variable:
        name = self.text()
        space, align, size = self.unpack(struct.Struct("<IIQ"))
        initial = self.take(self.number())
        relocation = struct.Struct("<QIq")
        relocations = [Relocation(*self.unpack(relocation)) for _ in range(self.count(relocation.size))]
        return Variable(name, space, align, size, initial, relocations)

    def shared(self) -> SharedVariable:
        return SharedVariable(self.text(), self.number(), self.number(), self.number())

    def instruction(self) -> Instruction:
        op, site, guard, compiled = self.unpack(struct.Struct("<4I"))
        operands = self.array("I", 4)
        immediate = int.from_bytes(self.take(8), "little", signed=True)
        return Instruction(op, site, guard, operands, immediate, compiled)

    def function(self) -> Function:
        triple = struct.Struct("<III")
        name = self.text()
        flags, n32, n64, npred, parameter_bytes = self.unpack(struct.Struct("<5I"))
        parameters = [Parameter(*self.unpack(triple)) for _ in range(self.count(12))]
        shared_bytes = self.number()
        shared = [self.shared() for _ in range(self.count(16))]
        local_bytes, result_bytes, argument_bytes, returned_bytes = self.unpack(struct.Struct("<4I"))
        constants32 = self.array("I", 4)
        constants64 = self.array("Q", 8)
        specials = [Special(self.text(), self.number()) for _ in range(self.count(8))]
        blocks = [Block(*self.unpack(triple)) for _ in range(self.count(12))]
        instructions = [self.instruction() for _ in range(self.count(28))]
        return Function(
            name,
            flags,
            n32,
            n64,
            npred,
            parameter_bytes,
            parameters,
            shared_bytes,
            shared,
            local_bytes,
            result_bytes,
            argument_bytes,
            returned_bytes,
            constants32,
            constants64,
            specials,
            blocks,
            instructions,
        )


def parse_program(data: bytes) -> Program:
    """The program in a file's content. Raises ProgramError for anything `program_check.check` refuses."""
    from grader.simt.program_check import check

    reader = _Reader(data)
    if reader.take(len(MAGIC)) != MAGIC:
        raise ProgramError("this is not a lowered program")
    version = reader.number()
    if version != VERSION:
        raise ProgramError(f"the file has version {version}; this grader reads version {VERSION}")
    target = reader.number()
    op_names = [reader.text() for _ in range(reader.count(4))]
    sites = [reader.site() for _ in range(reader.count(20))]
    variables = [reader.variable() for _ in range(reader.count(28))]
    functions = [reader.function() for _ in range(reader.count(80))]
    if reader.at != len(data):
        raise ProgramError("there are bytes after the program's end")
    program = Program(target, op_names, sites, variables, functions)
    check(program)
    return program


def read_program(path: Path) -> Program:
    """Reads and checks the program in `path`. Raises ProgramError, or OSError where the file cannot be read."""
    return parse_program(path.read_bytes())
