"""PyTorch's layer norm and linear layer, eager, on the GPU and on the CPU, in a process of their own.

    python -m tests.gpu.eager_layers 8192 1024 64 128

for 8,192 rows of 1,024 floats and outputs of 64 and of 128 columns. Prints one JSON object: for each width the median
in milliseconds of the forward and of the backward pass on either device, TF32 off. On the GPU by device events, with a
cold L2; the queue is filled while L2 is flushed, so that what the host takes for a launch does not count. On the CPU by
its clock.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import torch
from torch.nn.functional import layer_norm, linear

_WARM_UP, _RUNS_ON_GPU, _RUNS_ON_CPU = 3, 50, 5
_FLUSH_BYTES, _FLUSHES = 256 << 20, 4  # a quarter of a millisecond, in which the host gets ahead
Work = Callable[[], object]


def measured_eager(rows: int, cols: int, widths: Sequence[int]) -> dict[str, Any]:
    """Milliseconds by width and pass, and "about"; raises RuntimeError where there are none."""
    command = [sys.executable, "-m", "tests.gpu.eager_layers", *map(str, (rows, cols, *widths))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if ended.returncode:
        raise RuntimeError(ended.stderr.strip()[-300:])
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def passes(rows: int, cols: int, width: int, device: str) -> tuple[Work, Work]:
    """The forward pass, and the backward pass of one that was made before."""
    sizes = ((rows, cols), (cols,), (cols,), (width, cols), (width,))
    x, gamma, beta, weight, bias = (torch.randn(*size, device=device, requires_grad=True) for size in sizes)
    inputs = (x, gamma, beta, weight, bias)
    dy = torch.randn(rows, width, device=device)

    def forward() -> torch.Tensor:
        return linear(layer_norm(x, (cols,), gamma, beta), weight, bias)

    y = forward()
    return forward, lambda: torch.autograd.grad(y, inputs, dy, retain_graph=True)


def on_gpu(work: Work, flush: torch.Tensor) -> float:
    """Median in milliseconds."""
    taken = []
    for run in range(_WARM_UP + _RUNS_ON_GPU):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        for _ in range(_FLUSHES):
            flush.zero_()
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        if run >= _WARM_UP:
            taken.append(float(start.elapsed_time(stop)))
    return median(taken)


def on_cpu(work: Work) -> float:
    """Median in milliseconds."""
    work()
    taken = []
    for _ in range(_RUNS_ON_CPU):
        begun = time.perf_counter()
        work()
        taken.append(1e3 * (time.perf_counter() - begun))
    return median(taken)


def main() -> None:
    rows, cols, *widths = map(int, sys.argv[1:])
    torch.backends.cuda.matmul.allow_tf32 = False
    flush = torch.empty(_FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    found: dict[str, Any] = {"about": {"cpu_threads": torch.get_num_threads()}}
    for width in widths:
        forward, backward = passes(rows, cols, width, "cuda")
        times = {"torch": on_gpu(forward, flush), "backward_torch": on_gpu(backward, flush)}
        forward, backward = passes(rows, cols, width, "cpu")
        times |= {"torch_cpu": on_cpu(forward), "backward_torch_cpu": on_cpu(backward)}
        found[str(width)] = {name: {"ms": round(ms, 5)} for name, ms in times.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
