"""Offsets past 2**31 on a real GPU, by hand: `python -m tests.gpu.far 2 5 6 [--out FILE] [--commit HASH] [--jobs N]`.

The far case of each part that has one: recorded, replayed once as a graph, every value compared with PyTorch, N parts
at a time. A case takes a minute, nearly all of it for the inputs and for what is right; one that does not fit into the
machine's memory beside its comparison is named as left out. Exits 0 only if all values are right.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from grader.compare import compare
from grader.cuda.session import RealGPU
from grader.cuda.trial import fits, replayed
from grader.inputs import memory_for
from grader.record import record
from tests.gpu.first_light import SEED, about
from tests.gpu.solutions import built_for, parts_of


def far_case(label: str, threads: int) -> dict[str, Any]:
    """How many values of the part's far case are wrong, in a process of its own."""
    torch.set_num_threads(threads)
    (located,) = parts_of([label])
    part, case = located.part, located.part.far
    assert case is not None
    row: dict[str, Any] = {"label": label, "part": part.name, "params": dict(case.params)}
    if not fits(part, case):
        return row | {"left_out": "the comparison does not fit into this machine's memory"}
    begun = time.perf_counter()
    with RealGPU(part) as gpu:
        built = built_for(located, gpu.device.target)
        gpu.load(record(built, part, case, layout=gpu.layout(case)).plan, built.cubin)
        memory = memory_for(part, case, SEED)
        inputs = {buffer.name: memory[buffer.name].clone() for buffer in part.buffers if buffer.is_read}
        replayed(gpu, part, memory, how="graph")
    compared = compare(part, case, inputs, memory)
    return row | {"checked": compared.checked, "wrong": compared.wrong, "seconds": round(time.perf_counter() - begun)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("puzzles", nargs="+", help="puzzles or parts")
    parser.add_argument("--out", type=Path, default=Path("far.json"))
    parser.add_argument("--commit")
    parser.add_argument("--jobs", type=int, default=3)
    options = parser.parse_args()
    labels = [one.label for one in parts_of(options.puzzles) if one.part.far is not None]
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
    return 1 if any(row.get("wrong") for row in found["parts"]) else 0


if __name__ == "__main__":
    sys.exit(main())
