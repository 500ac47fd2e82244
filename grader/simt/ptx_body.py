"""Reads a function's code: registers, scopes, locations, labels and instructions.

A kernel of 20,000 lines is nothing unusual, so the two statements that make up most of a text (`.loc` and
instructions) are read without detours.
"""

from __future__ import annotations

import re

from grader.simt.ptx import (
    TYPE_BITS,
    Address,
    Body,
    FunctionName,
    Immediate,
    Instruction,
    Label,
    Location,
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
from grader.simt.ptx_declarations import STATE_SPACES, Declarations
from grader.simt.ptx_tokens import END

SPECIALS = frozenset(
    [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
    + [f"{name}.{axis}" for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for axis in "xyz"]
    + ["laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid", "clock", "clock_hi", "clock64", "globaltimer"]
    + [f"lanemask_{relation}" for relation in ("eq", "le", "lt", "ge", "gt")]
    + ["globaltimer_lo", "globaltimer_hi", "total_smem_size", "dynamic_smem_size", "aggr_smem_size"]
    + ["is_explicit_cluster", "cluster_ctarank", "cluster_nctarank", "current_graph_exec"]
    + ["reserved_smem_offset_begin", "reserved_smem_offset_end", "reserved_smem_offset_cap"]
    + [f"envreg{number}" for number in range(32)]
    + [f"pm{number}" for number in range(8)]
    + [f"pm{number}_64" for number in range(8)]
)
_NUMBERED = re.compile(r"(.*?)(0|[1-9]\d{0,8})")
_OPCODE = re.compile(r"[a-z][a-z0-9]*(?:[.:][\w:]+)*")
_NAME = re.compile(r"[A-Za-z_$%][\w$]*")
_SPECIAL = {f"%{name}": Special(name) for name in SPECIALS}
_CONSTANTS: dict[str, Operand] = {"_": Sink(), "WARP_SZ": Immediate("int", 32)}
_OPENING = frozenset({"[", "{", "(", "!"})  # what may not stand inside itself: operands do not nest
_LARGEST_LINE = (1 << 31) - 1
_MOST_IN_INNER_SCOPE = 4096  # registers of one `.reg .b32 x<n>` in a scope of inline assembly


class BodyReader:
    """Reads from the opening brace to the closing one. `cursor` holds place and names, `module` gets the locations."""

    def __init__(self, cursor: Declarations, module: Module) -> None:
        self.cursor = cursor
        self.module = module
        self.body = Body()
        self.location = 0
        self.locations: dict[tuple[int, int, str | None, int | None], int] = {}
        self.last_at: dict[tuple[int, int, int], int] = {}  # position of a .loc -> its latest location
        self.ranges: dict[str, int] = {}  # `%r<100>` of the function's own scope: prefix -> bits
        self.counts: dict[str, int] = {}
        self.level = cursor.depth  # of the function's own scope, which `read` opens
        self.labels: list[dict[str, str]] = []  # by scope: name -> name in the body
        self.pending: list[list[tuple[Label, int]]] = []  # by scope: labels that are used, with the token

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
        word = cursor.words[cursor.at]
        if not _NAME.fullmatch(word):
            raise cursor.error("this is no label")
        name = word
        if name in self.body.labels or name in self.body.branch_targets:
            name = f"{word}#{len(self.body.labels) + len(self.body.branch_targets)}"
        if word in self.labels[-1]:
            raise cursor.error(f"the label {word} stands twice")
        self.labels[-1][word] = name
        cursor.at += 2
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

    def used_label(self) -> Label:
        cursor = self.cursor
        label = Label(cursor.name())
        self.pending[-1].append((label, cursor.at - 1))
        return label

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
        if bits is None or bits == 8:
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
            self.ranges[prefix], self.counts[prefix] = bits, count
            return
        if count > _MOST_IN_INNER_SCOPE:
            raise self.cursor.error("too many registers for an inner scope", back=1)
        for number in range(count):
            self.cursor.declare(f"{prefix}{number}", self.new_register(f"{prefix}{number}", bits))

    def new_register(self, name: str, bits: int) -> Register:
        register = Register(name, bits, len(self.body.registers))
        self.body.registers.append(register)
        return register

    def loc(self) -> None:
        """`.loc file line column[, function_name label, inlined_at file line column]`; line 0 changes nothing."""
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
        if position[1] == 0:
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
        self.body.instructions.append(Instruction(opcode, guard, negated, operands, line, self.location))

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
        if match is None or int(match.group(2)) >= self.counts.get(match.group(1), 0):
            return None
        register = self.new_register(word, self.ranges[match.group(1)])
        self.cursor.declare(word, register, self.level)
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
