"""The constants of a source, and what its launches say of the block: read from its tokens, without a compiler."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from grader.author.tokens import Code, Token, arguments, calls, closing
from grader.sweep.arithmetic import Unknown, value_of, whole_number

_MACRO = re.compile(r"\s*#\s*define\s+(?P<name>[A-Za-z_]\w*)\s+\(?\s*(?P<value>[\w']+?)\s*\)?\s*(?://.*|/\*.*)?$")
_LAUNCHES = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel")
_BLOCK_OF_LAUNCH = 2  # the place of the block among their arguments
_NESTED = 16  # definitions that stand on each other


@dataclass(frozen=True)
class Constant:
    """A whole number in the source that can be another: `text[start:end]` is its literal. `name` is "" for a number
    that stands in a launch itself.
    """

    name: str
    value: int
    start: int
    end: int
    line: int

    def replaced(self, text: str, value: int) -> str:
        """The source with another value."""
        return f"{text[: self.start]}{value}{text[self.end :]}"


@dataclass(frozen=True)
class _Definition:
    """`name = expression`, from `start` of the source on; `literal` where the expression is one number."""

    name: str
    start: int
    expression: tuple[Token, ...]
    literal: Constant | None


@dataclass(frozen=True)
class Block:
    """What a launch says of its block, at `line` and `start` of the source: an expression a dimension, at most three,
    and `text`, as it is written.
    """

    line: int
    start: int
    dimensions: tuple[tuple[Token, ...], ...]
    text: str


class Source:
    """A learner's file as far as a sweep reads it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._code = Code(text)
        self._definitions = [*self._macros(), *self._initialised()]

    # ---- launches ---------------------------------------------------------------------------------------------------

    def block_at(self, line: int) -> Block | None:
        """The block of the launch that stands nearest to `line`; None in a source that launches nothing."""
        return min(self._blocks(), key=lambda block: abs(block.line - line), default=None)

    def _blocks(self) -> Iterator[Block]:
        code = self._code
        for place, token in enumerate(code):
            if token.text == "<<<":
                end = next((at for at in range(place, len(code)) if code[at].text == ">>>"), None)
                parts = _split(code, place + 1, end) if end is not None else []
                if len(parts) > 1:
                    yield self._block(token, parts[1])
        for name, end in calls(code, _LAUNCHES):
            parts = [tuple(code[a:b]) for a, b in arguments(code, name + 1, end)]
            if len(parts) > _BLOCK_OF_LAUNCH:
                yield self._block(code[name], parts[_BLOCK_OF_LAUNCH])

    def _block(self, launch: Token, expression: tuple[Token, ...]) -> Block:
        text = self.text[expression[0].start : expression[-1].end]
        if len(expression) == 1 and (defined := self._defined(expression[0].text, launch.start)) is not None:
            expression = defined.expression if _is_dim3(defined.expression) else expression
        inside = _split(expression, 2, len(expression) - 1) if _is_dim3(expression) else [expression]
        return Block(self._line(launch.start), launch.start, tuple(inside), " ".join(text.split()))

    # ---- what they are made of --------------------------------------------------------------------------------------

    def constants_of(self, block: Block) -> list[Constant]:
        """The literals that the block's dimensions hang on, through other definitions or directly."""
        found: dict[int, Constant] = {}
        for dimension in block.dimensions:
            if (direct := self._literal("", dimension)) is not None:
                found[direct.start] = direct
            for constant in self._reached(dimension, block.start, _NESTED):
                found[constant.start] = constant
        return sorted(found.values(), key=lambda constant: constant.start)

    def sizes(self, block: Block, values: Mapping[Constant, int]) -> tuple[int, ...]:
        """The block's dimensions where these constants have other values. Raises `Unknown`."""
        given = {constant.start: value for constant, value in values.items()}
        return tuple(self._value(dimension, block.start, given, _NESTED) for dimension in block.dimensions)

    def _value(self, expression: Sequence[Token], before: int, given: Mapping[int, int], depth: int) -> int:
        if len(expression) == 1 and expression[0].start in given:
            return given[expression[0].start]

        def known(name: str) -> int:
            defined = self._defined(name, before)
            if defined is None or not depth:
                raise Unknown
            if defined.literal is not None:
                return given.get(defined.literal.start, defined.literal.value)
            return self._value(defined.expression, defined.start, given, depth - 1)

        return value_of(expression, known)

    def _reached(self, expression: Sequence[Token], before: int, depth: int) -> Iterator[Constant]:
        for token in expression:
            defined = self._defined(token.text, before) if token.kind == "name" and depth else None
            if defined is not None and defined.literal is not None:
                yield defined.literal
            elif defined is not None:
                yield from self._reached(defined.expression, defined.start, depth - 1)

    def _defined(self, name: str, before: int) -> _Definition | None:
        """What a name stands for at a place: its last definition ahead of it."""
        known = [one for one in self._definitions if one.name == name and one.start < before]
        return max(known, key=lambda one: one.start, default=None)

    # ---- definitions ------------------------------------------------------------------------------------------------

    def _macros(self) -> Iterator[_Definition]:
        for token in self._code:
            match = _MACRO.fullmatch(token.text) if token.kind == "directive" else None
            value = whole_number(match["value"]) if match is not None else None
            if match is not None and value is not None:
                start = token.start + match.start("value")
                literal = Constant(match["name"], value, start, token.start + match.end("value"), self._line(start))
                yield _Definition(match["name"], token.start, (), literal)

    def _initialised(self) -> Iterator[_Definition]:
        """`name = …`, `name{…}` and `dim3 name(…)`."""
        code = self._code
        for place, (token, sign) in enumerate(pairwise(code)):
            if token.kind != "name":
                continue
            expression: tuple[Token, ...] = ()
            if sign.text == "=":
                expression = tuple(code[place + 2 : _end(code, place + 2)])
            elif sign.text in ("{", "(") and code[place - 1].text == "dim3":
                expression = (code[place - 1], *code[place + 1 : (closing(code, place + 1) or place) + 1])
            elif sign.text == "{" and (end := closing(code, place + 1)) == place + 3:
                expression = tuple(code[place + 2 : end])
            if expression:
                yield _Definition(token.text, token.start, expression, self._literal(token.text, expression))

    def _literal(self, name: str, expression: Sequence[Token]) -> Constant | None:
        value = whole_number(expression[0].text) if len(expression) == 1 else None
        if value is None:
            return None
        return Constant(name, value, expression[0].start, expression[0].end, self._line(expression[0].start))

    def _line(self, place: int) -> int:
        return self.text.count("\n", 0, place) + 1


def _is_dim3(expression: Sequence[Token]) -> bool:
    return len(expression) > 2 and expression[0].text == "dim3" and expression[1].text in ("(", "{")


def _split(code: Sequence[Token], begin: int, end: int) -> list[tuple[Token, ...]]:
    """The expressions between two places, at the commas that stand in no brackets."""
    found: list[tuple[Token, ...]] = []
    while begin < end:
        stop = min(_end(code, begin), end)
        found.append(tuple(code[begin:stop]))
        begin = stop + 1
    return [one for one in found if one]


def _end(code: Sequence[Token], begin: int) -> int:
    """The place of the comma, semicolon or closing bracket that ends the expression which begins at `begin`."""
    depth = 0
    for place in range(begin, len(code)):
        text = code[place].text
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if depth < 0 or (depth == 0 and text in (",", ";")):
            return place
    return len(code)
