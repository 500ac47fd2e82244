"""A place in the tokens of a PTX text, with what every part of the reader needs: numbers, names, scopes, errors."""

from __future__ import annotations

import re
import struct
from typing import TypeAlias

from grader.simt.ptx import FunctionName, Immediate, Label, PtxError, Register, Symbol
from grader.simt.ptx_tokens import END, Tokens

Name: TypeAlias = Register | Symbol | FunctionName | Label
_NAME = re.compile(r"[A-Za-z_$%][\w$]*")
_LONGEST_NUMBER = 40  # digits; 64 bits need 20, and int() of a very long text raises


class Cursor:
    """Walks over `words`; `at` is the next one. `names` holds what the open scopes declare."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.words = tokens.words
        self.at = 0
        self.names: dict[str, Name] = {}
        self._hidden: list[list[tuple[str, Name | None]]] = [[]]
        self._immediates: dict[str, Immediate] = {}

    @property
    def depth(self) -> int:
        """How many scopes are open, the module's included."""
        return len(self._hidden)

    def error(self, reason: str, back: int = 0) -> PtxError:
        """An error at the next token, or `back` tokens before it."""
        return self.tokens.error(max(self.at - back, 0), reason)

    def line(self) -> int:
        """Line of the next token, from 1."""
        return self.tokens.lines[self.at]

    def take(self) -> str:
        """The next token, which must be there."""
        word = self.words[self.at]
        if word == END:
            raise self.error("the text ends too early")
        self.at += 1
        return word

    def accept(self, word: str) -> bool:
        if self.words[self.at] != word:
            return False
        self.at += 1
        return True

    def expect(self, word: str) -> None:
        if self.words[self.at] != word:
            found = "the end" if self.words[self.at] == END else self.words[self.at]
            raise self.error(f"expected {word}, found {found}")
        self.at += 1

    def name(self) -> str:
        word = self.take()
        if not _NAME.fullmatch(word):
            raise self.error(f"{word} is no name", back=1)
        return word

    def skip_statement(self) -> None:
        while self.take() != ";":
            pass

    def skip_parentheses(self) -> None:
        self.expect("(")
        depth = 1
        while depth:
            word = self.take()
            depth += (word == "(") - (word == ")")

    def open_scope(self) -> None:
        self._hidden.append([])

    def close_scope(self) -> None:
        for name, before in reversed(self._hidden.pop()):
            if before is None:
                del self.names[name]
            else:
                self.names[name] = before

    def declare(self, name: str, value: Name, level: int = -1) -> None:
        """Puts a name into the innermost scope (level -1), or into an outer one that has no such name yet."""
        self._hidden[level].append((name, self.names.get(name)))
        self.names[name] = value

    def immediate(self) -> Immediate:
        """A number: decimal, 0x, 0b, octal, 0f and 0d bit patterns, decimal floats; one sign or `~` before it."""
        sign = self.take() if self.words[self.at] in ("-", "+", "~") else ""
        word = self.take()
        known = self._immediates.get(sign + word)
        if known is None:
            known = self._immediates[sign + word] = self._number(sign, word)
        return known

    def _number(self, sign: str, word: str) -> Immediate:
        head = word[:2].lower()
        if not word[0].isdigit() or len(word) > _LONGEST_NUMBER:
            raise self.error(f"{word} is no number", back=1)
        if head in ("0f", "0d"):
            width = 32 if head == "0f" else 64
            flip = (1 << width - 1) if sign == "-" else 0
            return Immediate(f"f{width}", int(word[2:], 16) ^ flip)
        if head not in ("0x", "0b") and ("." in word or "e" in word.lower()):
            bits = int.from_bytes(struct.pack("<d", float(sign + word)), "little")
            return Immediate("f64", bits)
        digits = word.rstrip("U")
        try:
            value = int(digits, 8) if len(digits) > 1 and digits.isdecimal() and digits[0] == "0" else int(digits, 0)
        except ValueError:
            raise self.error(f"{word} is no number", back=1) from None
        if value >> 64:
            raise self.error(f"{word} has more than 64 bits", back=1)
        return Immediate("int", -value if sign == "-" else ~value if sign == "~" else value)

    def integer(self) -> int:
        """An integer, which the text may write as a sum."""
        value = self._signed()
        while self.words[self.at] in ("+", "-"):
            value += self._signed()
        return value

    def offset(self) -> int:
        """`+4`, `+-4`, `-4`, or nothing (0)."""
        return self.integer() if self.words[self.at] in ("+", "-") else 0

    def _signed(self) -> int:
        sign = 1
        while self.words[self.at] in ("+", "-"):
            sign = -sign if self.take() == "-" else sign
        number = self.immediate()
        if number.kind != "int":
            raise self.error("an integer is needed here", back=1)
        return sign * number.value
