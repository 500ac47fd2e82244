"""The C++ entry that a list of op calls stands for.

It has the parameters of the part, describes each tensor, and makes one call after the other; the call of an op stands
at the line where the learner wrote it, so that a launch, a fault and a verdict name that line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.buffers import Buffer, Dim, DTypeBy, Scalar
from grader.list_part import ListPart
from grader.op_list.calls import Call

_DTYPES = ("f32", "f16", "bf16", "i32", "i64")  # in the order of their numbers in a TensorDesc
_C_TYPES = {"i32": "int", "i64": "long long", "f32": "float", "f64": "double"}
_AROUND = "entry_of_list.cuh"  # no learner's file: what stands there is nobody's line

_HEAD = """\
#line 1 "entry_of_list.cuh"
#include <cstdio>

#include "runtime/op_call.hpp"

"""
_CALL = """\
        {{
            const TensorDesc inputs[] = {{{inputs}}}, outputs[] = {{{outputs}}};
            const double attrs[] = {{{attrs}}};
#line {line} "{source}"
            error = op_call({number}, inputs, {n_inputs}, outputs, {n_outputs}, attrs, {n_attrs}, stream);
#line 1 "{around}"
            if (error != cudaSuccess && *op_refusal()) std::fprintf(stderr, "%s\\n", op_refusal());
            if (error != cudaSuccess) return error;
        }}
"""


def entry_text(part: ListPart, calls: Sequence[Call], source: str) -> str:
    """C++ of the entry of `part`; `source` is the name that the compiled file has in line tables."""
    return "".join(_pieces(part, calls, source))


def _pieces(part: ListPart, calls: Sequence[Call], source: str) -> Iterator[str]:
    parameters = ", ".join(f"{_type(param)} {_parameter(param)}" for param in part.params)
    yield _HEAD
    yield f'extern "C" cudaError_t {part.name}({parameters}, cudaStream_t stream) {{\n'
    yield "    [[maybe_unused]] cudaError_t error = cudaSuccess;\n"
    yield f"    (void)stream{''.join(f', (void){scalar.name}' for scalar in part.scalars)};\n"
    for buffer in part.buffers:
        yield f"    [[maybe_unused]] const TensorDesc {buffer.name}{{{_description(buffer)}}};\n"
    yield f"    for (int round = 0; round < {part.repeat or 1}; ++round) {{\n"
    for call in calls:
        yield _call(call, source)
    yield "    }\n    return cudaSuccess;\n}\n"


def _type(param: Buffer | Scalar) -> str:
    return _C_TYPES[param.dtype.name] if isinstance(param, Scalar) else "void*"


def _parameter(param: Buffer | Scalar) -> str:
    return param.name if isinstance(param, Scalar) else f"memory_of_{param.name}"


def _description(buffer: Buffer) -> str:
    dtype = buffer.dtype.scalar if isinstance(buffer.dtype, DTypeBy) else str(_DTYPES.index(buffer.dtype.name))
    shape, stride = ", ".join(map(str, buffer.shape)), ", ".join(_strides(buffer.shape))
    return f"memory_of_{buffer.name}, {dtype}, {len(buffer.shape)}, {{{shape}}}, {{{stride}}}"


def _strides(shape: Sequence[Dim]) -> Iterator[str]:
    """Of a row-major tensor, as products of its later dimensions, in 64 bits."""
    for place in range(len(shape)):
        yield " * ".join(f"std::int64_t({dim})" for dim in shape[place + 1 :]) or "1"


def _call(call: Call, source: str) -> str:
    op, attrs = call.kind, ", ".join(str(call.attrs[name]) for name in call.kind.attrs)
    return _CALL.format(
        inputs=", ".join(call.inputs),
        outputs=", ".join(call.outputs),
        attrs=attrs or "0",
        line=call.line,
        source=source,
        number=op.number,
        n_inputs=len(op.inputs),
        n_outputs=len(op.outputs),
        n_attrs=len(op.attrs),
        around=_AROUND,
    )
