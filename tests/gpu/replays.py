"""Small cases on a real GPU: replayed as a stream of calls and as a graph, beside PyTorch and the software GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from grader.build import Build
from grader.compare import compare
from grader.cuda.session import RealGPU
from grader.cuda.trial import HOWS, replayed
from grader.inputs import derived_seed, memory_for
from grader.puzzle import Case, Part
from grader.record import record
from grader.simt.software import SoftwareGPU


class Row:
    """What the cases of one part add up to."""

    def __init__(self, label: str, part: str) -> None:
        self.plain: dict[str, Any] = {"label": label, "part": part, "cases": 0, "replays": 0, "right": 0}
        self.plain |= {"bits_of_the_software_gpu": 0, "max_rel_error": 0.0}

    def add(self, right: bool, same: bool, error: float) -> None:
        self.plain["replays"] += 1
        self.plain["right"] += right
        self.plain["bits_of_the_software_gpu"] += same
        self.plain["max_rel_error"] = max(self.plain["max_rel_error"], error)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one type and shape hold the same bits."""
    return torch.equal(one.view(torch.uint8), other.view(torch.uint8))


def problems_of(
    gpu: RealGPU, part: Part, built: Build, row: Row, *, seed: int, bits_count: bool = False
) -> Iterator[str]:
    """Every small case of a part, each way to replay on inputs of its own; what is not as it must be, in words.

    Values have to be right, and the software GPU has to find no fault; if `bits_count`, both have to give equal bits.
    """
    software = SoftwareGPU(built)
    for case in part.cases():
        for said in _case(gpu, part, case, built, software, row, seed, bits_count):
            yield f"{part.name} {case}{said}"


def _case(
    gpu: RealGPU, part: Part, case: Case, built: Build, software: SoftwareGPU, row: Row, seed: int, bits_count: bool
) -> Iterator[str]:
    recording = record(built, part, case, layout=gpu.layout(case))
    if recording.findings:
        yield f": {recording.findings[0]}"
        return
    roles = {buffer.name: buffer.role for buffer in part.buffers}
    gpu.load(recording.plan, built.cubin)
    row.plain["cases"] += 1
    for run, how in enumerate(HOWS):
        memory = memory_for(part, case, derived_seed(seed, run), run)
        inputs = {buffer.name: memory[buffer.name].clone() for buffer in part.buffers if buffer.is_read}
        beside = {name: tensor.clone() for name, tensor in memory.items()}
        replayed(gpu, part, memory, how=how, run=run)
        seen = software.run(recording.plan, beside, roles=roles)
        compared = compare(part, case, inputs, memory)
        same = all(same_bits(memory[buffer.name], beside[buffer.name]) for buffer in part.results)
        row.add(compared.wrong == 0, same, compared.max_rel_error)
        if seen.findings:
            yield f" {how}: the software GPU says {seen.findings[0]}"
        if compared.wrong or (bits_count and not same):
            yield f" {how}: {compared.wrong} wrong{'' if same else ', and other bits than the software GPU gives'}"
