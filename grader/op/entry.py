"""An entry as a function: its arguments are checked, its tensors go to the back end of their device."""

from __future__ import annotations

import ctypes
import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from grader.explain import sentence
from grader.inputs import TORCH_TYPES
from grader.op.errors import EntryMisused, NoBackEnd
from grader.op.library import Lent, OpLibrary, Outcome, loaded
from grader.op.words import failure
from grader.puzzle import Buffer, Case, Part, PuzzleError, Scalar, Workspace, shape_of

if TYPE_CHECKING:
    from grader.build import Build

_MOST_SIZES = 256  # that are remembered
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


@dataclass(frozen=True)
class _Tensor:
    """A parameter that is a buffer: its place among the arguments, and what the tensor has to be."""

    place: int
    buffer: Buffer
    dtype: torch.dtype
    initialised: bool
    writable: bool
    may_be_larger: bool


class Entry:
    """Call it with tensors and numbers in the order of the entry's parameters, without the stream.

    Tensors are contiguous, of the parameters' types and sizes, and all of one device. On CUDA tensors the entry is
    called with PyTorch's current stream, does not wait, and can be captured into a graph; no memory is allocated. On
    CPU tensors all is done when the call returns.

    Raises EntryMisused for arguments that do not fit, EntryFailed where the entry returns an error or a fault is found,
    NoBackEnd where nothing here runs such tensors.
    """

    def __init__(self, build: Build, part: Part, library: OpLibrary, function: Any) -> None:
        self.build, self.part = build, part
        self._library, self._function = library, function
        self._tensors = [
            _Tensor(
                place,
                param,
                TORCH_TYPES[param.dtype.name],
                param.is_read,
                param.role != "in",
                isinstance(param, Workspace),
            )
            for place, param in enumerate(part.params)
            if isinstance(param, Buffer)
        ]
        self._scalars = [(place, param) for place, param in enumerate(part.params) if isinstance(param, Scalar)]
        self._shapes: dict[tuple[int | float, ...], list[tuple[int, ...]]] = {}

    def __repr__(self) -> str:
        names = ", ".join(param.name for param in self.part.params)
        return f"<entry {self.part.name}({names}) of {self.build.source.name}>"

    def __call__(self, *arguments: Any) -> None:
        if len(arguments) != len(self.part.params):
            raise self._misused("count", wanted=self._signature(), got=len(arguments))
        words = list(arguments)
        for place, scalar in self._scalars:
            words[place] = self._number(scalar, arguments[place])
        numbers = tuple(words[place] for place, _ in self._scalars)
        device: torch.device | None = None
        for given, shape in zip(self._tensors, self._shapes.get(numbers) or self._shapes_for(numbers), strict=True):
            tensor = arguments[given.place]
            if (
                not isinstance(tensor, torch.Tensor)
                or tensor.dtype is not given.dtype
                or not tensor.is_contiguous()
                or tensor.shape != shape
                or (device is not None and tensor.device != device)
            ):
                self._look_closer(given, shape, tensor, device)
            device = tensor.device
            words[given.place] = tensor.data_ptr()
        self._call(device, arguments, words)

    def _call(self, device: torch.device | None, arguments: Sequence[Any], words: list[int | float]) -> None:
        if device is None or device.type == "cpu":
            outcome = self._library.call_on_cpu(self._function, words, self._lent(arguments))
        elif device.type == "cuda":
            outcome = self._on_cuda(device, words)
        else:
            raise self._misused("device", device=device.type)
        if outcome.code or outcome.log:
            self._raise_failure(arguments, outcome)

    def _on_cuda(self, device: torch.device, words: list[int | float]) -> Outcome:
        stream = torch.cuda.current_stream(device).cuda_stream
        if device.index == torch.cuda.current_device():
            return self._library.call_on_cuda(self._function, words, stream)
        with torch.cuda.device(device):
            return self._library.call_on_cuda(self._function, words, stream)

    # ---- arguments ----

    def _number(self, scalar: Scalar, value: Any) -> int | float:
        try:
            if scalar.dtype.is_float:
                return float(value)
            number = operator.index(value)
        except TypeError:
            wanted = "a number" if scalar.dtype.is_float else "a whole number"
            raise self._misused("number", name=scalar.name, wanted=wanted, type=type(value).__name__) from None
        bits = 8 * scalar.dtype.bytes
        if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            raise self._misused("too_large", name=scalar.name, value=number, bits=bits)
        return number

    def _shapes_for(self, numbers: tuple[int | float, ...]) -> list[tuple[int, ...]]:
        """The shape of each tensor for these scalars; remembered, since a training step asks the same again."""
        params = {scalar.name: value for (_, scalar), value in zip(self._scalars, numbers, strict=True)}
        try:
            shapes = [shape_of(given.buffer, params) for given in self._tensors]
        except PuzzleError as error:
            raise self._misused("size", reason=str(error)) from None
        if len(self._shapes) >= _MOST_SIZES:
            self._shapes.clear()
        self._shapes[numbers] = shapes
        return shapes

    def _look_closer(self, given: _Tensor, shape: tuple[int, ...], tensor: Any, device: torch.device | None) -> None:
        """What is wrong with the tensor, if anything: leading dimensions may be joined, a workspace may be larger."""
        name = given.buffer.name
        if not isinstance(tensor, torch.Tensor):
            raise self._misused("tensor", name=name, type=type(tensor).__name__)
        if device is not None and tensor.device != device:
            raise self._misused("devices", name=name, device=tensor.device, others=device)
        if tensor.dtype is not given.dtype:
            raise self._misused("dtype", name=name, got=_short(tensor.dtype), wanted=_short(given.dtype))
        if not tensor.is_contiguous():
            raise self._misused("strided", name=name)
        elements, got = math.prod(shape), tensor.numel()
        fits = got >= elements if given.may_be_larger else got == elements and _joined(tensor.shape, shape)
        if not fits:
            sizes = {"got": _sizes(tensor.shape), "wanted": _sizes(shape), "count": f"{elements:,}"}
            raise self._misused("shape", name=name, extents=" × ".join(map(str, given.buffer.shape)), **sizes)

    def _lent(self, arguments: Sequence[Any]) -> list[Lent]:
        """The memory of the tensors; one that is given twice is lent once, under its first name."""
        lent: dict[tuple[int, int], Lent] = {}
        for given in self._tensors:
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
                raise self._misused("overlap", name=before.name, other=after.name)
        return placed

    # ---- errors ----

    def _raise_failure(self, arguments: Sequence[Any], outcome: Outcome) -> None:
        scalars = {scalar.name: arguments[place] for place, scalar in self._scalars}
        failed = failure(self.build, self.part, Case.of(scalars), outcome)
        if failed is not None:
            raise failed

    def _misused(self, key: str, **facts: object) -> EntryMisused:
        return EntryMisused(sentence("op", key, facts={"entry": self.part.name, **facts}))

    def _signature(self) -> str:
        return f"{self.part.name}({', '.join(param.name for param in self.part.params)})"


def _joined(got: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether `got`, of as many elements, is `wanted` with its first dimension taken apart, or the other way round."""
    inner = min(len(got), len(wanted)) - 1
    return inner < 1 or tuple(got[-inner:]) == tuple(wanted[-inner:]) if len(got) != len(wanted) else got == wanted


def _sizes(shape: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
