"""Puzzle 10's op runtime, built from a folder that holds it, and called on CPU tensors as C calls it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from grader.build import Companion, HeaderFile, UsedSource, build
from grader.catalog import load_catalog
from grader.op.library import Lent, OpLibrary, loaded
from tests.judging import ROOT

RUNTIME = ROOT / "puzzles" / "puzzle_10_train_step" / "runtime"
KINDS = ("EltwiseAdd", "EltwiseRelu", "Gemm", "BiasAdd", "ReduceSum", "MseGrad", "ReluBwd", "SgdStep")
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64)
# The entries that variants call, and the parts that are variants themselves.
USED = ("gemm_tiled", "gemm_nt", "gemm_tn", "sgd_f32", "sgd_f16", "sgd_f16_half2",
        "mse_grad", "relu_bwd", "bias_grad", "sgd_supported")  # fmt: skip
SOURCE = """#include "runtime/op_call.hpp"

// The name of the variant that such a call is left to; null where none takes it.
extern "C" const char* chosen(int kind, const TensorDesc* inputs, const TensorDesc* outputs, const double* attrs) {
    const OpCall call{static_cast<OpKind>(kind), inputs, outputs, attrs};
    const Variant* variant = dispatch_v0(call.kind, call);
    return variant ? variant->name : nullptr;
}
"""


class TensorDesc(ctypes.Structure):
    """As docs/tensor-desc.md has it."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 4),
        ("stride", ctypes.c_int64 * 4),
    )


def described(tensor: torch.Tensor) -> TensorDesc:
    """The tensor's memory, type, shape and strides."""
    words = ctypes.c_int64 * 4
    shape, stride = words(*tensor.shape), words(*tensor.stride())
    return TensorDesc(tensor.data_ptr(), DTYPES.index(tensor.dtype), tensor.dim(), shape, stride)


def _array(tensors: Sequence[TensorDesc]) -> Any:
    return (TensorDesc * len(tensors))(*tensors)


def companions(runtime: Path = RUNTIME) -> list[Companion]:
    """What the runtime in this folder is built with."""
    files = [*runtime.glob("*.hpp"), *runtime.glob("variants/*.cu")]
    headers = [HeaderFile(path.relative_to(runtime.parent).as_posix(), path.read_text()) for path in files]
    catalog = load_catalog(ROOT)
    solutions = {name: catalog.part_named(name).solution_path for name in USED}
    return [*headers, *(UsedSource(name, path.read_text()) for name, path in solutions.items())]


@dataclass
class Runtime:
    """A built runtime. `op` does a call and returns the error's number; `refusal` says why it launched nothing."""

    library: OpLibrary

    @classmethod
    def of(cls, source: Path, runtime: Path = RUNTIME) -> Runtime:
        """Built from this folder, by way of a file that may be written to."""
        source.write_text(SOURCE)
        return cls(loaded(build(source, uses=companions(runtime))))

    def op(
        self, kind: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], *attrs: float
    ) -> tuple[int, str]:
        """The error's number and its name in CUDA; faults that the software GPU found are no success."""
        return self.raw(KINDS.index(kind), list(map(described, inputs)), list(map(described, outputs)), attrs,
                        [*_lent(inputs, "inputs"), *_lent(outputs, "outputs")])  # fmt: skip

    def raw(
        self,
        kind: int,
        inputs: Sequence[TensorDesc],
        outputs: Sequence[TensorDesc],
        attrs: Sequence[float],
        memory: Sequence[Lent] = (),
    ) -> tuple[int, str]:
        """The same with descriptors as they are given."""
        sizes = [ctypes.c_int, *[ctypes.c_void_p, ctypes.c_int] * 3, ctypes.c_void_p]
        function = self.library.function("op_call", sizes, ctypes.c_int)
        first, last, numbers = _array(inputs), _array(outputs), (ctypes.c_double * len(attrs))(*attrs)
        words = [kind, ctypes.addressof(first), len(inputs), ctypes.addressof(last), len(outputs),
                 ctypes.addressof(numbers), len(attrs)]  # fmt: skip
        outcome = self.library.call_on_cpu(function, words, _once(memory))
        assert not outcome.log, outcome.log
        return outcome.code, outcome.name

    @property
    def refusal(self) -> str:
        text: bytes = self.library.function("op_refusal", (), ctypes.c_char_p)()
        return text.decode()

    def chosen(
        self, kind: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], *attrs: float
    ) -> str | None:
        """The variant that the call would be left to."""
        function = self.library.function("chosen", [ctypes.c_int, *[ctypes.c_void_p] * 3], ctypes.c_char_p)
        first, last = _array(list(map(described, inputs))), _array(list(map(described, outputs)))
        numbers = (ctypes.c_double * len(attrs))(*attrs)
        name = function(KINDS.index(kind), *map(ctypes.addressof, (first, last, numbers)))
        return None if name is None else name.decode()


def _lent(tensors: Sequence[torch.Tensor], side: str) -> Iterator[Lent]:
    for place, tensor in enumerate(tensors):
        if tensor.numel():
            reach = 1 + sum((extent - 1) * step for extent, step in zip(tensor.shape, tensor.stride(), strict=True))
            writable = side == "outputs"
            yield Lent(f"{side}[{place}]", tensor.data_ptr(), reach * tensor.element_size(), not writable, writable)


def _once(memory: Sequence[Lent]) -> list[Lent]:
    """Memory that is given twice is lent once."""
    lent: dict[int, Lent] = {}
    for one in memory:
        known = lent.get(one.address, one)
        may = (known.initialised or one.initialised, known.writable or one.writable)
        lent[one.address] = Lent(known.name, one.address, max(known.bytes, one.bytes), *may)
    return list(lent.values())
