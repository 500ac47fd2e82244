"""The size of a dimension: an expression over the scalars of an entry, such as "2 * rows + 512".

Only names, whole numbers, + - * // ( ), min and max are understood; nothing of an expression is ever executed.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping


class ExtentError(ValueError):
    """An expression that is no size; the message is one sentence."""


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max}


def evaluate(expression: str, scalars: Mapping[str, int | float]) -> int:
    """The value of `expression` for these scalars; raises `ExtentError`."""
    try:
        return _evaluate(_parsed(expression), scalars)
    except ZeroDivisionError:
        raise ExtentError(f"the dimension {expression} divides by zero.") from None


def names(expression: str) -> set[str]:
    """The scalars that `expression` names."""
    return {node.id for node in ast.walk(_parsed(expression)) if isinstance(node, ast.Name)} - _FUNCTIONS.keys()


@functools.lru_cache(maxsize=1024)
def _parsed(expression: str) -> ast.expr:
    try:
        return ast.parse(expression, mode="eval").body
    except SyntaxError:
        raise ExtentError(f"{expression!r} is no expression.") from None


def _evaluate(node: ast.expr, scalars: Mapping[str, int | float]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name) if name in scalars:
            return int(scalars[name])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluate(left, scalars), _evaluate(right, scalars))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS and arguments:
            return _FUNCTIONS[name](*(_evaluate(argument, scalars) for argument in arguments))
    raise ExtentError(f"{ast.unparse(node)!r} in its shape is neither a scalar, a number, + - * //, min nor max.")
