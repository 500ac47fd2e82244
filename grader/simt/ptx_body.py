"""Reads a function's code: registers, scopes, locations, labels and instructions.

A kernel of 20,000 lines is nothing unusual, so the two statements that make up most of a text (`.loc` and
instructions) are read without detours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from grader.simt.ptx import (
    TYPE_BITS,
    Address,
    Body,
    Instruction,
    Label,
    Location,
    Module,
    Not,
    Operand,
    Pair,
    Register,
    Selector,
    Vector,
)
from grader.simt.ptx_declarations import STATE_SPACES, Declarations
from grader.simt.ptx_operands import OperandReader
from grader.simt.ptx_tokens import END

_OPCODE = re.compile(r"[a-z][a-z0-9]*(?:[.:][\w:]+)*")
_LARGEST_LINE = (1 << 31) - 1
_MOST_IN_INNER_SCOPE = 4096  # registers of one `.reg .b32 x<n>` in a scope of inline assembly


class BodyReader(OperandReader):
    """Reads from the opening brace to the closing one; `module` gets the locations."""

    def __init__(self, cursor: Declarations, module: Module) -> None:
        super().__init__(cursor, module)
        self.location = 0
        self.locations: dict[tuple[int, int, str | None, int | None], int] = {}
        self.last_at: dict[tuple[int, int, int], int] = {}  # position of a .loc -> its latest location
        self.labels: list[dict[str, str]] = []  # by scope: name -> name in the body
        self.nowhere = False  # since a .loc of line 0: the compiler has moved what follows
        self.moved: set[int] = set()  # the instructions that it moved

    def read(self) -> Body:
        cursor, words = self.cursor, self.cursor.words
        cursor.expect("{")
        self.open()
        while self.labels:
            word = words[cursor.at]
            if word == ".loc":
                self.loc()
            elif word[0] == ".":
                self.directive(word)
            elif word == "{":
                cursor.at += 1
                self.open()
            elif word == "}":
                cursor.at += 1
                self.close()
            elif words[cursor.at + 1] == ":":
                self.label()
            elif word == END:
                raise cursor.error("the text ends inside a function")
            elif word != ";":
                self.instruction()
            else:
                cursor.at += 1
        if self.moved:
            settle(self.body.instructions, self.moved)
        return self.body

    def open(self) -> None:
        self.cursor.open_scope()
        self.labels.append({})
        self.pending.append([])

    def close(self) -> None:
        self.cursor.close_scope()
        names, pending = self.labels.pop(), self.pending.pop()
        for label, at in pending:
            if label.name in names:
                label.name = names[label.name]
            elif self.pending:
                self.pending[-1].append((label, at))
            else:
                raise self.cursor.tokens.error(at, f"there is no label {label.name}")

    def label(self) -> None:
        cursor = self.cursor
        word = name = cursor.name()
        if name in self.body.labels or name in self.body.branch_targets:
            name = f"{word}#{len(self.body.labels) + len(self.body.branch_targets)}"
        if word in self.labels[-1]:
            raise cursor.error(f"the label {word} stands twice")
        self.labels[-1][word] = name
        cursor.expect(":")
        following = cursor.words[cursor.at]
        if following == ".branchtargets":
            cursor.at += 1
            self.body.branch_targets[name] = self.label_list()
        elif following in (".callprototype", ".calltargets"):
            cursor.skip_statement()
            self.body.branch_targets[name] = []
        else:
            self.body.labels[name] = len(self.body.instructions)

    def label_list(self) -> list[Label]:
        made = [self.used_label()]
        while self.cursor.accept(","):
            made.append(self.used_label())
        self.cursor.expect(";")
        return made

    def directive(self, word: str) -> None:
        cursor = self.cursor
        if word == ".reg":
            self.registers()
        elif word in STATE_SPACES:
            self.body.variables += cursor.variables()
        elif word in (".extern", ".visible", ".weak"):
            cursor.at += 1
        elif word == ".pragma":
            cursor.skip_statement()
        else:
            raise cursor.error("this is no directive of a function")

    def registers(self) -> None:
        """`.reg .b32 %r<6>, a, b;` Numbered registers are made when they are first used."""
        cursor = self.cursor
        cursor.at += 1
        bits = TYPE_BITS.get(cursor.take()[1:])
        if bits is None:
            raise cursor.error("this is no type of a register", back=1)
        while True:
            name = cursor.name()
            if cursor.accept("<"):
                count = cursor.integer()
                cursor.expect(">")
                self.register_range(name, bits, count)
            else:
                cursor.declare(name, self.new_register(name, bits))
            if not cursor.accept(","):
                cursor.expect(";")
                return

    def register_range(self, prefix: str, bits: int, count: int) -> None:
        if len(self.labels) == 1:
            self.ranges[prefix] = (bits, count)
            return
        if count > _MOST_IN_INNER_SCOPE:
            raise self.cursor.error("too many registers for an inner scope", back=1)
        for number in range(count):
            self.cursor.declare(f"{prefix}{number}", self.new_register(f"{prefix}{number}", bits))

    def loc(self) -> None:
        """`.loc file line column[, function_name label, inlined_at file line column]`; line 0 is nowhere."""
        cursor = self.cursor
        words, at = cursor.words, cursor.at
        try:
            position = (int(words[at + 1]), int(words[at + 2]), int(words[at + 3]))
        except ValueError:
            position = (-1, -1, -1)
        if not 0 <= min(position) <= max(position) <= _LARGEST_LINE:
            raise cursor.error("a .loc has a file, a line and a column")
        cursor.at = at + 4
        function, parent = None, None
        while words[cursor.at] == ",":
            cursor.at += 1
            attribute = cursor.take()
            if attribute == "function_name":
                function = cursor.name()
                offset = cursor.offset()
                function = f"{function}+{offset}" if offset else function
            elif attribute == "inlined_at":
                outer = (cursor.integer(), cursor.integer(), cursor.integer())
                parent = self.last_at.get(outer)
                if parent is None:
                    parent = self.last_at[outer] = self.new_location((outer[0], outer[1], None, None))
            else:
                raise cursor.error("a .loc has no such attribute", back=1)
        self.nowhere = position[1] == 0
        if self.nowhere:
            return
        key = (position[0], position[1], function, parent)
        known = self.locations.get(key)
        self.location = self.new_location(key) if known is None else known
        self.last_at[position] = self.location

    def new_location(self, key: tuple[int, int, str | None, int | None]) -> int:
        self.module.locations.append(Location(*key))
        self.locations[key] = len(self.module.locations) - 1
        return self.locations[key]

    def instruction(self) -> None:
        cursor, words = self.cursor, self.cursor.words
        at = cursor.at
        guard: Register | None = None
        negated = False
        line = cursor.tokens.lines[at]
        if words[at] == "@":
            negated = words[at + 1] == "!"
            cursor.at = at = at + 1 + negated
            found = self.operand()
            if not isinstance(found, Register) or found.bits != 1:
                raise cursor.error("a guard is a predicate register", back=1)
            guard = found
            at = cursor.at
        opcode = words[at]
        if not _OPCODE.fullmatch(opcode):
            raise cursor.error("this is no instruction")
        cursor.at = at + 1
        base = opcode.partition(".")[0]
        if base in ("bra", "brx"):
            operands = self.branch_operands(base)
        elif base == "call":
            operands = self.call_operands()
        elif words[at + 1] == ";":
            operands = []
            cursor.at += 1
        else:
            operands = self.operands()
        if self.nowhere:
            self.moved.add(len(self.body.instructions))
        self.body.instructions.append(Instruction(opcode, guard, negated, operands, line, self.location))


def settle(instructions: list[Instruction], moved: set[int]) -> None:
    """What the compiler has moved out of its line goes to the line that is the next to use its result; where there is
    none it stays at the line before.
    """
    used_at: dict[int, int] = {}  # register -> where it is used next
    for place in range(len(instructions) - 1, -1, -1):
        one = instructions[place]
        result = one.operands[0] if one.operands else None
        if isinstance(result, Register):
            next_use = used_at.pop(result.number, None)
            if place in moved and next_use is not None:
                one.location = next_use
        for register in registers_in(one.operands[isinstance(result, Register) :]):
            used_at[register.number] = one.location


def registers_in(operands: Sequence[Operand]) -> Iterator[Register]:
    """All registers that operands name, those of addresses and vectors too."""
    for operand in operands:
        match operand:
            case Register():
                yield operand
            case Address(base=base):
                yield from registers_in([base])
            case Vector(elements=elements):
                yield from registers_in(elements)
            case Pair(first=first, second=second):
                yield from registers_in([first, second])
            case Not(register=register) | Selector(register=register):
                yield register
