"""What an entry is called with: numbers that fit, tensors of the right type, place and size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

from grader.explain import sentence
from grader.inputs import torch_type
from grader.op.errors import EntryMisused
from grader.op.numbers import floating, whole
from grader.op.tensors import unreadable
from grader.puzzle import Buffer, Part, PuzzleError, Scalar, Workspace, shape_of

Wanted: TypeAlias = tuple[torch.dtype, tuple[int, ...]]

_MOST_SIZES = 256  # that are remembered


@dataclass(frozen=True)
class TensorParameter:
    """A parameter that is a buffer: its place among the arguments, and what may be done to the tensor."""

    place: int
    buffer: Buffer
    initialised: bool
    writable: bool
    may_be_larger: bool


class Arguments:
    """The arguments of one entry, without the stream."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.tensors = [
            TensorParameter(
                place,
                param,
                param.is_read,
                param.role != "in",
                isinstance(param, Workspace),
            )
            for place, param in enumerate(part.params)
            if isinstance(param, Buffer)
        ]
        self.scalars = [(place, param) for place, param in enumerate(part.params) if isinstance(param, Scalar)]
        self._wanted: dict[tuple[int | float, ...], list[Wanted]] = {}

    def words(self, arguments: Sequence[Any]) -> tuple[list[int | float], torch.device | None]:
        """Numbers as they are, the addresses of the tensors, and their device; None where there are none.

        Raises EntryMisused.
        """
        if len(arguments) != len(self.part.params):
            raise self.misused("count", wanted=self._signature(), got=len(arguments))
        words = list(arguments)
        for place, scalar in self.scalars:
            words[place] = self._number(scalar, arguments[place])
        numbers = tuple(words[place] for place, _ in self.scalars)
        device: torch.device | None = None
        wanted = self._wanted.get(numbers) or self._wanted_for(numbers)
        for given, (dtype, shape) in zip(self.tensors, wanted, strict=True):
            tensor = arguments[given.place]
            if (
                not isinstance(tensor, torch.Tensor)
                or unreadable(tensor)
                or tensor.dtype is not dtype
                or not tensor.is_contiguous()
                or tensor.shape != shape
                or (device is not None and tensor.device != device)
            ):
                self._look_closer(given, (dtype, shape), tensor, device)
            device = tensor.device
            words[given.place] = tensor.data_ptr()
        return words, device

    def _number(self, scalar: Scalar, value: Any) -> int | float:
        bits, is_float = 8 * scalar.dtype.bytes, scalar.dtype.is_float
        try:
            number = floating(value, bits) if is_float else whole(value)
        except ValueError as why:
            wanted = "a number" if is_float else "a whole number"
            raise self.misused("number", name=scalar.name, wanted=wanted, got=why) from None
        if not is_float and not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            raise self.misused("too_large", name=scalar.name, value=number, bits=bits)
        return number

    def _wanted_for(self, numbers: tuple[int | float, ...]) -> list[Wanted]:
        """Type and shape of each tensor for these scalars; remembered, since a training step asks the same again."""
        params = {scalar.name: value for (_, scalar), value in zip(self.scalars, numbers, strict=True)}
        try:
            wanted = [(torch_type(one.buffer, params), shape_of(one.buffer, params)) for one in self.tensors]
        except PuzzleError as error:
            raise self.misused("size", reason=str(error)) from None
        if len(self._wanted) >= _MOST_SIZES:
            self._wanted.clear()
        self._wanted[numbers] = wanted
        return wanted

    def _look_closer(self, given: TensorParameter, wanted: Wanted, tensor: Any, device: torch.device | None) -> None:
        """What is wrong with the tensor, if anything: leading dimensions may be joined, a workspace may be larger."""
        name, (dtype, shape) = given.buffer.name, wanted
        if not isinstance(tensor, torch.Tensor):
            raise self.misused("tensor", name=name, type=type(tensor).__name__)
        if device is not None and tensor.device != device:
            raise self.misused("devices", name=name, device=tensor.device, others=device)
        why = unreadable(tensor)
        if why is not None:
            raise self.misused(why, name=name)
        if tensor.dtype is not dtype:
            raise self.misused("dtype", name=name, got=_short(tensor.dtype), wanted=_short(dtype))
        if not tensor.is_contiguous():
            raise self.misused("strided", name=name)
        elements, got = math.prod(shape), tensor.numel()
        fits = got >= elements if given.may_be_larger else got == elements and _joined(tensor.shape, shape)
        if not fits:
            sizes = {"got": _sizes(tensor.shape), "wanted": _sizes(shape), "count": f"{elements:,}"}
            raise self.misused("shape", name=name, extents=" × ".join(map(str, given.buffer.shape)), **sizes)

    def misused(self, key: str, **facts: object) -> EntryMisused:
        """The error, in words."""
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
