"""What results and workspaces hold before a run, as the replay process takes it: bytes in hexadecimal, by buffer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from grader.inputs import TORCH_TYPES, poisoned, torch_type
from grader.puzzle import Buffer, Case, DType, Out, Part


def poison_of(part: Part, memory: Mapping[str, torch.Tensor], run: int) -> dict[str, str]:
    """The pattern of each buffer that comes without values; its elements are of the type that they have in `memory`."""
    return {buffer.name: _pattern(memory[buffer.name].dtype, run) for buffer in part.buffers if not buffer.is_read}


def poison_in(part: Part, case: Case, run: int) -> dict[str, str]:
    """The same, for a case."""
    buffers = (buffer for buffer in part.buffers if not buffer.is_read)
    return {buffer.name: _pattern(torch_type(buffer, case.params), run) for buffer in buffers}


def still_poisoned(buffer: Buffer, got: torch.Tensor, run: int) -> dict[str, Any]:
    """How many elements of a result nobody has written, and the first, as a run on the software GPU says it."""
    if buffer.role != "out":
        return {"count": 0, "first": 0, "ranges": []}
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[got.itemsize]
    pattern = int.from_bytes(bytes.fromhex(_pattern(got.dtype, run)), "little", signed=True)
    left = got.reshape(-1).view(words) == pattern
    count = int(left.sum())
    return {"count": count, "first": int(left.nonzero()[0]) if count else 0, "ranges": []}


def _pattern(dtype: torch.dtype, run: int) -> str:
    name = next(name for name, known in TORCH_TYPES.items() if known == dtype)
    one = poisoned(Out("one", DType(name, dtype.itemsize), 1), Case(), run)
    return one.view(torch.uint8).numpy().tobytes().hex()
