"""The loss from step to step, for a part that trains: its entry run once a step, the loss read outside, in float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import torch

from grader.inputs import memory_for
from grader.list_part import ListPart
from grader.puzzle import Case, call_by_name

if TYPE_CHECKING:
    from grader.build import Build
    from grader.tools import Tools

STEPS = 10


def losses(part: ListPart, built: Build, seed: int, tools: Tools) -> list[float]:
    """Before each of some steps, and after the last, on the inputs of the part's first case."""
    return list(_losses(part, built, seed, tools))


def _losses(part: ListPart, built: Build, seed: int, tools: Tools) -> Iterator[float]:
    case = _one_step(part)
    plan, gpu = tools.record(built, part, case).plan, tools.software_gpu(built)
    memory, roles = memory_for(part, case, seed), {buffer.name: buffer.role for buffer in part.buffers}
    for _ in range(STEPS):
        yield _loss(part, memory)
        gpu.run(plan, memory, roles=roles)
    yield _loss(part, memory)


def _one_step(part: ListPart) -> Case:
    first = next(iter(part.cases())).params
    return Case.of({**first, part.repeat: 1} if part.repeat is not None else first)


def _loss(part: ListPart, memory: Mapping[str, torch.Tensor]) -> float:
    assert part.loss is not None
    return float(call_by_name(part.loss, {name: tensor.double() for name, tensor in memory.items()}))
