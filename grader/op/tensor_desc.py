"""A PyTorch tensor as puzzle 10's runtime sees it: the TensorDesc of docs/tensor-desc.md, for ctypes."""

from __future__ import annotations

import ctypes

import torch

MOST_DIMENSIONS = 4
DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2, torch.int32: 3, torch.int64: 4}


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
