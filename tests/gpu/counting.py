"""Counters beside Nsight Compute's, by hand: `python -m tests.gpu.counting [--out FOLDER] [--known FILE]`.

Needs a GPU, nvcc and ncu, and no package. Each launch of tests/access_patterns.py is profiled once; what Nsight Compute
says is written to counting.json, in the form in which it lies under results/h200/. Launches that a file of that form
has already are taken from there. tests/test_counters_agree.py holds
the software GPU to it.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import subprocess
import time
from pathlib import Path

from tests.access_patterns import KERNELS, MERGED, tables

HERE = Path(__file__).parent
METRICS = (
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "smsp__inst_executed_op_global_ld.sum",
    "smsp__inst_executed_op_global_st.sum",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
)


def launches() -> list[tuple[str, str]]:
    """The kernel and the name of its table, or "merged" and the kernel, in the order in which they run."""
    by_table = [(kernel, name) for kernel in KERNELS for name in tables(kernel)]
    return [("merged", kernel) for kernel in MERGED] + by_table


def table_text(wanted: list[tuple[str, str]]) -> str:
    """What counting.cu reads."""
    lines = [
        f"{kernel} {name}" if kernel == "merged" else f"{kernel} {' '.join(map(str, tables(kernel)[name]))}"
        for kernel, name in wanted
    ]
    return "\n".join(lines) + "\n"


def profiled(folder: Path, target: str, wanted: list[tuple[str, str]]) -> list[list[int]]:
    """The metrics of each launch, in the order of METRICS."""
    program, table = folder / "counting", folder / "table.txt"
    table.write_text(table_text(wanted))
    subprocess.run(
        ["nvcc", f"-arch={target}", "-lineinfo", "-std=c++17", str(HERE / "counting.cu"), "-o", str(program)],
        check=True,
    )
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--metrics", ",".join(METRICS), str(program)]
    with table.open() as stream:
        said = subprocess.run(command, check=True, stdin=stream, capture_output=True, text=True).stdout
    (folder / "ncu.csv").write_text(said)
    start = said.index('"ID"')
    rows = list(csv.DictReader(said[start:].splitlines()))
    return [[int(float(row[metric].replace(",", "") or -1)) for metric in METRICS] for row in rows if row["ID"]]


def output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "counting")), help="where to write")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--known", type=Path, help="a file with launches that need not be made again")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    known = json.loads(given.known.read_text())["launches"] if given.known else {}
    wanted = [(kernel, name) for kernel, name in launches() if name not in known.get(kernel, {})]
    counted = dict(zip(wanted, profiled(given.out, given.target, wanted), strict=True))
    found: dict[str, dict[str, list[int]]] = {}
    for kernel, name in launches():
        found.setdefault(kernel, {})[name] = counted.get((kernel, name)) or known[kernel][name]
    about = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": "python -m tests.gpu.counting",
        "device": output(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]),
        "driver": output(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]),
        "nvcc": output(["nvcc", "--version"]).splitlines()[-1],
        "ncu": output(["ncu", "--version"]).splitlines()[-1],
        "target": given.target,
        "seconds": round(time.monotonic() - begun, 1),
    }
    (given.out / "counting.json").write_text(written(about, found))


def written(about: dict[str, object], found: dict[str, dict[str, list[int]]]) -> str:
    """JSON with a line a launch."""
    kernels = [
        f" {json.dumps(kernel)}: {{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(counts)}" for name, counts in launched.items())
        + "\n }"
        for kernel, launched in found.items()
    ]
    head = json.dumps({"about": about, "metrics": METRICS}, indent=1).removesuffix("\n}")
    return f'{head},\n "launches": {{\n' + ",\n".join(kernels) + "\n }\n}\n"


if __name__ == "__main__":
    main()
