"""What a C++ expression of whole numbers comes to, where nothing in it is known only while the program runs."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence

from grader.author.tokens import Token

_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|[1-9]\d*|0)[uUlLzZ]*")
_CASTS = frozenset({"int", "unsigned", "long", "size_t", "uint32_t", "int32_t"})
_LARGEST = 1 << 62


class Unknown(Exception):
    """The expression has something in it that is no whole number or that nobody knows before the program runs."""


def whole_number(text: str) -> int | None:
    """The value of a literal such as `256`, `1'024u` or `0x100`; None for anything else."""
    match = _NUMBER.fullmatch(text.replace("'", ""))
    return int(match[1], 0) if match is not None else None


def value_of(expression: Sequence[Token], known: Callable[[str], int]) -> int:
    """The value of `expression`; `known` gives that of a name, or raises `Unknown`. Raises `Unknown`."""
    try:
        tree = ast.parse(_as_python(expression), mode="eval")
        found = _evaluated(tree.body, known)
    except (SyntaxError, ZeroDivisionError, ValueError, RecursionError, OverflowError) as error:
        raise Unknown from error
    if not 0 <= found < _LARGEST:  # where C++ and Python round differently, or C++ wraps round
        raise Unknown
    return found


def _as_python(expression: Sequence[Token]) -> str:
    words: list[str] = []
    for token in expression:
        number = whole_number(token.text) if token.kind == "number" else None
        if token.kind not in ("name", "sign", "number") or (token.kind == "number" and number is None):
            raise Unknown
        words.append(str(number) if number is not None else "//" if token.text == "/" else token.text)
    return re.sub(r"\bstd :: |\bstatic_cast < \w+ > ", "", " ".join(words))


def _evaluated(node: ast.expr, known: Callable[[str], int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return known(name)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _BINARY[type(sign)](_evaluated(left, known), _evaluated(right, known))
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[first, second]):
            return (min if name == "min" else max)(_evaluated(first, known), _evaluated(second, known))
        case ast.Call(func=ast.Name(id=name), args=[one]) if name in _CASTS:
            return _evaluated(one, known)
    raise Unknown
