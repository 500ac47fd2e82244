"""Reads declarations of variables and parameters, with their initial values."""

from __future__ import annotations

from collections.abc import Mapping

from grader.simt.ptx import TYPE_BITS, Address, FunctionName, Immediate, Symbol, Variable
from grader.simt.ptx_cursor import Cursor

STATE_SPACES = frozenset({".global", ".const", ".shared", ".local", ".param"})
_OPAQUE_TYPES = frozenset({"texref", "surfref", "samplerref"})
_NO_MEANING_HERE = frozenset({".ptr", ".unified"}) | STATE_SPACES  # what says where a pointer parameter points
_LARGEST = 1 << 40  # bytes of one variable: more than any GPU has


class Declarations(Cursor):
    """A cursor that reads declarations. `functions` are the names that an initialiser may take the address of."""

    functions: Mapping[str, object]

    def variables(self, external: bool = False) -> list[Variable]:
        """`.space .align n .type name[n] = {…}, …;` Each is put into scope."""
        made: list[Variable] = []
        while True:
            variable = self.another(made[0]) if made else self.declaration()
            variable.external = external
            if self.accept("="):
                variable.initial = self._initialiser()
            self.declare(variable.name, Symbol(variable))
            made.append(variable)
            if not self.accept(","):
                self.expect(";")
                return made

    def parameters(self) -> list[Variable]:
        """`(.param .u64 a, …)`, or nothing at all."""
        made: list[Variable] = []
        if self.accept("("):
            while not self.accept(")"):
                if made:
                    self.expect(",")
                if self.words[self.at] != ".param":
                    raise self.error("a parameter is declared with .param")
                made.append(self.declaration())
        return made

    def declaration(self) -> Variable:
        """One variable or parameter, up to its name and dimensions."""
        line, space = self.line(), self.take()[1:]
        align, vector, kind = 0, 1, ""
        while (word := self.words[self.at]).startswith("."):
            self.at += 1
            if word == ".align":
                align = self.integer()
            elif word == ".attribute":
                self.skip_parentheses()
            elif word in (".v2", ".v4", ".v8"):
                vector = int(word[2:])
            elif word[1:] in TYPE_BITS or word[1:] in _OPAQUE_TYPES:
                kind = word[1:]
            elif word not in _NO_MEANING_HERE:
                raise self.error("this does not belong to a declaration", back=1)
        if kind in ("", "pred") or align < 0 or align & (align - 1) or align > 1 << 20:
            raise self.error("a variable needs a type, and an alignment that is a power of two")
        variable = Variable("", space, kind, align, vector, line)
        variable.align = align or variable.size
        return self._named(variable, vector)

    def another(self, first: Variable) -> Variable:
        """One more after a comma: type and alignment are the first one's."""
        return self._named(Variable("", first.space, first.type, first.align, 1, self.line()), 1)

    def _named(self, variable: Variable, count: int) -> Variable:
        variable.name = self.name()
        total: int | None = count
        while self.accept("["):
            if self.accept("]"):
                total = None
                continue
            length = self.integer()
            self.expect("]")
            if not 0 <= length <= _LARGEST:
                raise self.error("the length is out of range", back=2)
            total = None if total is None else min(total * length, _LARGEST + 1)
        variable.count = total
        if variable.size > _LARGEST:
            raise self.error("the variable is too large", back=1)
        return variable

    def _initialiser(self) -> list[Immediate | Address]:
        """A value, or values in braces (rows of an array may have braces of their own)."""
        values: list[Immediate | Address] = []
        depth = 0
        while True:
            if self.accept("{"):
                depth += 1
            elif depth and self.accept("}"):
                depth -= 1
            elif not (depth and self.accept(",")):
                values.append(self._initial_value())
            if not depth:
                return values

    def _initial_value(self) -> Immediate | Address:
        """A number, an address, or one byte of an address: `0xFF00(generic(symbol)+4)` is byte 1."""
        word = self.words[self.at]
        if not word[0].isdigit() and word not in ("+", "-", "~"):
            return self._initial_address(None)
        number = self.immediate()
        if not self.accept("("):
            return number
        byte = (number.value.bit_length() - 1) // 8
        if number.kind != "int" or byte < 0 or number.value != 0xFF << 8 * byte:
            raise self.error("a mask takes one byte of an address", back=2)
        address = self._initial_address(byte)
        self.expect(")")
        return address

    def _initial_address(self, byte: int | None) -> Address:
        """`symbol + 4` or `generic(symbol) + 4`."""
        word = self.take()
        generic = word == "generic" and self.accept("(")
        if generic:
            word = self.take()
        base = self.names.get(word) or (FunctionName(word) if word in self.functions else None)
        if not isinstance(base, Symbol | FunctionName):
            raise self.error(f"nothing named {word} was declared", back=1)
        offset = self.offset()
        if generic:
            self.expect(")")
            offset += self.offset()
        return Address(base, offset, None, byte)
