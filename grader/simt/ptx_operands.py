"""Reads the operands of instructions: registers, numbers, addresses, lists, labels."""

from __future__ import annotations

import re

from grader.simt.ptx import (
    Address,
    Body,
    FunctionName,
    Immediate,
    Label,
    Module,
    Not,
    Operand,
    Pair,
    Register,
    Selector,
    Sink,
    Special,
    Symbol,
    Vector,
)
from grader.simt.ptx_declarations import Declarations
from grader.simt.ptx_tokens import END

SPECIALS = frozenset(
    [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
    + [f"{name}.{axis}" for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for axis in "xyz"]
    + ["laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid", "clock", "clock_hi", "clock64", "globaltimer"]
    + [f"lanemask_{relation}" for relation in ("eq", "le", "lt", "ge", "gt")]
    + ["globaltimer_lo", "globaltimer_hi", "total_smem_size", "dynamic_smem_size", "aggr_smem_size"]
    + ["is_explicit_cluster", "cluster_ctarank", "cluster_nctarank", "current_graph_exec"]
    + [f"reserved_smem_offset_{place}" for place in ("begin", "end", "cap", "0", "1")]
    + [f"envreg{number}" for number in range(32)]
    + [f"pm{number}" for number in range(8)]
    + [f"pm{number}_64" for number in range(8)]
)
_NUMBERED = re.compile(r"(.*?)(0|[1-9]\d{0,8})")
_NAME = re.compile(r"[A-Za-z_$%][\w$]*")
_SPECIAL = {f"%{name}": Special(name) for name in SPECIALS}
_CONSTANTS: dict[str, Operand] = {"_": Sink(), "WARP_SZ": Immediate("int", 32)}
_OPENING = frozenset({"[", "{", "(", "!"})  # what may not stand inside itself: operands do not nest


class OperandReader:
    """Reads operands at `cursor`, which holds place and names; registers are made in `body` when first used."""

    def __init__(self, cursor: Declarations, module: Module) -> None:
        self.cursor = cursor
        self.module = module
        self.body = Body()
        self.ranges: dict[str, tuple[int, int]] = {}  # `%r<100>` of the function's own scope: prefix -> bits, count
        self.level = cursor.depth  # of the function's own scope, which is opened after this
        self.pending: list[list[tuple[Label, int]]] = []  # by scope: labels that are used, with the token

    def used_label(self) -> Label:
        cursor = self.cursor
        label = Label(cursor.name())
        self.pending[-1].append((label, cursor.at - 1))
        return label

    def operands(self) -> list[Operand]:
        """Operands up to the semicolon."""
        cursor, names = self.cursor, self.cursor.names
        words = cursor.words
        made: list[Operand] = []
        while True:
            found: Operand | None = names.get(words[cursor.at])
            if found is None:
                found = self.operand()
            else:
                cursor.at += 1
            separator = words[cursor.at]
            if separator == "|":
                cursor.at += 1
                found = Pair(found, self.operand())
                separator = words[cursor.at]
            elif separator in ("+", "-") and isinstance(found, Symbol | FunctionName):
                found = Address(found, cursor.offset())
                separator = words[cursor.at]
            made.append(found)
            if separator == ";":
                cursor.at += 1
                return made
            cursor.expect(",")

    def branch_operands(self, base: str) -> list[Operand]:
        """`bra target;` and `brx.idx index, table;`: the last operand is a label."""
        cursor = self.cursor
        made: list[Operand] = []
        if base == "brx":
            made.append(self.operand())
            cursor.expect(",")
        made.append(self.used_label())
        cursor.expect(";")
        return made

    def call_operands(self) -> list[Operand]:
        """`call (results), function, (arguments)[, prototype];` as [results, function, arguments]."""
        cursor = self.cursor
        results: Operand = Vector(())
        arguments: Operand = Vector(())
        if cursor.words[cursor.at] == "(":
            results = self.vector(")")
            cursor.expect(",")
        function = self.operand()
        if cursor.accept(","):
            if cursor.words[cursor.at] == "(":
                arguments = self.vector(")")
            else:
                self.used_label()
            if cursor.accept(","):
                self.used_label()
        cursor.expect(";")
        return [results, function, arguments]

    def operand(self) -> Operand:
        """One operand of any kind but a label."""
        cursor = self.cursor
        word = cursor.words[cursor.at]
        first = word[0]
        if first == "[":
            return self.address()
        if first in "{(":
            return self.vector("}" if first == "{" else ")")
        if first.isdigit() or first in "-+~":
            return cursor.immediate()
        cursor.at += 1
        found: Operand | None = cursor.names.get(word) or _SPECIAL.get(word)
        if found is not None:
            return found
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if first == "!":
            return self.negated()
        return self.numbered(word) or self.part(word) or self.function_name(word)

    def negated(self) -> Not:
        """What follows `!`."""
        register = None if self.cursor.words[self.cursor.at] in _OPENING else self.operand()
        if not isinstance(register, Register):
            raise self.cursor.error("only a register can be negated")
        return Not(register)

    def numbered(self, word: str) -> Register | None:
        """A register of a range, which is in scope from its first use on."""
        match = _NUMBERED.fullmatch(word)
        bits, count = self.ranges.get(match.group(1), (0, 0)) if match is not None else (0, 0)
        if match is None or int(match.group(2)) >= count:
            return None
        register = self.new_register(word, bits)
        self.cursor.declare(word, register, self.level)
        return register

    def new_register(self, name: str, bits: int) -> Register:
        register = Register(name, bits, len(self.body.registers))
        self.body.registers.append(register)
        return register

    def part(self, word: str) -> Selector | None:
        """`%r1.h0`, `v.x`."""
        name, _, part = word.partition(".")
        register = self.cursor.names.get(name) or self.numbered(name)
        return Selector(register, part) if part and isinstance(register, Register) else None

    def function_name(self, word: str) -> FunctionName:
        if not _NAME.fullmatch(word):
            raise self.cursor.error(f"expected an operand, found {word if word != END else 'the end'}", back=1)
        if word not in self.module.functions:
            raise self.cursor.error(f"nothing named {word} was declared", back=1)
        return FunctionName(word)

    def vector(self, end: str) -> Vector:
        cursor = self.cursor
        cursor.at += 1
        elements: list[Operand] = []
        while not cursor.accept(end):
            if elements:
                cursor.expect(",")
            if cursor.words[cursor.at] in _OPENING:
                raise cursor.error("a list cannot hold a list")
            elements.append(self.operand())
        return Vector(tuple(elements))

    def address(self) -> Address:
        """`[base + offset]`, `[base, {coordinates}]`."""
        cursor = self.cursor
        cursor.at += 1
        base = cursor.names.get(cursor.words[cursor.at])
        if base is None:
            found = None if cursor.words[cursor.at] in _OPENING else self.operand()
        else:
            cursor.at += 1
            found = base
        if not isinstance(found, Register | Symbol | FunctionName | Immediate):
            raise cursor.error("this is no address", back=1)
        offset = cursor.offset()
        coordinates: Operand | None = None
        if cursor.accept(","):
            if cursor.words[cursor.at] == "{":
                coordinates = self.vector("}")
            elif cursor.words[cursor.at] not in _OPENING:
                coordinates = self.operand()
        cursor.expect("]")
        return Address(found, offset, coordinates)
