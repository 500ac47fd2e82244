"""PyTorch's own addition and a plain copy, timed as replays are, in a process of their own.

    python -m tests.gpu.yardsticks 268435456

Prints one JSON object: for "torch.add" (out = a + b, n floats each) and "copy" (n floats, device to device) the median
in milliseconds, its 95 % interval, 10**9 bytes a second and the number of runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from grader.cuda.timing import gigabytes_per_second, median_interval
from tests.gpu.alone import until_enough

_FLUSH_BYTES = 256 << 20


def main() -> None:
    n = int(sys.argv[1])
    a, b, out = (torch.randn(n, device="cuda") for _ in range(3))
    found = {
        "torch.add": measured(lambda: torch.add(a, b, out=out), out, 12 * n),
        "copy": measured(lambda: out.copy_(a), out, 8 * n),
    }
    print(json.dumps({"n": n, **found}))


def measured(work: Callable[[], object], out: torch.Tensor, moved: int) -> dict[str, Any]:
    """Median time of `work`, which writes `out`, and 10**9 bytes a second for `moved` bytes; cold L2, as a graph."""
    work()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    flush = torch.empty(_FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    taken = until_enough(lambda _: _timed(graph, out, flush))
    ms = median(taken)
    return {
        "ms": round(ms, 5),
        "interval_ms": [round(end, 5) for end in median_interval(taken)],
        "gb_per_s": round(gigabytes_per_second(moved, ms), 1),
        "runs": len(taken),
    }


def _timed(graph: torch.cuda.CUDAGraph, out: torch.Tensor, flush: torch.Tensor) -> float:
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    out.fill_(torch.nan)
    torch.cuda.synchronize()
    flush.zero_()
    start.record()
    graph.replay()
    stop.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(stop))


if __name__ == "__main__":
    main()
