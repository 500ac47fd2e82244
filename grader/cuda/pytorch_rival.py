"""The parent's side of PyTorch's process: a contestant, as a replayed kernel is one.

Its process starts at once, since importing PyTorch takes seconds; what it is to run it is told at its first lap.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Protocol

from grader.catalog import Located
from grader.closing import Closing
from grader.cuda.child import Child
from grader.cuda.input_sets import InputSets
from grader.cuda.timing import Lap
from grader.explain import sentence
from grader.puzzle import Case, Part

COMMAND = (sys.executable, "-m", "grader.cuda.pytorch_child")
WITH_COMPILER = "--compiled"  # behind it: imports the compiler at once, which takes seconds too
_START_SECONDS = 120.0  # with torch's import on a cold machine, and the first call of a library
_COMPILE_SECONDS = 300.0
_LAP_SECONDS = 20.0
_STEP = 256  # sizes of the products of matrices are multiples of it


class Process(Protocol):
    """PyTorch's process, as `Child` is one."""

    def ask(self, message: Mapping[str, Any], *, seconds: float) -> dict[str, Any]: ...

    def close(self) -> None: ...


class PyTorchContestant(Closing):
    """What PyTorch runs, told by the message `load` in the first lap, for which it gets so many `seconds`.

    `child` is a process of it that has started already.
    """

    def __init__(
        self,
        name: str,
        what: str,
        load: Mapping[str, Any],
        *,
        seconds: float = _START_SECONDS,
        child: Process | None = None,
    ) -> None:
        self.name = name
        self.what = what
        self._load = load
        self._seconds = seconds
        self._child: Process = child or Child(COMMAND)
        self._is_loaded = False

    def close(self) -> None:
        self._child.close()

    def lap(self, inputs: int) -> Lap:
        if not self._is_loaded:
            answer = self._child.ask(self._load, seconds=self._seconds)
            if not answer.get("captured"):
                self.what = sentence("rivals", "not_captured", facts={"what": self.what})
            self._is_loaded = True
        answer = self._child.ask({"do": "lap", "inputs": inputs}, seconds=_LAP_SECONDS)
        return Lap(float(answer["ms"]), float(answer["host_ms"]))


class ProductContestant(PyTorchContestant):
    """A square product of matrices of about as many operations as a case has: its time as if it were as many."""

    def __init__(self, name: str, dtype: str, flops: int, child: Process | None = None) -> None:
        size = max(round((flops / 2) ** (1 / 3) / _STEP), 1) * _STEP
        what = sentence("rivals", "product", facts={"dtype": dtype, "size": f"{size:,}"})
        super().__init__(name, what, {"do": "product", "dtype": dtype, "size": size}, child=child)
        self._share = flops / (2 * size**3)

    def lap(self, inputs: int) -> Lap:
        taken = super().lap(inputs)
        return Lap(taken.ms * self._share, taken.host_ms * self._share)


def called_in(part: Part) -> str:
    """What the part calls of PyTorch, as the first line of its function's docstring says it."""
    said = "" if isinstance(part.pytorch, str) else getattr(part.pytorch, "__doc__", None) or ""
    return said.partition("\n")[0].rstrip(".") or sentence("rivals", "plain")


def pytorch_ahead(located: Located) -> Child | None:
    """A process that imports PyTorch for this part, while its inputs are still to be drawn; None where none is wanted.

    Who is given it as `child` closes it.
    """
    return None if located.part.in_pytorch is None else Child(COMMAND)


def pytorch_of(
    located: Located, case: Case, sets: InputSets, *, compiled: bool = False, child: Process | None = None
) -> PyTorchContestant:
    """What the part has for PyTorch, as it is or through torch.compile; there is something."""
    name = "compiled" if compiled else "pytorch"
    what = sentence("rivals", name, facts={"called": called_in(located.part).replace("`", "")})
    load = {"do": "part", "folder": str(located.puzzle.directory), "part": located.part.name, "compiled": compiled}
    load |= {"params": dict(case.params), "sets": sets.paths}
    seconds = _COMPILE_SECONDS if compiled else _START_SECONDS
    child = child or Child((*COMMAND, WITH_COMPILER) if compiled else COMMAND)
    return PyTorchContestant(name, what, load, seconds=seconds, child=child)
