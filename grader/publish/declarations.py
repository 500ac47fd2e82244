"""Where the functions, kernels and types of a source stand, by name, with the comment above them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from grader.author.tokens import Code, Token, closing

_TYPES = ("struct", "class", "enum", "union")
_ATTRIBUTES = ("__launch_bounds__", "__align__", "alignas", "__attribute__", "decltype")


@dataclass(frozen=True)
class Declaration:
    """Lines `first` to `last`, from 1; `name` is empty where it declares neither a function's body nor a type."""

    name: str
    first: int
    last: int


def declarations(source: str, language: str) -> list[Declaration]:
    """Those of the file, in order; of Python methods and inner functions too, behind what they stand in."""
    lines = source.splitlines()
    found = _of_python(source) if language == "python" else _of_cpp(source)
    return [Declaration(one.name, _with_comment(lines, one.first), one.last) for one in found]


def _of_python(source: str) -> Iterator[Declaration]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield Declaration(node.name, first, node.end_lineno or node.lineno)


def _of_cpp(source: str) -> Iterator[Declaration]:
    tokens = [token for token in Code(source) if token.kind != "directive"]
    begun = place = 0
    body = False
    while place < len(tokens):
        text = tokens[place].text
        if text in "([{":
            body = body or text == "{"
            end = closing(tokens, place)
            place = len(tokens) - 1 if end is None else end
        follows = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if text == ";" or (text == "{" and follows != ";"):
            yield _declaration(source, tokens[begun : place + 1], has_body=body)
            begun, body = place + 1, False
        place += 1


def _declaration(source: str, tokens: Sequence[Token], *, has_body: bool) -> Declaration:
    first = source.count("\n", 0, tokens[0].start) + 1
    last = source.count("\n", 0, tokens[-1].end) + 1
    return Declaration(_name(tokens) if has_body else "", first, last)


def _name(tokens: Sequence[Token]) -> str:
    """What stands before the parameters of a function, or behind `struct` and the like, attributes aside."""
    plain = _without_attributes(tokens)
    for token, following in pairwise(plain):
        if token.text in _TYPES:
            return following.text
        if token.kind == "name" and following.text == "(":
            return token.text
        if token.text == "{":
            break
    return ""


def _without_attributes(tokens: Sequence[Token]) -> list[Token]:
    """Without `alignas(16)` and its like."""
    left, place = [], 0
    while place < len(tokens):
        if tokens[place].text in _ATTRIBUTES and place + 1 < len(tokens) and tokens[place + 1].text == "(":
            place = (closing(tokens, place + 1) or place) + 1
            continue
        left.append(tokens[place])
        place += 1
    return left


def _with_comment(lines: Sequence[str], first: int) -> int:
    """The line in which the comment right above line `first` begins, else `first` itself."""
    while first > 1 and lines[first - 2].lstrip().startswith(("//", "# ")):
        first -= 1
    return first
