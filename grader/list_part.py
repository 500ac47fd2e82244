"""The vocabulary of parts that are written as a list of op calls, beside that of puzzle.py.

    ListPart(
        "backward_linear",
        params=[In("X", f32, "rows", "inputs"), Out("dW", f32, "inputs", "outputs"), …, Scalar("lr", f32), …],
        …
    )

The file is Python: a function of the part's name that takes the names of the part's tensors and then of its floats, and
returns a list, `[op("MseGrad", [Y, T], [dY]), …]`. A C++ entry is made of it (`grader/op_list/`), which calls these ops
one after the other, and that is judged as any other part is. Nothing of ours lies below this module but puzzle.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.buffers import Buffer, Dim, Param
from grader.puzzle import Case, Part, PuzzleError, Tolerance, Work


@dataclass(frozen=True)
class Question:
    """One answer of a part that reads a plan: its name, what is right, from the launches of the plan
    (`grader/op_list/planned.py`), and what to look at where it is wrong.
    """

    name: str
    right: Callable[[Sequence[Any]], int | str]
    why: str


@dataclass(frozen=True)
class ReadingPart(Part):
    """A part whose file, `N_name.py`, answers questions about a plan: its function takes nothing, and returns the
    answers in the order of `questions`. They are about the solution of the part `about`, a list, in its first case.
    """

    about: str = field(kw_only=True)
    questions: Sequence[Question] = field(kw_only=True)
    params: Sequence[Param] = field(default=(), kw_only=True)
    reference: Callable[..., Any] = field(default=lambda: (), kw_only=True)
    groups: Mapping[str, Sequence[Case]] = field(default_factory=lambda: {"answers": [Case()]}, kw_only=True)
    bench: Case = field(default_factory=Case, kw_only=True)
    work: Callable[..., Work] = field(default=lambda: Work(0, 0), kw_only=True)
    tolerance: Tolerance = field(default=Tolerance(0.0, why="an answer is right or wrong"), kw_only=True)

    @property
    def is_host(self) -> bool:
        """Nothing of it runs on a GPU."""
        return True


@dataclass(frozen=True)
class ListPart(Part):
    """A part whose file is a list of op calls in Python: `N_name.py`.

    `params` are those of the C++ entry that is made of it; dimensions are numbers or names of scalars. `repeat` names
    the scalar that says how often the list is gone through, once where there is none. `loss` takes inputs by name, as
    `reference` does, and gives the number that has to fall from one time through to the next. `is_given`: nothing is
    written in its file; it is not started until the learner's own files of the parts before it in the puzzle have
    passed that it builds on. `reference` gives results that are written only before those that are read as well.
    """

    repeat: str | None = field(default=None, kw_only=True)
    loss: Callable[..., Any] | None = field(default=None, kw_only=True)
    is_given: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        known = {scalar.name for scalar in self.scalars}
        for buffer in self.buffers:
            if odd := [dim for dim in buffer.shape if isinstance(dim, str) and dim not in known]:
                raise PuzzleError(f"{self.name}: {odd[0]}, a dimension of {buffer.name}, is no scalar.")
            if len(buffer.shape) > 4:
                raise PuzzleError(f"{self.name}: {buffer.name} has more than the 4 dimensions of a TensorDesc.")
        if self.repeat is not None and self.repeat not in known:
            raise PuzzleError(f"{self.name}: {self.repeat} is no scalar.")

    @property
    def results(self) -> tuple[Buffer, ...]:
        """Those that are made first, and those that are changed by them, so that what is wrong first is told first."""
        found = super().results
        return (*(one for one in found if not one.is_read), *(one for one in found if one.is_read))

    @property
    def tensor_names(self) -> tuple[str, ...]:
        """What an op can read and write."""
        return tuple(buffer.name for buffer in self.buffers)

    @property
    def number_names(self) -> tuple[str, ...]:
        """What an attribute can be besides a number as it is written."""
        return tuple(scalar.name for scalar in self.scalars if scalar.dtype.is_float)

    @property
    def names(self) -> tuple[str, ...]:
        """What the function of the file is given, in its order."""
        return (*self.tensor_names, *self.number_names)

    def dims(self, name: str) -> tuple[Dim, ...]:
        """The dimensions of a tensor, by the names that the part gives them."""
        return next(buffer.shape for buffer in self.buffers if buffer.name == name)
