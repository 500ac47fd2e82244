"""Which line of a learner's Python a wrong value is told at: what `forward`, `backward` and the entry return."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

_INVALID = re.compile(
    r"returned an invalid gradient at index (\d+) - got (\[[^\]]*\]) but expected shape compatible with (\[[^\]]*\])"
)


@dataclass(frozen=True)
class InvalidGradient:
    """A gradient that autograd does not take: of which tensor, and both shapes, as PyTorch writes them."""

    name: str
    got: str
    wanted: str
    line: int | None


class Blame:
    """The lines of one file; None where it has no such function."""

    def __init__(self, text: str) -> None:
        try:
            self._functions = {
                node.name: node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)
            }
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self._functions = {}

    def forward(self) -> int | None:
        return self._returned("forward") or self.function()

    def backward(self) -> int | None:
        return self._returned("backward") or self.function()

    def gradient(self, place: int) -> int | None:
        """Where `backward` names the gradient of the tensor in that place, if it returns a tuple over several lines."""
        returned = self._last_return("backward")
        value = returned.value if returned is not None else None
        if isinstance(value, ast.Tuple) and place < len(value.elts):
            return value.elts[place].lineno
        return self.backward()

    def function(self) -> int | None:
        """What the last function of the file, which is the entry, returns, else where it begins."""
        last = max(self._functions.values(), key=lambda node: node.lineno, default=None)
        return (self._returned(last.name) or last.lineno) if last is not None else None

    def invalid_gradient(self, message: str, names: Sequence[str]) -> InvalidGradient | None:
        """What autograd's own error says of a gradient of a wrong shape."""
        found = _INVALID.search(message)
        if found is None or int(found[1]) >= len(names):
            return None
        return InvalidGradient(names[int(found[1])], found[2], found[3], self.gradient(int(found[1])))

    def of_autograd(self, message: str) -> int | None:
        """Where an error is told that autograd itself raises, as of a wrong number of gradients."""
        return self.backward() if "returned an incorrect number of gradients" in message else self.function()

    def _returned(self, name: str) -> int | None:
        found = self._last_return(name)
        return found.lineno if found is not None else None

    def _last_return(self, name: str) -> ast.Return | None:
        function = self._functions.get(name)
        if function is None:
            return None
        returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
        return max(returns, key=lambda node: node.lineno, default=None)
