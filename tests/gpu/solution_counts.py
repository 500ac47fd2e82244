"""What Nsight Compute counts in the solutions: `python -m tests.gpu.solution_counts 1 2 3 5 [--out FILE]`.

Needs a GPU, nvcc and ncu. Around the entry of each part goes a program that calls it once, in a small case and on
buffers of zeros, and that is profiled. The numbers of each launch are written as results/h200/solution_counts.json has
them; tests/test_solution_counts.py holds the software GPU to them.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from grader.catalog import Located
from grader.puzzle import Buffer, Case, Part, buffer_bytes
from tests.gpu.bare import about
from tests.gpu.counting import METRICS, output
from tests.gpu.solutions import parts_of

AT_ONCE = 4  # profilers; they take turns at the counters, but not while they start
_PROGRAM = """#include "{solution}"

#include <cstdio>

struct Memory {{
    void* at;
    template <class T>
    operator T*() const {{
        return static_cast<T*>(at);
    }}
}};

Memory zeros(size_t bytes) {{
    Memory made;
    cudaMalloc(&made.at, bytes + 256);
    cudaMemset(made.at, 0, bytes);
    return made;
}}

int main() {{
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    const cudaError_t returned = {entry}({arguments}, stream);
    const cudaError_t ended = cudaDeviceSynchronize();
    std::fputs(cudaGetErrorString(returned != cudaSuccess ? returned : ended), stderr);
    return returned != cudaSuccess || ended != cudaSuccess;
}}
"""


def counted_case(part: Part) -> Case:
    """The largest of the small cases up to 1 MiB, its buffers filled and placed as usual."""

    def size(case: Case) -> int:
        needed = sum(buffer_bytes(buffer, case.params) for buffer in part.buffers)
        return needed if needed <= 1 << 20 else 0

    return Case.of(max(part.cases(), key=size).params)


def program(located: Located, case: Case) -> str:
    """A program that calls the part's entry once."""
    given = [
        f"zeros({buffer_bytes(param, case.params)})" if isinstance(param, Buffer) else str(case.params[param.name])
        for param in located.part.params
    ]
    return _PROGRAM.format(solution=located.solution_path, entry=located.part.name, arguments=", ".join(given))


def profiled(located: Located, folder: Path) -> dict[str, Any]:
    """The part, and the metrics of each launch in the order of METRICS."""
    part, case = located.part, counted_case(located.part)
    source, binary = folder / f"{part.name}_main.cu", folder / part.name
    source.write_text(program(located, case))
    subprocess.run(
        ["nvcc", "-arch=sm_90", "-std=c++17", "-lineinfo", str(source), "-o", str(binary)],
        check=True,
        capture_output=True,
    )
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw"]
    command += ["--metrics", ",".join(METRICS), str(binary)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [row for row in csv.DictReader(said[said.index('"ID"') :].splitlines()) if row["ID"]]
    launches = [
        [row["Kernel Name"], [int(float(row[metric].replace(",", "") or -1)) for metric in METRICS]] for row in rows
    ]
    return {"label": located.label, "part": part.name, "params": dict(case.params), "launches": launches}


def written(found: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    """JSON with a line a part."""
    head = json.dumps(found, indent=1).removesuffix("\n}")
    return f'{head},\n "parts": [\n' + ",\n".join(f"  {json.dumps(part)}" for part in parts) + "\n ]\n}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("puzzles", nargs="+")
    parser.add_argument("--out", type=Path, default=Path("solution_counts.json"))
    options = parser.parse_args()
    head = about(f"tests.gpu.solution_counts {' '.join(options.puzzles)}")
    head["ncu"] = output(["ncu", "--version"]).splitlines()[-1]
    parts, problems = [], 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        located = parts_of(options.puzzles)
        for one, future in [(one, pool.submit(profiled, one, Path(folder))) for one in located]:
            try:
                parts.append(future.result())
            except subprocess.CalledProcessError as error:
                problems += 1
                print(f"{one.label}: {str(error.stdout)[-500:]} {str(error.stderr)[-500:]}")
            options.out.write_text(written({"about": head, "metrics": METRICS}, parts))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
