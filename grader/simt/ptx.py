"""What a PTX text says, as plain data: the module, its variables and functions, and their instructions.

`ptx_reader.read_ptx` makes these from text. Names are resolved: an operand that names a register holds the
register, wherever its scope began. Sources: PTX ISA 9.1; `.loc`, `.file` and `.section` as nvcc 13.0.88 writes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

# Bits of a scalar type as it lies in a register; memory holds the same, `pred` apart.
TYPE_BITS = {
    "pred": 1,
    "b8": 8,
    "u8": 8,
    "s8": 8,
    "b16": 16,
    "u16": 16,
    "s16": 16,
    "f16": 16,
    "bf16": 16,
    "b32": 32,
    "u32": 32,
    "s32": 32,
    "f32": 32,
    "f16x2": 32,
    "bf16x2": 32,
    "tf32": 32,
    "u16x2": 32,
    "s16x2": 32,
    "e4m3": 8,
    "e5m2": 8,
    "e4m3x2": 16,
    "e5m2x2": 16,
    "b64": 64,
    "u64": 64,
    "s64": 64,
    "f64": 64,
    "b128": 128,
}


class PtxError(Exception):
    """The PTX text cannot be read: its line (1-based), the text of that line, and why."""

    def __init__(self, line: int, text: str, reason: str) -> None:
        super().__init__(f"PTX line {line}: {reason}: {text}")
        self.line = line
        self.text = text
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Register:
    """A virtual register; `number` counts the registers of one function."""

    name: str
    bits: int
    number: int


@dataclass(frozen=True, slots=True)
class Special:
    """A special register, named without the percent sign: "tid.x"."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A number as written: kind "int" (any sign), "f32" or "f64" (value is the bit pattern)."""

    kind: str
    value: int


@dataclass(slots=True)
class Variable:
    """A variable or parameter; `count` is None for an array whose length is left open."""

    name: str
    space: str
    type: str
    align: int
    count: int | None
    line: int
    initial: list[Immediate | Address] = field(default_factory=list)
    external: bool = False

    @property
    def element_bytes(self) -> int:
        return TYPE_BITS.get(self.type, 64) // 8

    @property
    def size(self) -> int:
        """In bytes; 0 where the length is left open."""
        return self.element_bytes * (self.count or 0)


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable or parameter, in its own space."""

    variable: Variable


@dataclass(frozen=True, slots=True)
class FunctionName:
    """The address of a function."""

    name: str


@dataclass(slots=True)
class Label:
    """A place in the body; renamed where two scopes use the same name."""

    name: str


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`, or `base + offset` as an initialiser; coordinates are those of a texture or a tensor map.

    `byte` is n where the initialiser takes one byte, number n, of the address (`0xFF00(symbol)` is byte 1).
    """

    base: Register | Symbol | FunctionName | Immediate
    offset: int = 0
    coordinates: Operand | None = None
    byte: int | None = None


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, …}`, or `(a, b, …)` of a call."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`d|p`: two destinations."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """`!p`."""

    register: Register


@dataclass(frozen=True, slots=True)
class Selector:
    """Part of a register (`%r1.h0`), as video instructions take it."""

    register: Register
    part: str


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: the result is not wanted."""


Operand: TypeAlias = (
    Register | Special | Immediate | Symbol | FunctionName | Label | Address | Vector | Pair | Not | Selector | Sink
)


@dataclass(slots=True)
class Instruction:
    """`@guard opcode operands;`; `negated` is for `@!p`; `location` indexes Module.locations."""

    opcode: str
    guard: Register | None
    negated: bool
    operands: list[Operand]
    line: int
    location: int


@dataclass(frozen=True, slots=True)
class Location:
    """A `.loc`: `function` is the label of the inlined function's name; `inlined_at` indexes Module.locations."""

    file: int
    line: int
    function: str | None = None
    inlined_at: int | None = None


@dataclass(slots=True)
class Body:
    """A function's code. `labels` gives the index of the instruction that follows each label."""

    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    registers: list[Register] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    branch_targets: dict[str, list[Label]] = field(default_factory=dict)


@dataclass(slots=True)
class Function:
    """A kernel (`entry`) or a function; `body` is None where it is only declared."""

    name: str
    entry: bool
    results: list[Variable]
    parameters: list[Variable]
    line: int
    body: Body | None = None


@dataclass(slots=True)
class Module:
    """A whole PTX text. Location 0 is "nowhere"."""

    version: str = ""
    target: int = 0
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)
    locations: list[Location] = field(default_factory=lambda: [Location(0, 0)])
    strings: dict[str, str] = field(default_factory=dict)
