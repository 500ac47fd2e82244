"""Whether a case has room: on the host, which draws its inputs and judges its results, and on the GPU."""

from __future__ import annotations

from grader.cuda.input_sets import SETS
from grader.cuda.pieces import memory_to_judge
from grader.host_memory import free_bytes
from grader.puzzle import Case, Part, buffer_bytes

_COMPARING = 8  # bytes that a comparison as a whole holds at its peak, for each byte of the buffers
_BESIDE = 2  # contestants that are to have room on the GPU at once, or the inputs are one set
_CONTEXT_BYTES = 1 << 30  # what a process takes beside its arrays: its context, the flush


def sets_with_room(part: Part, case: Case, gpu_bytes: int | None = None) -> int:
    """How many sets of inputs to take, 0 where the host has no room even for one; of a GPU with this much memory.

    A kernel of which not one set fits on the GPU finds no memory there, which the driver says best itself.
    """
    inputs = sum(buffer_bytes(buffer, case.params) for buffer in part.buffers if buffer.is_read)
    results = sum(buffer_bytes(buffer, case.params) for buffer in part.results)
    judging, free = results + memory_to_judge(part, case), free_bytes()
    for sets in (SETS, 1):
        on_gpu = _BESIDE * (_all_bytes(part, case) + sets * inputs + _CONTEXT_BYTES)
        if sets * (inputs + results) + judging <= free and (sets == 1 or gpu_bytes is None or on_gpu <= gpu_bytes):
            return sets
    return 0


def has_room_to_explain(part: Part, case: Case) -> bool:
    """Whether the host can compare the results as a whole, which tells more of wrong values than piece by piece."""
    return _COMPARING * _all_bytes(part, case) <= free_bytes()


def _all_bytes(part: Part, case: Case) -> int:
    return sum(buffer_bytes(buffer, case.params) for buffer in part.buffers)
