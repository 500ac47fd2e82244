"""The process in which a learner's Python runs, in a cage (grader/caged_python/session.py starts it).

Frames of `grader/wire.py` on descriptor 3. The grader says {"do": "load"} with the text, then {"do": "call"} with
tensors. In between the file asks for kernels, {"ask": "entry"} with tensors, and is answered with those that it gave,
changed. A tensor is described as {"dtype", "shape"}, its bytes follow in row-major order.

Nothing that is said here is believed without being looked at, since the file could say it too.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from grader.caged_python.serving import line_of, serve
from grader.wire import read_into, receive, send

_DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in (torch.float32, torch.float16, torch.bfloat16,
                                                                  torch.float64, torch.int32, torch.int64)}  # fmt: skip
# What gives tensors a place and a shape and computes nothing.
_HARMLESS = frozenset(
    """
    alias as_strided clone copy_ detach empty empty_like empty_strided expand fill_ lift_fresh new_empty
    new_empty_strided new_zeros permute reshape select slice squeeze t transpose unsqueeze view _unsafe_view
    _reshape_alias zero_ zeros zeros_like _to_copy ones full
    """.split()  # noqa: SIM905
)


class EntryMisused(ValueError):
    """As `grader.op.EntryMisused`."""


class EntryFailed(RuntimeError):
    """As `grader.op.EntryFailed`."""


_ERRORS: Mapping[str, type[Exception]] = {"misused": EntryMisused, "failed": EntryFailed}


def packed(tensors: Sequence[torch.Tensor]) -> tuple[list[dict[str, Any]], bytes]:
    """Descriptions and bytes of tensors, contiguous or not."""
    plain = [tensor.detach().contiguous() for tensor in tensors]
    described = [{"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)} for tensor in plain]
    return described, b"".join(_bytes(tensor) for tensor in plain)


def unpacked(described: Sequence[Mapping[str, Any]], raw: bytes) -> Iterator[torch.Tensor]:
    """The tensors again."""
    place = 0
    for one in described:
        tensor = torch.empty(one["shape"], dtype=_DTYPES[one["dtype"]])
        size = tensor.numel() * tensor.element_size()
        if size:
            bytes_ = torch.frombuffer(bytearray(raw[place : place + size]), dtype=torch.uint8)
            tensor = bytes_.view(tensor.dtype).reshape(tensor.shape).clone()
        place += size
        yield tensor


def _bytes(tensor: torch.Tensor) -> bytes:
    flat = tensor.reshape(-1)
    return bytes(flat.view(torch.uint8).numpy().tobytes()) if flat.numel() else b""


class Computing(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the first of PyTorch's own operations that computes something, and where in the learner's file."""

    def __init__(self, file: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._file = file
        self.seen: dict[str, Any] | None = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Else PyTorch loads its compiler at the first operation, which takes seconds and wants to write files."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        if name not in _HARMLESS and self.seen is None:
            line = line_of(self._file, traceback.extract_stack())
            if line is not None:  # else it is autograd's own
                self.seen = {"operation": name, "line": line}
        return func(*args, **(kwargs or {}))


class Flow(torch.autograd.Function):
    """A number of which `flowing` is the gradient, as it lies in memory.

    `result.backward(flowing)` would do, and load PyTorch's symbolic shapes, which takes seconds.
    """

    @staticmethod
    def forward(ctx: Any, result: torch.Tensor, flowing: torch.Tensor) -> torch.Tensor:
        ctx.flowing = flowing
        return result.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *_: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.flowing, None


class Kernels:
    """What the learner's file knows as `grader.op`: entries of other parts, which the grader runs."""

    def __init__(self, file: str, link: BinaryIO) -> None:
        self._file, self._link = file, link

    def part_entry(self, name: str) -> Callable[..., None]:
        """The entry of this name, as a function on tensors."""

        def entry(*arguments: Any) -> None:
            with torch.no_grad():
                self._ask(name, arguments)

        entry.__name__ = name
        return entry

    def _ask(self, name: str, arguments: Sequence[Any]) -> None:
        tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
        described, raw = packed(tensors)
        for one, tensor in zip(described, tensors, strict=True):
            one["contiguous"] = tensor.is_contiguous()
        line = line_of(self._file, traceback.extract_stack())
        asked = {"ask": "entry", "entry": name, "line": line, "tensors": described}
        send(self._link, {**asked, "arguments": [_argument(value) for value in arguments]}, raw)
        answer, size = receive(self._link)
        changed = bytearray(size)
        read_into(self._link, memoryview(changed))
        if "error" in answer:
            raise _ERRORS[answer["error"]](answer["message"])
        given = (value for value in arguments if isinstance(value, torch.Tensor))
        for tensor, result in zip(given, unpacked(described, bytes(changed)), strict=True):
            tensor.copy_(result)


def _argument(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return {"tensor": True}
    return value if isinstance(value, int | float) else {"other": type(value).__name__}


class Learner:
    """The learner's file: `load` runs it, `call` calls a function of it."""

    def __init__(self, link: BinaryIO) -> None:
        self._link = link
        self.file = ""
        self._names: dict[str, Any] = {}

    def load(self, message: Mapping[str, Any], text: bytes) -> tuple[dict[str, Any], bytes]:
        self.file = str(message["file"])
        kernels, room = Kernels(self.file, self._link), types.ModuleType("grader.op")
        for name, value in {"part_entry": kernels.part_entry, **vars(sys.modules[__name__])}.items():
            if name in ("part_entry", "EntryMisused", "EntryFailed"):
                setattr(room, name, value)
        sys.modules["grader.op"] = room
        self._names = {"__name__": "learner", "__file__": self.file}
        exec(compile(text, self.file, "exec"), self._names)
        entry = self._names.get(message["entry"])
        return {"entry": callable(entry)}, b""

    def call(self, message: Mapping[str, Any], raw: bytes) -> tuple[dict[str, Any], bytes]:
        """The result, and what came back to each tensor that wants a gradient, None for nothing."""
        described = message["tensors"]
        *tensors, dy = unpacked([*described, message["dy"]], raw)
        given = [_laid_out(tensor, one["strided"]) for tensor, one in zip(tensors, described, strict=True)]
        for tensor, one in zip(given, described, strict=True):
            tensor.requires_grad_(one["needs"])
        computing = Computing(self.file)
        with computing:
            result = self._names[message["entry"]](*given, *message["numbers"])
        if not isinstance(result, torch.Tensor):
            return {"result": None, "type": type(result).__name__, "computing": computing.seen}, b""
        seen, kept = computing.seen, [result]
        answer: dict[str, Any] = {"computing": seen, "differentiable": result.requires_grad}
        if result.requires_grad and list(result.shape) == list(dy.shape):
            send(self._link, {"ask": "backward"})
            receive(self._link)
            number = Flow.apply(result, _laid_out(dy, message["dy"]["strided"]))  # type: ignore[no-untyped-call]
            with computing:
                torch.autograd.backward(number)
            answer["computing"] = computing.seen
            answer["gradients"] = [tensor.grad is not None for tensor in given]
            kept += [tensor.grad for tensor in given if tensor.grad is not None]
        described, packed_bytes = packed(kept)
        return {**answer, "result": described[0], "given": described[1:]}, packed_bytes

    def train(self, message: Mapping[str, Any], raw: bytes) -> tuple[dict[str, Any], bytes]:
        """The tensors after some steps of gradient descent on the mean squared distance from the target."""
        described = message["tensors"]
        *tensors, target = unpacked([*described, message["target"]], raw)
        for tensor in tensors[1:]:
            tensor.requires_grad_()
        for _ in range(message["steps"]):
            result = self._names[message["entry"]](*tensors, *message["numbers"])
            torch.autograd.backward(((result - target) ** 2).mean())
            with torch.no_grad():
                for tensor in tensors[1:]:
                    tensor.sub_(message["rate"] * tensor.grad)
                    tensor.grad = None
        described, packed_bytes = packed(tensors[1:])
        return {"given": described}, packed_bytes


def _laid_out(tensor: torch.Tensor, strided: bool) -> torch.Tensor:
    """The same values; `strided`: with a gap behind each of them."""
    if not strided:
        return tensor
    return torch.stack([tensor, torch.zeros_like(tensor)], -1)[..., 0]


def main() -> None:
    """Serves on descriptor 3; what the file prints comes out at once."""
    torch.set_num_threads(1)
    tempfile.tempdir = "/"  # PyTorch asks for the name, and looking for one that can be written would fail
    serve(Learner)
