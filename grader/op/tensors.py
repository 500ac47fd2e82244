"""What PyTorch knows of a tensor and a kernel, which is given its address, does not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import torch
from torch import Tensor

Form: TypeAlias = tuple[Any, ...]


def unreadable(tensor: Tensor) -> str | None:
    """Why a kernel that is given the tensor's address would not read its values, as a key of the sentences of `op`.

    None where the elements lie in memory as they are: no sparse or nested tensor, none that PyTorch negates when it is
    read (a view with the negative bit), none without memory or with less than it reaches.
    """
    if tensor.is_nested or tensor.layout is not torch.strided:
        return "layout"
    if tensor.is_neg():
        return "negated"
    try:
        address = tensor.data_ptr()
    except RuntimeError:  # inside torch.vmap and the like
        return "no_memory"
    if tensor.is_meta:
        return None
    if not address and tensor.numel():
        return "no_memory"
    end = tensor.storage_offset() * tensor.element_size() + bytes_reached(tensor)
    return "cut_short" if tensor.untyped_storage().nbytes() < end else None


def form_of(tensor: Tensor) -> Form:
    """All that a description depends on; `w.data = …`, `w.resize_(…)` and `module.half()` change it."""
    return (
        tensor.data_ptr(),
        tensor.untyped_storage().nbytes(),
        tensor.shape,
        tensor.stride(),
        tensor.dtype,
        tensor.device,
        tensor.is_leaf,
        tensor.is_neg(),
    )


def bytes_reached(tensor: Tensor) -> int:
    """From the tensor's first element to behind its last, whatever lies between them; 0 for an empty one."""
    if tensor.is_contiguous():
        return tensor.numel() * tensor.element_size()
    last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.element_size()


def written(tensors: Iterable[Tensor]) -> None:
    """Tells autograd that these have changed, as PyTorch's own operators in place do."""
    for tensor in tensors:
        torch.autograd.graph.increment_version(tensor)
