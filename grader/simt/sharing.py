"""Memory that the grader and the process of the software GPU share: where the buffers of a case lie while it runs."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_ALIGNMENT = 256


class SharedMemory:
    """A file without a name, as large as the largest case so far; `descriptor` is for the other process to inherit."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("grader-buffers", os.MFD_CLOEXEC)
        self._mapped: mmap.mmap | None = None
        self.bytes = 0

    def close(self) -> None:
        """Gives the file back; memory that somebody still looks at stays until nobody does."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor, self._mapped = -1, None

    def fill(self, tensors: Mapping[str, torch.Tensor]) -> dict[str, int]:
        """Copies contiguous CPU tensors here, one behind the other; their offsets, by name."""
        offsets, end = {}, 0
        for name, tensor in tensors.items():
            offsets[name] = end
            end += -(-tensor.numel() * tensor.element_size() // _ALIGNMENT) * _ALIGNMENT
        self._reserve(end)
        for name, tensor in tensors.items():
            if tensor.numel():
                self._view(tensor, offsets[name]).copy_(_bytes_of(tensor))
        return offsets

    def read(self, tensor: torch.Tensor, offset: int) -> None:
        """Copies what lies here into a contiguous CPU tensor."""
        if tensor.numel():
            _bytes_of(tensor).copy_(self._view(tensor, offset))

    def _reserve(self, size: int) -> None:
        if size > self.bytes:
            os.ftruncate(self.descriptor, size)
            self._mapped, self.bytes = mmap.mmap(self.descriptor, size), size

    def _view(self, tensor: torch.Tensor, offset: int) -> torch.Tensor:
        import torch

        assert self._mapped is not None  # it is made before anything is put there
        size = tensor.numel() * tensor.element_size()
        return torch.frombuffer(self._mapped, dtype=torch.uint8, count=size, offset=offset)


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    return tensor.detach().reshape(-1).view(torch.uint8)
