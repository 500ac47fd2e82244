"""Solutions on a real GPU, by hand: `python -m tests.gpu.solutions 2 3 5 [--out FILE] [--commit HASH]`.

Each small case of each part of these puzzles, replayed as a stream of calls and as a graph on fresh inputs: the values
against PyTorch, and bit for bit against the software GPU's. Then the bench case, timed, and its values judged. Exits 0
only if all values are right and no fault is seen; sums by float atomics may differ in bits, since their order is open.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from grader.build import Build, build
from grader.catalog import Located, load_catalog
from grader.compare import compare
from grader.cuda.session import RealGPU
from grader.cuda.trial import HOWS, CudaTrial, replayed
from grader.inputs import derived_seed, memory_for
from grader.record import record
from grader.simt.software import SoftwareGPU
from tests.gpu.first_light import SEED, Row, about, same_bits


def parts_of(puzzles: list[str]) -> list[Located]:
    catalog = load_catalog()
    return [located for name in puzzles for located in catalog.resolve(name, None)[0].parts]


def small_cases(gpu: RealGPU, located: Located, built: Build, row: Row) -> Iterator[str]:
    """Every small case; what is not as it must be, in words."""
    part, software = located.part, SoftwareGPU(built)
    roles = {buffer.name: buffer.role for buffer in part.buffers}
    for case in part.cases():
        recording = record(built, part, case, layout=gpu.layout(case))
        if recording.findings:
            yield f"{part.name} {case}: {recording.findings[0]}"
            continue
        gpu.load(recording.plan, built.cubin)
        row.plain["cases"] += 1
        for run, how in enumerate(HOWS):
            memory = memory_for(part, case, derived_seed(SEED, run), run)
            inputs = {buffer.name: memory[buffer.name].clone() for buffer in part.buffers if buffer.is_read}
            beside = {name: tensor.clone() for name, tensor in memory.items()}
            replayed(gpu, part, memory, how=how, run=run)
            seen = software.run(recording.plan, beside, roles=roles)
            compared = compare(part, case, inputs, memory)
            same = all(same_bits(memory[buffer.name], beside[buffer.name]) for buffer in part.results)
            row.add(compared.wrong == 0, same, compared.max_rel_error)
            if seen.findings:
                yield f"{part.name} {case} {how}: the software GPU says {seen.findings[0]}"
            if compared.wrong:
                yield f"{part.name} {case} {how}: {compared.wrong} wrong"


def bench(gpu: RealGPU, located: Located, built: Build) -> tuple[dict[str, Any], list[str]]:
    """Time and values of the bench case."""
    part, case = located.part, located.part.bench
    plan = record(built, part, case, layout=gpu.layout(case)).plan
    ran, timing = CudaTrial(part, "bench", case, built, plan, SEED, gpu=gpu).bench()
    if timing is None:
        return {"ran": False}, [f"{part.name}: the bench case was not timed"]
    row = {"params": dict(case.params), "ms": timing.ms, "interval_ms": list(timing.interval_ms)}
    row |= {"gb_per_s": timing.gb_per_s, "runs": timing.runs, "wrong": ran.result.wrong}
    return row, [f"{part.name}, bench: {seen.kind}" for seen in ran.observations]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("puzzles", nargs="+")
    parser.add_argument("--out", type=Path, default=Path("solutions.json"))
    parser.add_argument("--commit")
    options = parser.parse_args(arguments)
    located = parts_of(options.puzzles)
    found: dict[str, Any] = {"about": about(options.commit), "parts": [], "problems": []}
    found["about"]["command"] = f"python -m tests.gpu.solutions {' '.join(options.puzzles)}"
    with RealGPU(located[0].part) as gpu:
        target = gpu.device.target
        found["about"] |= {"device": gpu.device.name, "driver": gpu.driver}
    with ThreadPoolExecutor(4) as pool:
        builds = list(pool.map(lambda one: build(one.solution_path, target=target), located))
    for one, built in zip(located, builds, strict=True):
        row = Row(one.label, one.part.name)
        with RealGPU(one.part) as gpu:
            found["problems"] += small_cases(gpu, one, built, row)
            row.plain["bench"], problems = bench(gpu, one, built)
        found["problems"] += problems
        found["parts"].append(row.plain)
        print(json.dumps(row.plain), flush=True)
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for problem in found["problems"]:
        print(f"PROBLEM {problem}")
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
