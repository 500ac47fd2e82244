"""Solutions on a real GPU, by hand: `python -m tests.gpu.solutions 2 3.5 5 [--out FILE] [--commit HASH] [--jobs N]`.

Each small case of these puzzles and parts, replayed as a stream of calls and as a graph on fresh inputs: the values
against PyTorch, and bit for bit against the software GPU's; N parts at a time. A part that promises equal bits is
replayed a hundred times on one input. Then, one part after the other and nothing beside it, the bench case, timed, and
its values judged, beside a streaming kernel that reads and writes in the same proportion (`ceilings.py`), PyTorch's own
product of matrices (`matrix_products.py`) or its attention (`attention.py`). Exits 0 only if all values are right, no
fault is seen, and no part is below its floor; sums by float atomics may differ in bits, since their order is open.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from grader.build import Build, build
from grader.catalog import Located, load_catalog
from grader.cuda.bench import Bench
from grader.cuda.session import RealGPU
from grader.cuda.trial import HOWS, replayed
from grader.inputs import memory_for
from grader.puzzle import Part, call_by_name
from grader.record import record
from grader.submission import used_sources
from tests.gpu.attention import beside_attention
from tests.gpu.ceilings import ceiling_of, measured
from tests.gpu.first_light import SEED, about
from tests.gpu.matrix_products import PRODUCT_FLOORS, measured_product, product_of, teraflops
from tests.gpu.replays import Row, problems_of, same_bits

REPLAYS = 100
# What a solution has to reach, as a share of its ceiling in the same run.
FLOORS = {
    "vector_add_float4": 0.95,
    "transpose_swizzled": 0.50,
    "transpose_wide": 0.80,
    "reduce_sum": 0.85,
    "reduce_sum_deterministic": 0.85,
    "row_sum": 0.80,
    "row_max": 0.80,
    "row_softmax": 0.75,
    "col_sum": 0.80,
    "rmsnorm_vec": 0.90,
    "rmsnorm_f16": 0.85,
    "sgd_f16_half2": 0.90,
}


def parts_of(names: list[str]) -> list[Located]:
    """The parts that these names of puzzles and parts mean, without those that are host code alone."""
    catalog = load_catalog()
    found: dict[str, Located] = {}
    for name in names:
        puzzle, located = catalog.resolve(name, None)
        found |= {part.label: part for part in ([located] if located else puzzle.parts) if not part.part.is_host}
    return list(found.values())


def bench(gpu: RealGPU, located: Located, built: Build) -> tuple[dict[str, Any], list[str]]:
    """Time and values of the bench case."""
    part, case = located.part, located.part.bench
    plan = record(built, part, case, layout=gpu.layout(case)).plan
    ran, timing = Bench(part, case, built, plan, SEED, gpu).run()
    if timing is None:
        return {"ran": False}, [f"{part.name}: the bench case was not timed"]
    row = {"params": dict(case.params), "ms": timing.ms, "interval_ms": list(timing.interval_ms)}
    row |= {"gb_per_s": timing.gb_per_s, "runs": timing.runs, "wrong": ran.result.wrong}
    return row, [f"{part.name}, bench: {seen.kind}" for seen in ran.observations]


def beside_ceiling(part: Part, row: dict[str, Any], ceilings: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Adds to a bench row what share of its ceiling the part reaches; a sentence where that is below its floor."""
    name = ceiling_of(part)
    if name is None or "gb_per_s" not in row:
        return
    if name not in ceilings:
        ceilings[name] = measured(name, SEED)
    row |= {"ceiling": name, "of_ceiling": round(row["gb_per_s"] / ceilings[name]["gb_per_s"], 4)}
    if row["of_ceiling"] < FLOORS.get(part.name, 0.0):
        yield f"{part.name} reaches {row['of_ceiling']:.2f} of {name}, and {FLOORS[part.name]:.2f} is asked for"


def beside_product(part: Part, row: dict[str, Any], products: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The same for a product of matrices, beside PyTorch's own."""
    product = product_of(part)
    if product is None or "ms" not in row:
        return
    key = " ".join(map(str, product))
    if key not in products:
        products[key] = measured_product(product)
    row["tflops"] = round(teraflops(part, row["ms"]), 2)
    row |= {"product": products[key]["name"], "of_product": round(products[key]["ms"] / row["ms"], 4)}
    floor = PRODUCT_FLOORS.get(part.name, 0.0)
    if row["of_product"] < floor:
        yield f"{part.name} reaches {row['of_product']:.2f} of PyTorch, and {floor:.2f} is asked for"


def equal_bits(gpu: RealGPU, located: Located, built: Build) -> tuple[dict[str, Any], list[str]]:
    """A hundred replays of the largest small case on the same input, where the part promises equal bits."""
    part = located.part
    if not any(goal.every_order for goal in part.goals):
        return {}, []
    case = max(part.cases(), key=lambda one: call_by_name(part.work, one.params).bytes)
    gpu.load(record(built, part, case, layout=gpu.layout(case)).plan, built.cubin)
    inputs = memory_for(part, case, SEED)
    first: dict[str, torch.Tensor] = {}
    other = 0
    for replay in range(REPLAYS):
        memory = {name: tensor.clone() for name, tensor in inputs.items()}
        replayed(gpu, part, memory, how=HOWS[replay % len(HOWS)], run=replay)
        results = {buffer.name: memory[buffer.name] for buffer in part.results}
        first = first or results
        other += not all(same_bits(results[name], first[name]) for name in results)
    row = {"params": dict(case.params), "replays": REPLAYS, "with_other_bits": other}
    return {"equal_bits": row}, [f"{part.name}: {other} of {REPLAYS} replays gave other bits"] if other else []


def apart(label: str, target: int, threads: int) -> tuple[dict[str, Any], list[str]]:
    """What needs no clock, of one part, in a process of its own."""
    torch.set_num_threads(threads)
    (located,) = parts_of([label])
    built = built_for(located, target)
    row = Row(located.label, located.part.name)
    with RealGPU(located.part) as gpu:
        problems = list(problems_of(gpu, located.part, built, row, seed=SEED))
        seen, more = equal_bits(gpu, located, built)
    return row.plain | seen, problems + more


def built_for(located: Located, target: int) -> Build:
    """The solution, compiled for this GPU with the parts that it builds on."""
    return build(located.solution_path, target=target, uses=used_sources(located))


def all_apart(located: list[Located], target: int, jobs: int) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """`apart` of these parts in their order, so many at a time."""
    threads = max(1, (os.cpu_count() or 1) // jobs)
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        labels = [one.label for one in located]
        for row, problems in pool.map(apart, labels, [target] * len(labels), [threads] * len(labels)):
            print(json.dumps(row), flush=True)
            yield row, problems


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("puzzles", nargs="+", help="puzzles or parts")
    parser.add_argument("--out", type=Path, default=Path("solutions.json"))
    parser.add_argument("--commit")
    parser.add_argument("--jobs", type=int, default=4)
    options = parser.parse_args(arguments)
    located = parts_of(options.puzzles)
    ceilings: dict[str, dict[str, Any]] = {}
    products: dict[str, dict[str, Any]] = {}
    found: dict[str, Any] = {"about": about(options.commit), "ceilings": ceilings, "products": products}
    found |= {"parts": [], "problems": []}
    found["about"]["command"] = f"python -m tests.gpu.solutions {' '.join(options.puzzles)}"
    with RealGPU(located[0].part) as gpu:
        target = gpu.device.target
        found["about"] |= {"device": gpu.device.name, "driver": gpu.driver}
    rows = list(all_apart(located, target, options.jobs))
    for one, (row, problems) in zip(located, rows, strict=True):
        with RealGPU(one.part) as gpu:
            built = built_for(one, target)
            row["bench"], more = bench(gpu, one, built)
            beside, of_attention = beside_attention(gpu, one, built)
        row.update(beside)
        found["problems"] += [*problems, *more, *of_attention]
        found["problems"] += [*beside_ceiling(one.part, row["bench"], ceilings)]
        found["problems"] += [*beside_product(one.part, row["bench"], products)]
        found["parts"].append(row)
        print(json.dumps(row["bench"]), flush=True)
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for problem in found["problems"]:
        print(f"PROBLEM {problem}")
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
