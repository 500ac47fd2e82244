"""The process in which a learner's list of op calls is made, in a cage (`grader/op_list/listing.py` starts it).

The grader says {"do": "make"} with the text, and is answered with the calls. The function that makes the list is given
names alone: there are no tensors here, and nothing to compute with.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grader.caged_python.serving import serve
from grader.op_record import OpNote, op

_MOST = 256  # calls of one list


class Tensor:
    """Stands for a tensor of the entry: it has a name, and can do nothing."""

    def __init__(self, name: str) -> None:
        self._name = name


class Number(Tensor):
    """The same for a number."""


class Learner:
    """The learner's file."""

    def __init__(self) -> None:
        self.file = ""

    def make(self, message: Mapping[str, Any], text: bytes) -> tuple[dict[str, Any], bytes]:
        """Runs the file and its function, with names; what the function returned."""
        self.file = str(message["file"])
        room = types.ModuleType("grader.op")
        room.op = op  # type: ignore[attr-defined]
        room.part_list = self._part_list(message["lists"])  # type: ignore[attr-defined]
        sys.modules["grader.op"] = room
        names: dict[str, Any] = {"__name__": "learner", "__file__": self.file}
        exec(compile(text, self.file, "exec"), names)
        entry = names.get(message["entry"])
        if not callable(entry):
            return {"entry": False}, b""
        given = [(Number if name in message["numbers"] else Tensor)(name) for name in message["names"]]
        made = entry(*given)
        if not isinstance(made, list | tuple):
            return {"entry": True, "type": type(made).__name__}, b""
        return {"entry": True, "count": len(made), "calls": [self._call(one) for one in made[:_MOST]]}, b""

    def answer(self, message: Mapping[str, Any], text: bytes) -> tuple[dict[str, Any], bytes]:
        """Runs the file and its function, which takes nothing; the values that it returned."""
        self.file = str(message["file"])
        names: dict[str, Any] = {"__name__": "learner", "__file__": self.file}
        exec(compile(text, self.file, "exec"), names)
        entry = names.get(message["entry"])
        if not callable(entry):
            return {"entry": False}, b""
        made = entry()
        values = made if isinstance(made, list | tuple) else [made]
        return {"entry": True, "values": [one if isinstance(one, int | str) else _other(one) for one in values]}, b""

    def _part_list(self, known: Mapping[str, Any]) -> Callable[[str], Callable[..., list[OpNote]]]:
        def part_list(name: str) -> Callable[..., list[OpNote]]:
            """The list that the part of this name makes, as a function of its tensors and numbers."""
            if name not in known:
                raise LookupError(f"this part builds on no list {name!r}; there is {', '.join(known) or 'none'}")
            names: Sequence[str] = known[name]["names"]

            def listed(*arguments: Any) -> list[OpNote]:
                if len(arguments) != len(names):
                    raise TypeError(f"{name}({', '.join(names)}) is given {len(arguments)} arguments")
                given = dict(zip(names, arguments, strict=True))
                line = sys._getframe(1).f_lineno
                return [self._renamed(call, given, line) for call in known[name]["calls"]]

            return listed

        return part_list

    def _renamed(self, call: Mapping[str, Any], given: Mapping[str, Any], line: int) -> OpNote:
        attrs = {name: given[value["number"]] if isinstance(value, dict) else value for name, value in call["attrs"]}
        inputs, outputs = ([given[name] for name in call[side]] for side in ("inputs", "outputs"))
        return OpNote(call["op"], inputs, outputs, attrs, self.file, line)

    def _call(self, one: Any) -> dict[str, Any]:
        if not isinstance(one, OpNote):
            return {"type": type(one).__name__}
        return {
            "op": one.kind if isinstance(one.kind, str) else _other(one.kind),
            "inputs": _tensors(one.inputs),
            "outputs": _tensors(one.outputs),
            "attrs": [[name, _plain(value)] for name, value in one.attrs.items()],
            "line": one.line if one.file == self.file else None,
        }


def _tensors(given: Any) -> Any:
    return [_plain(one) for one in given] if isinstance(given, list | tuple) else _other(given)


def _plain(value: Any) -> Any:
    match value:
        case Number():
            return {"number": value._name}
        case Tensor():
            return {"tensor": value._name}
        case bool() | int() | float():
            return value
    return _other(value)


def _other(value: Any) -> dict[str, str]:
    return {"other": type(value).__name__}


def main() -> None:
    """Serves on descriptor 3."""
    serve(lambda _: Learner())
