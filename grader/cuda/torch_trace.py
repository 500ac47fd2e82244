"""A trace of a part's calls by PyTorch's profiler, as Perfetto and chrome://tracing show it.

The entry is called in this process as a function on tensors (grader/op), host code and all: for one's own code.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.op.entry import load_entry
from grader.op.errors import EntryFailed, EntryMisused, NoBackEnd
from grader.puzzle import Buffer, Case, Part

if TYPE_CHECKING:
    from grader.build import Build

_WARM_UP, _CALLS = 3, 5


class TraceFailed(Exception):
    """There is no trace; the message is one sentence."""


def write_trace(build: Build, part: Part, case: Case, file: Path, *, seed: int, device: str = "cuda") -> None:
    """Calls the entry in `case` some times under the profiler and writes what it saw. Raises `TraceFailed`."""
    from torch.profiler import ProfilerActivity, profile, record_function

    try:
        call = _call(build, part, case, seed, device)
        for _ in range(_WARM_UP):
            call()
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
        with profile(activities=activities) as traced:
            for _ in range(_CALLS):
                with record_function(part.name):
                    call()
        traced.export_chrome_trace(str(file))
    except (EntryFailed, EntryMisused, NoBackEnd, RuntimeError, OSError) as error:
        raise TraceFailed(str(error).splitlines()[0]) from error


def _call(build: Build, part: Part, case: Case, seed: int, device: str) -> Any:
    """The entry with its arguments, which returns when the GPU is done."""
    import torch

    from grader.cuda.input_sets import InputSets  # draws on the GPU, where there is one
    from grader.inputs import poisoned

    with InputSets(part, case, [seed]) as sets:
        memory = {name: tensor.to(device) for name, tensor in sets[0].items()}
    memory |= {one.name: poisoned(one, case).to(device) for one in part.buffers if not one.is_read}
    entry = load_entry(build, part)
    arguments = [memory[param.name] if isinstance(param, Buffer) else case.params[param.name] for param in part.params]

    def call() -> None:
        entry(*arguments)
        if device == "cuda":
            torch.cuda.synchronize()

    return call
