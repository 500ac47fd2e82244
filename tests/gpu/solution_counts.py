"""What Nsight Compute counts in the solutions: `python -m tests.gpu.solution_counts 1 2 3 5 [--out FILE]`.

Needs a GPU, nvcc, ncu and what `grader` needs. Of each part the largest small case is replayed once under ncu. The
numbers of each launch are written as results/h200/solution_counts.json has them; tests/test_solution_counts.py holds
the software GPU to them.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from grader.build import build
from grader.cuda.session import RealGPU
from grader.cuda.trial import replayed
from grader.inputs import derived_seed, memory_for
from grader.puzzle import Case, Part, buffer_bytes
from grader.record import record
from grader.record.plan import Launch
from tests.gpu.bare import about
from tests.gpu.counting import METRICS, output
from tests.gpu.first_light import SEED
from tests.gpu.solutions import parts_of

TARGET = 90


def counted_case(part: Part) -> Case:
    """The largest of the small cases."""
    return max(part.cases(), key=lambda case: sum(buffer_bytes(buffer, case.params) for buffer in part.buffers))


def replay(puzzles: list[str], said: Path) -> None:
    """Replays the solutions one after the other, and writes which launches there were."""
    located = parts_of(puzzles)
    with ThreadPoolExecutor(8) as pool:
        builds = list(pool.map(lambda one: build(one.solution_path, target=TARGET), located))
    ran = []
    for one, built in zip(located, builds, strict=True):
        part, case = one.part, counted_case(one.part)
        with RealGPU(part) as gpu:
            recording = record(built, part, case, layout=gpu.layout(case))
            gpu.load(recording.plan, built.cubin)
            replayed(gpu, part, memory_for(part, case, derived_seed(SEED, 0), 0), how="stream")
        kernels = [item.kernel for item in recording.plan.operations if isinstance(item, Launch)]
        ran.append({"label": one.label, "part": part.name, "params": dict(case.params), "kernels": kernels})
        said.write_text(json.dumps(ran))


def profiled(puzzles: list[str], folder: Path) -> list[dict[str, Any]]:
    """The parts with the metrics of each launch, in the order of METRICS."""
    said = folder / "replayed.json"
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--target-processes", "all"]
    command += ["--kernel-name-base", "mangled", "--metrics", ",".join(METRICS)]
    command += [sys.executable, "-m", "tests.gpu.solution_counts", *puzzles, "--replay", str(said)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=dict(os.environ))
    if '"ID"' not in done.stdout:
        raise RuntimeError(f"ncu: {done.stdout[-2000:]} {done.stderr[-2000:]}")
    table = done.stdout[done.stdout.index('"ID"') :].splitlines()
    rows = iter([row for row in csv.DictReader(table) if row["ID"]])
    parts: list[dict[str, Any]] = json.loads(said.read_text())
    for part in parts:
        part["launches"] = []
        for kernel in part.pop("kernels"):
            row = next(row for row in rows if row["Kernel Name"] == kernel)
            counts = [int(float(row[metric].replace(",", "") or -1)) for metric in METRICS]
            part["launches"].append([kernel, counts])
    return parts


def written(found: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    """JSON with a line a part."""
    head = json.dumps(found, indent=1).removesuffix("\n}")
    return f'{head},\n "parts": [\n' + ",\n".join(f"  {json.dumps(part)}" for part in parts) + "\n ]\n}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("puzzles", nargs="+")
    parser.add_argument("--out", type=Path, default=Path("solution_counts.json"))
    parser.add_argument("--replay", type=Path, help="replay, under ncu, and write to this file what ran")
    options = parser.parse_args()
    if options.replay:
        replay(options.puzzles, options.replay)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        parts = profiled(options.puzzles, Path(folder))
    head = about(f"tests.gpu.solution_counts {' '.join(options.puzzles)}")
    head["ncu"] = output(["ncu", "--version"]).splitlines()[-1]
    options.out.write_text(written({"about": head, "metrics": METRICS}, parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
