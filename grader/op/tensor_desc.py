"""A PyTorch tensor as puzzle 10's runtime sees it: the TensorDesc of docs/tensor-desc.md, for ctypes."""

from __future__ import annotations

import ctypes
from typing import Any, TypeAlias

import torch

MOST_DIMENSIONS = 4
DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2, torch.int32: 3, torch.int64: 4}

Form: TypeAlias = tuple[Any, ...]


class TensorDesc(ctypes.Structure):
    """Address, type, and for each dimension its size and its stride, counted in elements."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.c_int64 * MOST_DIMENSIONS),
        ("stride", ctypes.c_int64 * MOST_DIMENSIONS),
    )

    @classmethod
    def of(cls, tensor: torch.Tensor) -> TensorDesc:
        """That of a tensor of at most 4 dimensions and one of the types in DTYPES."""
        described = cls(tensor.data_ptr(), DTYPES[tensor.dtype], tensor.dim())
        described.shape[: tensor.dim()] = tensor.shape
        described.stride[: tensor.dim()] = tensor.stride()
        return described


def unreadable(tensor: torch.Tensor) -> str | None:
    """Why a kernel that is given the tensor's address would not read its values, as a key of the sentences of `op`.

    None where the elements lie in memory as they are: no sparse or nested tensor, none that PyTorch negates when it is
    read (a view with the negative bit), none without memory.
    """
    if tensor.is_nested or tensor.layout is not torch.strided:
        return "layout"
    if tensor.is_neg():
        return "negated"
    try:
        address = tensor.data_ptr()
    except RuntimeError:  # inside torch.vmap and the like
        return "no_memory"
    return "no_memory" if not address and tensor.numel() and not tensor.is_meta else None


def form_of(tensor: torch.Tensor) -> Form:
    """All that a description depends on; `w.data = …`, `w.resize_(…)` and `module.half()` change it."""
    return (
        tensor.data_ptr(),
        tensor.shape,
        tensor.stride(),
        tensor.dtype,
        tensor.device,
        tensor.is_leaf,
        tensor.is_neg(),
    )


def bytes_reached(tensor: torch.Tensor) -> int:
    """From the tensor's first element to behind its last, whatever lies between them; 0 for an empty one."""
    if not tensor.numel():
        return 0
    last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.element_size()
