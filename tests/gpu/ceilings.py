"""Three yardsticks for what memory bounds, large ones: a copy, an addition, and a kernel that only reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grader.build import build
from grader.cuda.bench import Bench
from grader.cuda.ceilings import READ, SOURCE, STREAM
from grader.cuda.ceilings import ceiling_of as timed_beside
from grader.cuda.session import RealGPU
from grader.puzzle import Case, Part
from grader.record import record

_QUADS = 1 << 26  # of 16 bytes, in each stream
YARDSTICKS: dict[str, Part] = {
    "stream_copy": replace(STREAM, bench=Case(reads=1, writes=1, quads=_QUADS)),
    "stream_add": replace(STREAM, bench=Case(reads=2, writes=1, quads=_QUADS)),
    "stream_read": replace(READ, bench=Case(quads=_QUADS, blocks=132 * 8)),
}
_NAMES = {"stream_1_1": "stream_copy", "stream_2_1": "stream_add", "stream_read": "stream_read"}


def ceiling_of(part: Part) -> str | None:
    """The yardstick that reads as many bytes for each that it writes as the part's bench case; None for others."""
    return _NAMES.get(timed_beside(part, part.bench, 132).name)


def measured(name: str, seed: int) -> dict[str, Any]:
    """Milliseconds of a yardstick, and its 10**9 bytes a second; raises RuntimeError where it is wrong or has none."""
    part = YARDSTICKS[name]
    with RealGPU(part) as gpu:
        built = build(SOURCE, target=gpu.device.target)
        plan = record(built, part, part.bench, layout=gpu.layout(part.bench)).plan
        ran, timing = Bench(part, part.bench, built, plan, seed, gpu).run()
    if timing is None or ran.observations:
        raise RuntimeError(f"{name}: {ran.observations or 'no time'}")
    return {"name": name, "ms": timing.ms, "interval_ms": list(timing.interval_ms), "gb_per_s": timing.gb_per_s}
