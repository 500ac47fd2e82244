"""One call of puzzle 10's op runtime on PyTorch tensors, of the CPU or of a GPU.

    op_call("Gemm", [X, dY], [dW], trans_a=1, trans_b=0)

What is called is `op_call` of the object that 10.8 is built as: the runtime, its variants, and the parts that they are
made of, the learner's own where they have passed. Tensors may be strided: it is for the variants to take them or not.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grader.explain import sentence
from grader.op.errors import EntryFailed, EntryMisused, NoBackEnd
from grader.op.library import Lent, OpLibrary, Outcome, loaded
from grader.op.part import built_part
from grader.op.tensor_desc import DTYPES, MOST_DIMENSIONS, TensorDesc, bytes_reached
from grader.op.words import failure
from grader.op_kinds import OPS, Op
from grader.puzzle import Case, In, Out, Part, Tolerance, Work, bf16, f16, f32, i32, i64

if TYPE_CHECKING:
    from grader.build import Build

PART = "train_step"  # whose object has all of them
_INVALID_VALUE = 1  # cudaErrorInvalidValue: op_call says so of a call that makes no sense
_ELEMENTS = (f32, f16, bf16, i32, i64)  # by their numbers in a TensorDesc
_ARRAY = (ctypes.c_void_p, ctypes.c_int)


def op_call(kind: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], **attrs: float) -> None:
    """Does an op: `kind` is its name, and every attribute of it is given.

    On CUDA tensors the op is put on PyTorch's current stream, nothing is waited for, and nothing allocated on the
    device; it can be captured. On CPU tensors all is done when the call returns.

    Raises EntryMisused for what is no such call, EntryFailed where no variant fits, with the reason of each, where a
    launch fails or a fault is found, NoBackEnd where nothing here runs such tensors.
    """
    prepared(kind, inputs, outputs, **attrs)()


def prepared(kind: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], **attrs: float) -> PreparedCall:
    """The same call, looked at and described once, to be made again and again on the same tensors."""
    op = _op(kind)
    numbers = _numbers(op, attrs)
    device = _device(op, inputs, outputs)
    return PreparedCall(_runtime(), op, tuple(inputs), tuple(outputs), numbers, device)


def _op(kind: str) -> Op:
    if kind not in OPS:
        raise _misused("op_unknown", op=kind, ops=", ".join(OPS))
    return OPS[kind]


def _numbers(op: Op, attrs: Mapping[str, float]) -> list[float]:
    if set(attrs) != set(op.attrs):
        wanted, got = (", ".join(names) or "none" for names in (op.attrs, attrs))
        raise _misused("op_attrs", op=op.name, wanted=wanted, got=got)
    try:
        return [float(attrs[name]) for name in op.attrs]
    except (TypeError, ValueError):
        raise _misused("op_number", op=op.name, attrs=", ".join(op.attrs)) from None


def _device(op: Op, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> torch.device:
    """That of all tensors, each of which a TensorDesc can describe."""
    device = None
    for name, tensor in _named(inputs, outputs):
        if not isinstance(tensor, Tensor):
            raise _misused("tensor", name=name, type=type(tensor).__name__, entry=op.name)
        if tensor.dtype not in DTYPES:
            known = ", ".join(_short(dtype) for dtype in DTYPES)
            raise _misused("op_dtype", op=op.name, name=name, got=_short(tensor.dtype), known=known)
        if tensor.dim() > MOST_DIMENSIONS:
            raise _misused("op_dimensions", op=op.name, name=name, got=tensor.dim(), most=MOST_DIMENSIONS)
        if device is not None and tensor.device != device:
            raise _misused("devices", entry=op.name, name=name, device=tensor.device, others=device)
        device = tensor.device
    if device is None:
        raise _misused("op_nothing", op=op.name)
    if device.type not in ("cpu", "cuda"):
        raise _misused("device", entry=op.name, device=device.type)
    return device


def _named(inputs: Sequence[Any], outputs: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    for side, tensors in (("inputs", inputs), ("outputs", outputs)):
        yield from ((f"{side}[{place}]", tensor) for place, tensor in enumerate(tensors))


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _misused(key: str, **facts: object) -> EntryMisused:
    return EntryMisused(sentence("op", key, facts=facts))


@functools.cache
def _runtime() -> OpRuntime:
    built, _ = built_part(PART)
    return OpRuntime(built)


class OpRuntime:
    """The built object, and its two functions."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self._library: OpLibrary = loaded(build)
        arrays = (*_ARRAY, *_ARRAY, *_ARRAY)
        function = self._library.function("op_call", (ctypes.c_int, *arrays, ctypes.c_void_p), ctypes.c_int)
        refusal = self._library.function("op_refusal", (), ctypes.c_char_p)
        if function is None or refusal is None:
            raise NoBackEnd(sentence("op", "no_entry", facts={"entry": "op_call", "file": build.source.name}))
        self._function, self._refusal = function, refusal

    def on_cpu(self, words: Sequence[Any], lent: Sequence[Lent]) -> Outcome:
        return self._library.call_on_cpu(self._function, words, lent)

    def on_cuda(self, words: Sequence[Any], device: torch.device) -> Outcome:
        """On PyTorch's current stream of that device."""
        stream = torch.cuda.current_stream(device).cuda_stream
        if device.index == torch.cuda.current_device():
            return self._library.call_on_cuda(self._function, words, stream)
        with torch.cuda.device(device):
            return self._library.call_on_cuda(self._function, words, stream)

    def refusal(self) -> str:
        """Why this thread's last call launched nothing; "" where it did."""
        return str(self._refusal().decode(errors="replace"))


class PreparedCall:
    """A call that can be made: tensors have been described, and are kept alive. Raises as `op_call` does."""

    def __init__(
        self,
        runtime: OpRuntime,
        op: Op,
        inputs: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        attrs: Sequence[float],
        device: torch.device,
    ) -> None:
        self.op, self.inputs, self.outputs, self.device = op, inputs, outputs, device
        self._runtime = runtime
        described = [(TensorDesc * len(side))(*map(TensorDesc.of, side)) for side in (inputs, outputs)]
        numbers = (ctypes.c_double * len(attrs))(*attrs)
        self._words = [op.number, *_array(described[0]), *_array(described[1]), *_array(numbers)]
        self._lent = list(_lent(inputs, outputs)) if device.type == "cpu" else []

    def __call__(self) -> None:
        if self.device.type == "cpu":
            outcome = self._runtime.on_cpu(self._words, self._lent)
        else:
            outcome = self._runtime.on_cuda(self._words, self.device)
        if outcome.code or outcome.log:
            self._raise(outcome)

    def _raise(self, outcome: Outcome) -> None:
        refusal = self._runtime.refusal()
        if refusal and outcome.code:
            said = sentence("op", "op_refused", facts={"op": self.op.name, "error": outcome.name, "words": refusal})
            raise EntryMisused(said) if outcome.code == _INVALID_VALUE else EntryFailed(said, outcome.name)
        failed = failure(self._runtime.build, _part(self.op, self.inputs, self.outputs), Case(), outcome)
        if failed is not None:
            raise failed


def _array(values: Any) -> list[Any]:
    return [values, len(values)]


def _lent(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Iterator[Lent]:
    """The memory of the tensors; what several of them reach into is lent once, under the first one's name."""
    reached = [
        Lent(name, tensor.data_ptr(), bytes_reached(tensor), name.startswith("inputs"), name.startswith("outputs"))
        for name, tensor in _named(inputs, outputs)
    ]
    kept: list[Lent] = []
    for lent in sorted((one for one in reached if one.bytes), key=lambda one: one.address):
        before = kept[-1] if kept else None
        if before is None or before.address + before.bytes <= lent.address:
            kept.append(lent)
            continue
        end = max(before.address + before.bytes, lent.address + lent.bytes)
        may = (before.initialised or lent.initialised, before.writable or lent.writable)
        kept[-1] = Lent(min(before.name, lent.name), before.address, end - before.address, *may)
    yield from kept


def _part(op: Op, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Part:
    """What a fault is told with: buffers of these names and shapes."""
    params = [
        (Out if name.startswith("outputs") else In)(name, _ELEMENTS[DTYPES[tensor.dtype]], *tensor.shape)
        for name, tensor in _named(inputs, outputs)
    ]
    return Part(
        op.name,
        params=params,
        reference=lambda: None,
        groups={"call": [Case()]},
        bench=Case(),
        work=lambda: Work(bytes=0, flops=0),
        tolerance=Tolerance(0.0, why="nothing is compared"),
        lesson="",
    )
