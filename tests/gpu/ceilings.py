"""Ceilings for what memory bounds: streaming kernels with as many reads for each write, timed as parts are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from grader.build import build
from grader.cuda.session import RealGPU
from grader.cuda.trial import CudaTrial
from grader.puzzle import Case, In, Out, Part, Scalar, Tolerance, Work, buffer_bytes, f32, i32
from grader.record import record

SOURCE = Path(__file__).with_name("streaming.cu")
SUMS = 132 * 8 * 256  # of stream_read: one a thread
LARGE = Case(n=1 << 28)
_ROUNDED = Tolerance(2.0**-10, 2.0**-10, why="a sum of a thousand terms, of which some cancel")
_SMALL_SHARE = 1 / 64  # of the bytes read: what a reduction writes


def _part(name: str, buffers: list[In | Out], reference: Any, moved: int) -> Part:
    return Part(
        name,
        params=[*buffers, Scalar("n", i32)],
        reference=reference,
        groups={"large": [LARGE]},
        bench=LARGE,
        work=lambda n: Work(bytes=moved * n, flops=0),
        tolerance=_ROUNDED,
        lesson="What memory gives.",
    )


def _copied(in_: torch.Tensor) -> torch.Tensor:
    return in_


def _added(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a + b


def _summed(in_: torch.Tensor) -> torch.Tensor:
    quads = torch.nn.functional.pad(in_.reshape(-1, 4), (0, 0, 0, -(in_.numel() // 4) % SUMS))
    return quads.reshape(-1, SUMS, 4).sum((0, 2))


COPY = _part("stream_copy", [In("in", f32, "n"), Out("out", f32, "n")], _copied, 8)
ADD = _part("stream_add", [In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n")], _added, 12)
READ = _part("stream_read", [In("in", f32, "n"), Out("out", f32, SUMS)], _summed, 4)


def ceiling_of(part: Part) -> Part | None:
    """The kernel that reads as many bytes for each that it writes as the part's bench case has to; None for others."""
    params = part.bench.params
    read = sum(buffer_bytes(buffer, params) for buffer in part.buffers if buffer.is_read)
    written = sum(buffer_bytes(buffer, params) for buffer in part.buffers if buffer.is_result)
    if written < _SMALL_SHARE * read:
        return READ
    reads_a_write = read / written
    return next((one for times, one in ((1, COPY), (2, ADD)) if abs(reads_a_write - times) < _SMALL_SHARE), None)


def measured(part: Part, seed: int) -> dict[str, Any]:
    """Time of a ceiling, in ms, and its 10**9 bytes a second; raises RuntimeError where it is wrong or has no time."""
    with RealGPU(part) as gpu:
        built = build(SOURCE, target=gpu.device.target)
        plan = record(built, part, part.bench, layout=gpu.layout(part.bench)).plan
        ran, timing = CudaTrial(part, "bench", part.bench, built, plan, seed, gpu=gpu).bench()
    if timing is None or ran.observations:
        raise RuntimeError(f"{part.name}: {ran.observations or 'no time'}")
    return {"name": part.name, "ms": timing.ms, "interval_ms": list(timing.interval_ms), "gb_per_s": timing.gb_per_s}
