"""An entry as a function: its arguments are checked, its tensors go to the back end of their device."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from grader.explain import sentence
from grader.op.arguments import Arguments
from grader.op.errors import EntryMisused, NoBackEnd
from grader.op.library import Lent, OpLibrary, Outcome, loaded
from grader.op.tensors import written
from grader.op.words import failure
from grader.puzzle import Case, Part, Scalar

if TYPE_CHECKING:
    from grader.build import Build

_C_TYPES: dict[str, Any] = {
    "i32": ctypes.c_int,
    "i64": ctypes.c_longlong,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}


def load_entry(build: Build, part: Part) -> Entry:
    """The entry of `part` in a built file, as a function on tensors. A second call for the same build costs nothing.

    Raises NoBackEnd where the object cannot be loaded, EntryMisused where it is none that works on tensors.
    """
    if part.is_host:
        raise EntryMisused(sentence("op", "host_entry", facts={"entry": part.name}))
    library = loaded(build)
    scalars = (_C_TYPES[param.dtype.name] if isinstance(param, Scalar) else ctypes.c_void_p for param in part.params)
    function = library.function(part.name, [*scalars, ctypes.c_void_p], ctypes.c_int)
    if function is None:
        raise NoBackEnd(sentence("op", "no_entry", facts={"entry": part.name, "file": build.source.name}))
    return Entry(build, part, library, function)


class Entry:
    """Call it with tensors and numbers in the order of the entry's parameters, without the stream.

    Tensors are contiguous, of the parameters' types and sizes, and all of one device. On CUDA tensors the entry is
    called with PyTorch's current stream, does not wait, and can be captured into a graph; no memory is allocated. On
    CPU tensors all is done when the call returns. Autograd knows of it no more than which tensors it may have written.

    Raises EntryMisused for arguments that do not fit, EntryFailed where the entry returns an error or a fault is found,
    NoBackEnd where nothing here runs such tensors.
    """

    def __init__(self, build: Build, part: Part, library: OpLibrary, function: Any) -> None:
        self.build, self.part = build, part
        self._library, self._function, self._arguments = library, function, Arguments(part)

    def __repr__(self) -> str:
        names = ", ".join(param.name for param in self.part.params)
        return f"<entry {self.part.name}({names}) of {self.build.source.name}>"

    def __call__(self, *arguments: Any) -> None:
        words, device = self._arguments.words(arguments)
        self._call(device, arguments, words)

    def _call(self, device: torch.device | None, arguments: Sequence[Any], words: list[int | float]) -> None:
        if device is None or device.type == "cpu":
            outcome = self._library.call_on_cpu(self._function, words, self._lent(arguments))
        elif device.type == "cuda":
            outcome = self._on_cuda(device, words)
        else:
            raise self._arguments.misused("device", device=device.type)
        written(arguments[given.place] for given in self._arguments.tensors if given.writable)
        if outcome.code or outcome.log:
            self._raise_failure(arguments, outcome)

    def _on_cuda(self, device: torch.device, words: list[int | float]) -> Outcome:
        stream = torch.cuda.current_stream(device).cuda_stream
        if device.index == torch.cuda.current_device():
            return self._library.call_on_cuda(self._function, words, stream)
        with torch.cuda.device(device):
            return self._library.call_on_cuda(self._function, words, stream)

    def _lent(self, arguments: Sequence[Any]) -> list[Lent]:
        """The memory of the tensors; one that is given twice is lent once, under its first name."""
        lent: dict[tuple[int, int], Lent] = {}
        for given in self._arguments.tensors:
            tensor = arguments[given.place]
            where = (tensor.data_ptr(), tensor.numel() * tensor.element_size())
            if not where[1]:
                continue
            known = lent.get(where)
            if known is None:
                lent[where] = Lent(given.buffer.name, *where, given.initialised, given.writable)
            else:
                may = (known.initialised or given.initialised, known.writable or given.writable)
                lent[where] = Lent(known.name, *where, *may)
        placed = sorted(lent.values(), key=lambda one: one.address)
        for before, after in itertools.pairwise(placed):
            if after.address < before.address + before.bytes:
                raise self._arguments.misused("overlap", name=before.name, other=after.name)
        return placed

    def _raise_failure(self, arguments: Sequence[Any], outcome: Outcome) -> None:
        scalars = {scalar.name: arguments[place] for place, scalar in self._arguments.scalars}
        failed = failure(self.build, self.part, Case.of(scalars), outcome)
        if failed is not None:
            raise failed
