"""What parts have for PyTorch, made ready on a GPU: tried in small cases, and compiled by torch.compile at full size.

Several processes do it side by side, each with some of the parts. What the compiler makes lies in a cache on disk, from
which the processes that are timed later take it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import torch

from grader.inputs import draw_inputs, torch_type
from grader.puzzle import Case, Part, call_by_name, scalar_value, shape_of
from tests.gpu.first_light import SEED
from tests.pytorch_cases import ordinary_cases, share_of_tolerance

_CASES = 5


def made_ready(label: str, compiled: bool) -> dict[str, Any]:
    """Of a part its worst share of the tolerance, and the seconds of torch.compile; what fails says why instead."""
    from tests.gpu.solutions import parts_of

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    (located,) = parts_of([label])
    found: dict[str, Any] = {"label": label}
    found |= _tried("of_tolerance", lambda: tried(located.part))
    if compiled:
        found |= _tried("compile_seconds", lambda: compile_seconds(located.part))
    torch.cuda.empty_cache()
    return found


def tried(part: Part) -> float:
    """The largest error in some ordinary small cases on the GPU, in shares of what is allowed."""
    shares = []
    for case in itertools.islice(ordinary_cases(part), _CASES):
        inputs = {name: tensor.cuda() for name, tensor in draw_inputs(part, case, SEED).items()}
        shares.append(share_of_tolerance(part, case, inputs))
    return round(max(shares), 4)


def compile_seconds(part: Part) -> float:
    """How long the first call takes of what torch.compile makes for the bench case."""
    assert part.in_pytorch is not None
    given = arguments(part, part.bench)
    begun = time.perf_counter()
    call_by_name(torch.compile(part.in_pytorch, dynamic=False), given)
    torch.cuda.synchronize()
    return round(time.perf_counter() - begun, 1)


def arguments(part: Part, case: Case, device: str = "cuda") -> dict[str, Any]:
    """Inputs of the right shapes and types, with whatever values, and the scalars."""
    made: dict[str, Any] = {one.name: scalar_value(one, case.params) for one in part.scalars}
    for buffer in part.buffers:
        if buffer.is_read:
            shape, dtype = shape_of(buffer, case.params), torch_type(buffer, case.params)
            made[buffer.name] = torch.ones(shape, dtype=dtype, device=device)
    return made


def _tried(name: str, work: Callable[[], float]) -> dict[str, Any]:
    try:
        return {name: work()}
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return {f"{name}_failed": f"{type(error).__name__}: {lines[0][:200] if lines else ''}"}
