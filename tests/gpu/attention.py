"""Attention on a GPU beside PyTorch's own, timed as replays are, in a process of its own.

    python -m tests.gpu.attention 64 4096 128 1

Prints one JSON object for torch's scaled_dot_product_attention in half, with FLASH_ATTENTION alone allowed: bh, q_len =
k_len, d, and 1 with a causal mask; the median in milliseconds, its 95 % interval, 10**12 operations a second, half of
them with a mask, and the number of runs. PyTorch's mask begins at the top left, which is the same where q_len = k_len.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import torch

from grader.build import Build
from grader.catalog import Located
from grader.compare import compare
from grader.cuda.poison import poison_of
from grader.cuda.session import RealGPU
from grader.cuda.timing import gigabytes_per_second
from grader.inputs import memory_for
from grader.puzzle import Case, Part, call_by_name
from grader.record import record
from tests.gpu.alone import times_of
from tests.gpu.ceilings import measured
from tests.gpu.first_light import SEED

# What a solution has to reach: a share of PyTorch's speed, with a mask and without; of the bytes that a copy moves.
FLASH_FLOORS = {"flash_attention": 0.30}
COPY_FLOORS = {"flash_decode": 0.70}

Found = tuple[dict[str, Any], list[str]]


def beside_attention(gpu: RealGPU, located: Located, built: Build) -> Found:
    """For a part with a floor its times beside PyTorch's or a copy's in this run; sentences for what falls short."""
    part = located.part
    if part.name in FLASH_FLOORS:
        rows = [beside_flash(gpu, part, built, causal) for causal in (0, 1)]
        floor, what = FLASH_FLOORS[part.name], "PyTorch's FLASH_ATTENTION"
    elif part.name in COPY_FLOORS:
        rows = [beside_copy(gpu, part, built)]
        floor, what = COPY_FLOORS[part.name], "a copy's bandwidth"
    else:
        return {}, []
    problems = [f"{part.name}, {row['params']}: {row['wrong']} wrong" for row in rows if row["wrong"]]
    for row in rows:
        if row["share"] < floor:
            problems.append(f"{part.name}, {row['params']}: {row['share']:.2f} of {what}, and {floor:.2f} is asked for")
    return {"attention": rows}, problems


def beside_flash(gpu: RealGPU, part: Part, built: Build, causal: int) -> dict[str, Any]:
    """The bench case with this mask, timed and judged, beside PyTorch."""
    case = Case.of({**part.bench.params, "causal": causal})
    row = timed(gpu, part, built, case)
    sizes = [str(case.params[name]) for name in ("bh", "q_len", "d")]
    command = [sys.executable, "-m", "tests.gpu.attention", *sizes, str(causal)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if ended.returncode:
        raise RuntimeError(ended.stderr.strip()[-300:])
    pytorch = json.loads(ended.stdout)
    flops = call_by_name(part.work, case.params).flops / (1 + causal)
    row["tflops"] = round(flops / row["ms"] / 1e9, 1)
    return {**row, "pytorch": pytorch, "share": round(pytorch["ms"] / row["ms"], 4)}


def beside_copy(gpu: RealGPU, part: Part, built: Build) -> dict[str, Any]:
    """The bench case, and the bytes a second that it reads beside those that a copy of device memory moves."""
    row, copy = timed(gpu, part, built, part.bench), measured("stream_copy", SEED)
    return {**row, "copy": copy, "share": round(row["gb_per_s"] / copy["gb_per_s"], 4)}


def timed(gpu: RealGPU, part: Part, built: Build, case: Case) -> dict[str, Any]:
    """Median and interval in ms of one case, its bytes a second, and how many values of its last head were wrong."""
    gpu.load(record(built, part, case, layout=gpu.layout(case)).plan, built.cubin)
    memory = memory_for(part, case, SEED)
    inputs = {buffer.name: memory[buffer.name] for buffer in part.buffers if buffer.is_read}
    gpu.fill(inputs)
    taken = times_of(gpu, "graph", poison_of(part, memory, 0))
    results = {buffer.name: memory[buffer.name] for buffer in part.results}
    gpu.read(results)
    one_head = Case.of({**case.params, "bh": 1})
    wrong = compare(part, one_head, last_head(inputs), last_head(results)).wrong
    row = {"params": dict(case.params), "ms": taken.median, "interval_ms": list(taken.interval)}
    moved = gigabytes_per_second(call_by_name(part.work, case.params).bytes, taken.median)
    return row | {"gb_per_s": moved, "runs": len(taken.ms), "wrong": wrong}


def last_head(buffers: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor[-1:].clone() for name, tensor in buffers.items()}


def main() -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    from tests.gpu.yardsticks import measured as measured_here

    bh, length, d, causal = map(int, sys.argv[1:])
    q, k, v = (torch.randn(1, bh, length, d, dtype=torch.half, device="cuda") for _ in range(3))
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        moved = 4 * q.numel() * q.itemsize
        row = measured_here(
            lambda: scaled_dot_product_attention(q, k, v, is_causal=bool(causal)), q.new_empty(1), moved
        )
    row["name"] = f"torch FLASH_ATTENTION float16 {bh} {length} {d}{' causal' if causal else ''}"
    row["tflops"] = round(4 * bh * length**2 * d / (1 + causal) / row["ms"] / 1e9, 1)
    print(json.dumps(row))


if __name__ == "__main__":
    main()
