"""Offsets past 2**31 on a real GPU, by hand: `python -m tests.gpu.far 2 5 6 [--out FILE] [--commit HASH] [--jobs N]`.

The far case of each part that has one, else one of more than 2**31 bytes, where the part has large cases: recorded,
replayed once as a graph, and every value compared with PyTorch in float64, slice by slice along the first dimension of
the first result, N parts at a time. A result without that dimension is a sum over it, as a weight's gradient over the
rows, and is compared with the sum of the slices' own. Inputs are drawn on the GPU, where two billion of them take no
time. Exits 0 only if all values are right.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from grader.buffers import buffer_bytes
from grader.compare import compare_values, reference_results, scale_results
from grader.cuda.session import RealGPU, ReplayFailed
from grader.cuda.trial import replayed
from grader.inputs import memory_for, poisoned, torch_type
from grader.puzzle import Buffer, Case, Part, shape_of
from grader.record import record
from tests.gpu.first_light import SEED, about
from tests.gpu.solutions import built_for, parts_of

SLICE_BYTES = 1 << 30  # of the largest buffer: its float64 and what is computed from it have room on the GPU

# For parts without a far case, by their scalars.
FURTHER: dict[tuple[str, ...], dict[str, int | float]] = {
    ("n",): {"n": (1 << 30) + 3},
    ("rows",): {"rows": (1 << 26) + 3},
    ("rows", "cols"): {"rows": (1 << 19) + 3, "cols": 4097},
    ("rows", "cols", "eps"): {"rows": (1 << 19) + 3, "cols": 4097, "eps": 1e-5},
    ("M", "N", "K"): {"M": 1 << 21, "N": 1040, "K": 1040},  # multiples of 16, as 2.2 wants them
}
LARGE = 1 << 24  # bytes of a bench case: parts that have less are small by their nature

Tensors = dict[str, torch.Tensor]


def far_of(part: Part) -> Case | None:
    """The case of the part that is run here; None where there is none."""
    further = FURTHER.get(tuple(scalar.name for scalar in part.scalars))
    large = sum(buffer_bytes(buffer, part.bench.params) for buffer in part.buffers) >= LARGE
    if part.far is not None or further is None or not large:
        return part.far
    return Case.of(further)


def far_case(label: str, threads: int) -> dict[str, Any]:
    """How many values of the part's far case are wrong, in a process of its own."""
    torch.set_num_threads(threads)
    (located,) = parts_of([label])
    part, case = located.part, far_of(located.part)
    assert case is not None
    row: dict[str, Any] = {"label": label, "part": part.name, "params": dict(case.params)}
    begun = time.perf_counter()
    memory = drawn(part, case)
    kept = {buffer.name: memory[buffer.name].clone() for buffer in part.buffers if buffer.role == "inout"}
    try:
        with RealGPU(replace(part, bench=case)) as gpu:  # which reserves addresses for the largest case that it knows
            built = built_for(located, gpu.device.target)
            gpu.load(record(built, part, case, layout=gpu.layout(case)).plan, built.cubin)
            replayed(gpu, part, memory, how="graph")
    except ReplayFailed as failed:
        return row | {"wrong": None, "failed": str(failed)}
    inputs = {buffer.name: memory[buffer.name] for buffer in part.buffers if buffer.is_read} | kept
    checked, wrong = compared(part, case, inputs, {buffer.name: memory[buffer.name] for buffer in part.results})
    return row | {"checked": checked, "wrong": wrong, "seconds": round(time.perf_counter() - begun)}


def drawn(part: Part, case: Case) -> Tensors:
    """The buffers before the run: inputs from a standard normal distribution, or as the part asks for; poison."""
    if part.default_inputs != "normal" or case.inputs:
        return memory_for(part, case, SEED)
    random, memory = torch.Generator("cuda").manual_seed(SEED), {}
    for buffer in part.buffers:
        if buffer.is_read:
            values = torch.randn(shape_of(buffer, case.params), generator=random, device="cuda")
            memory[buffer.name] = values.to(torch_type(buffer, case.params)).cpu()
            del values
        else:
            memory[buffer.name] = poisoned(buffer, case, 0)
    torch.cuda.empty_cache()
    return memory


def compared(part: Part, case: Case, inputs: Tensors, results: Tensors) -> tuple[int, int]:
    """How many values were compared, and how many of them are wrong."""
    along = sliced_along(part)
    length = int(case.params[along])
    pieces = -(-max(buffer_bytes(buffer, case.params) for buffer in part.buffers) // SLICE_BYTES)
    step = -(-length // pieces)
    checked = wrong = 0
    sums: dict[str, list[torch.Tensor]] = {buffer.name: [] for buffer in part.results if along not in buffer.shape}
    for first in range(0, length, step):
        there = slice(first, min(first + step, length))
        sliced = Case.of({**case.params, along: there.stop - there.start})
        given = {name: on_gpu(part, name, tensor, along, there) for name, tensor in inputs.items()}
        expected = reference_results(part, sliced, given)
        scales = scale_results(part, sliced, given) or expected
        for buffer in part.results:
            if buffer.name in sums:
                sums[buffer.name] += [expected[buffer.name], scales[buffer.name].abs()]
                continue
            got = on_gpu(part, buffer.name, results[buffer.name], along, there)
            checked += got.numel()
            wrong += differing(part, sliced, buffer, got, expected[buffer.name], scales[buffer.name])
    for buffer in part.results:
        if buffer.name in sums:
            expected_sum, scale = (torch.stack(sums[buffer.name][first::2]).sum(0) for first in (0, 1))
            checked += results[buffer.name].numel()
            wrong += differing(part, case, buffer, results[buffer.name].cuda(), expected_sum, scale)
    return checked, wrong


def sliced_along(part: Part) -> str:
    """The first dimension of the first result; of a sum of all of them, the first of the first input."""
    dimensions = (*part.results[0].shape, *part.buffers[0].shape)
    return next(dimension for dimension in dimensions if isinstance(dimension, str))


def on_gpu(part: Part, name: str, tensor: torch.Tensor, along: str, there: slice) -> torch.Tensor:
    """The slice of a buffer along the dimension of that name; all of one that has none such."""
    (buffer,) = (buffer for buffer in part.buffers if buffer.name == name)
    if along not in buffer.shape:
        return tensor.cuda()
    axis = buffer.shape.index(along)
    return tensor.narrow(axis, there.start, there.stop - there.start).cuda()


def differing(
    part: Part, case: Case, buffer: Buffer, got: torch.Tensor, expected: torch.Tensor, scale: torch.Tensor
) -> int:
    """How many of these values are wrong by the part's tolerance."""
    values = (got.flatten().double(), expected.flatten().double(), scale.flatten().double())
    return int(compare_values(part, case, buffer, range(got.numel()), *values).wrong.sum())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("puzzles", nargs="+", help="puzzles or parts")
    parser.add_argument("--out", type=Path, default=Path("far.json"))
    parser.add_argument("--commit")
    parser.add_argument("--jobs", type=int, default=3)
    options = parser.parse_args()
    labels = [one.label for one in parts_of(options.puzzles) if far_of(one.part) is not None]
    found: dict[str, Any] = {"about": about(options.commit), "parts": []}
    found["about"]["command"] = f"python -m tests.gpu.far {' '.join(options.puzzles)}"
    with RealGPU(parts_of(labels[:1])[0].part) as gpu:
        found["about"] |= {"device": gpu.device.name, "driver": gpu.driver}
    threads = max(1, (os.cpu_count() or 1) // options.jobs)
    with ProcessPoolExecutor(options.jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(far_case, label, threads) for label in labels]):
            found["parts"].append(done.result())
            found["parts"].sort(key=lambda row: labels.index(row["label"]))
            print(json.dumps(done.result()), flush=True)
            options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if any(row["wrong"] != 0 for row in found["parts"]) else 0


if __name__ == "__main__":
    sys.exit(main())
