"""What an op of puzzle 10 may be called with, as far as it can be said before the runtime sees the call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.explain import sentence
from grader.op.errors import EntryMisused
from grader.op.numbers import finite
from grader.op.tensor_desc import DTYPES, MOST_DIMENSIONS
from grader.op.tensors import unreadable
from grader.op_kinds import OPS, Op


def misused(key: str, **facts: object) -> EntryMisused:
    """The error, in words."""
    return EntryMisused(sentence("op", key, facts=facts))


def op_of(kind: Any) -> Op:
    """The op of this name; raises EntryMisused where there is none."""
    if not isinstance(kind, str) or kind not in OPS:
        raise misused("op_unknown", op=kind, ops=", ".join(OPS))
    return OPS[kind]


def attributes(op: Op, attrs: Mapping[str, Any]) -> list[float]:
    """The op's attributes in its order; raises EntryMisused for others and for what is no finite number."""
    if set(attrs) != set(op.attrs):
        wanted, got = (", ".join(names) or "none" for names in (op.attrs, attrs))
        raise misused("op_attrs", op=op.name, wanted=wanted, got=got)
    return [_attribute(op, name, attrs[name]) for name in op.attrs]


def _attribute(op: Op, name: str, value: Any) -> float:
    try:
        return finite(value)
    except ValueError as why:
        raise misused("op_number", op=op.name, name=name, got=why) from None


def listed(op: Op, side: str, tensors: Any) -> tuple[Any, ...]:
    """What was given as a list of tensors; read once, since it may be a generator."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, Iterable):
        raise misused("op_list", op=op.name, side=side, type=type(tensors).__name__)
    return tuple(tensors)


def named(inputs: Sequence[Any], outputs: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The tensors with the names that an error calls them by: "inputs[0]", "outputs[0]"."""
    for side, tensors in (("inputs", inputs), ("outputs", outputs)):
        yield from ((f"{side}[{place}]", tensor) for place, tensor in enumerate(tensors))


def device_of(op: Op, inputs: Sequence[Any], outputs: Sequence[Any]) -> torch.device:
    """That of all tensors, each of which a TensorDesc can describe; raises EntryMisused where one cannot be."""
    device: torch.device | None = None
    for name, tensor in named(inputs, outputs):
        _look_at(op, name, tensor)
        if device is not None and tensor.device != device:
            raise misused("devices", entry=op.name, name=name, device=tensor.device, others=device)
        device = tensor.device
    if device is None:
        raise misused("op_nothing", op=op.name)
    if device.type not in ("cpu", "cuda"):
        raise misused("device", entry=op.name, device=device.type)
    for name, tensor in named((), outputs):
        if not tensor.is_leaf:
            raise misused("op_followed", op=op.name, name=name)
    return device


def _look_at(op: Op, name: str, tensor: Any) -> None:
    if not isinstance(tensor, Tensor):
        raise misused("tensor", name=name, type=type(tensor).__name__, entry=op.name)
    why = unreadable(tensor)
    if why is not None:
        raise misused(why, entry=op.name, name=name)
    if tensor.dtype not in DTYPES:
        known = ", ".join(map(_short, DTYPES))
        raise misused("op_dtype", op=op.name, name=name, got=_short(tensor.dtype), known=known)
    if tensor.dim() > MOST_DIMENSIONS:
        raise misused("op_dimensions", op=op.name, name=name, got=tensor.dim(), most=MOST_DIMENSIONS)


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
