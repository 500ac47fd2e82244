"""One call of puzzle 10's op runtime on PyTorch tensors, of the CPU or of a GPU.

    op_call("Gemm", [X, dY], [dW], trans_a=1, trans_b=0)

What is called is `op_call` of the object that 10.8 is built as: the runtime, its variants, and the parts that they are
made of, the learner's own where they have passed. Tensors may be strided: it is for the variants to take them or not.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grader.explain import sentence
from grader.op.errors import EntryFailed, EntryMisused, NoBackEnd
from grader.op.library import Lent, OpLibrary, Outcome, loaded
from grader.op.operands import attributes, device_of, listed, named, op_of
from grader.op.part import built_part
from grader.op.tensor_desc import DTYPES, TensorDesc
from grader.op.tensors import bytes_reached, form_of, written
from grader.op.words import failure
from grader.op_kinds import Op
from grader.puzzle import Case, In, Out, Part, Tolerance, Work, bf16, f16, f32, i32, i64

if TYPE_CHECKING:
    from grader.build import Build

PART = "train_step"  # whose object has all of them
_INVALID_VALUE = 1  # cudaErrorInvalidValue: op_call says so of a call that makes no sense
_ELEMENTS = (f32, f16, bf16, i32, i64)  # by their numbers in a TensorDesc
_ARRAY = (ctypes.c_void_p, ctypes.c_int)


def op_call(kind: str, inputs: Iterable[Tensor], outputs: Iterable[Tensor], **attrs: float) -> None:
    """Does an op: `kind` is its name, and every attribute of it is given.

    On CUDA tensors the op is put on PyTorch's current stream, nothing is waited for, and nothing allocated on the
    device; it can be captured. On CPU tensors all is done when the call returns. Autograd knows of the op no more than
    that it wrote: a backward pass that would need a value from before raises.

    Raises EntryMisused for what is no such call, EntryFailed where no variant fits, with the reason of each, where a
    launch fails or a fault is found, NoBackEnd where nothing here runs such tensors.
    """
    prepared(kind, inputs, outputs, **attrs)()


def prepared(kind: str, inputs: Iterable[Tensor], outputs: Iterable[Tensor], **attrs: float) -> PreparedCall:
    """The same call, looked at and described once, to be made again and again on the same tensors."""
    op = op_of(kind)
    numbers = attributes(op, attrs)
    return PreparedCall(op, listed(op, "inputs", inputs), listed(op, "outputs", outputs), numbers)


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
    """A call that can be made again and again. Raises as `op_call` does.

    Its tensors are kept alive and have been described. Where one of them has been given other memory, another shape or
    another type since, the next call looks at all of them again and describes them anew.
    """

    def __init__(self, op: Op, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], attrs: Sequence[float]) -> None:
        self.op, self.inputs, self.outputs = op, inputs, outputs
        self.tensors = (*inputs, *outputs)
        self._attrs = _array((ctypes.c_double * len(attrs))(*attrs))
        self._describe()
        self._runtime = _runtime()

    @property
    def device(self) -> torch.device:
        """That of all tensors, when they were described."""
        return self._device

    def _describe(self) -> None:
        self._device = device_of(self.op, self.inputs, self.outputs)
        self._forms = [form_of(tensor) for tensor in self.tensors]
        sides = [(TensorDesc * len(side))(*map(TensorDesc.of, side)) for side in (self.inputs, self.outputs)]
        self._words = [self.op.number, *_array(sides[0]), *_array(sides[1]), *self._attrs]
        self._lent = list(_lent(self.inputs, self.outputs)) if self._device.type == "cpu" else []

    def look_again(self) -> None:
        """Describes the tensors anew if one has changed its form; raises EntryMisused where that does not do."""
        if [form_of(tensor) for tensor in self.tensors] != self._forms:
            self._forms = []  # so that a call after a refused one looks again
            self._describe()

    def __call__(self) -> None:
        self.look_again()
        if self._device.type == "cpu":
            outcome = self._runtime.on_cpu(self._words, self._lent)
        else:
            outcome = self._runtime.on_cuda(self._words, self._device)
        if outcome.code or outcome.log:
            self._raise(outcome)
        written(self.outputs)

    def _raise(self, outcome: Outcome) -> None:
        refusal = self._runtime.refusal()
        if refusal and outcome.code:
            said = sentence("op", "op_refused", facts={"op": self.op.name, "error": outcome.name, "words": refusal})
            raise EntryMisused(said) if outcome.code == _INVALID_VALUE else EntryFailed(said, outcome.name)
        failed = failure(self._runtime.build, _part(self.op, self.inputs, self.outputs), Case(), outcome)
        if failed is not None:
            written(self.outputs)  # a part of them may be
            raise failed


def _array(values: Any) -> list[Any]:
    return [values, len(values)]


def _lent(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Iterator[Lent]:
    """The memory of the tensors; what several of them reach into is lent once, under the first one's name."""
    reached = [
        Lent(name, tensor.data_ptr(), bytes_reached(tensor), name.startswith("inputs"), name.startswith("outputs"))
        for name, tensor in named(inputs, outputs)
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
        for name, tensor in named(inputs, outputs)
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
