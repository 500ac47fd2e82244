"""Large arrays between a process and its children without a copy: a file in memory that each maps by its path.

The path, /proc/PID/fd/N, leads to the file as long as the process that made it keeps it open.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from grader.closing import Closing

if TYPE_CHECKING:
    import torch


class SharedFile(Closing):
    """`size` bytes of zeros at first; `path` is what others open. Raises OSError where there is no memory for it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._descriptor = os.memfd_create("grader")
        os.ftruncate(self._descriptor, size)
        self.path = f"/proc/{os.getpid()}/fd/{self._descriptor}"

    def close(self) -> None:
        """Ends the path; tensors of it stay."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def tensor(self, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
        """The file's own memory, of this type and shape, which take as many bytes as it has."""
        import torch

        if not self.size:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(mmap.mmap(self._descriptor, self.size), dtype=dtype).reshape(shape)


@contextlib.contextmanager
def mapped(path: str, size: int, *, writable: bool = False) -> Iterator[int]:
    """The address of the first `size` bytes, at least one, of a file that another process made; raises OSError."""
    with Path(path).open("r+b" if writable else "rb") as stream:
        # a private mapping of a file that is only read: ctypes gives no address of one that cannot be written
        held = mmap.mmap(stream.fileno(), size, flags=mmap.MAP_SHARED if writable else mmap.MAP_PRIVATE)
    first = ctypes.c_char.from_buffer(held)
    try:
        yield ctypes.addressof(first)
    finally:
        del first
        held.close()
