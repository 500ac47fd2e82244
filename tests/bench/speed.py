"""How fast the software GPU is: `python -m tests.bench.speed [--out FILE]`, part of `make bench`.

Matrix products of 512 x 512 floats by tests/bench/gemm32.cu with all checks on, on one core and on two, for plain
x86-64, for AVX2 and for this CPU; what a vector add costs as its threads grow from 2^16 to 2^22; and the memory that
takes. Exits 0 only if every limit holds.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from grader.build import build
from grader.native import build_recipe, machine_recipe
from grader.puzzle import Case, In, Out, Part, Scalar, Tolerance, Work, f32, i32
from grader.record import record
from grader.record.plan import Launch, Plan
from grader.simt.machine import Machine
from grader.simt.software import lowered_program
from grader.toolchain import find_toolchain

HERE = Path(__file__).resolve().parent
REPEATS = 9
SIZE = 512
NUMBA = 0.000085  # GFLOP/s of the same kernel in Numba's CUDA simulator, as the project's issue gives it
MIB = 1 << 20
GEMM = Part(
    "gemm32",
    params=[In("a", f32, "m", "k"), In("b", f32, "k", "n"), Out("c", f32, "m", "n")]
    + [Scalar(name, i32) for name in ("m", "n", "k")],
    reference=lambda a, b: a @ b,
    groups={"square": [Case(m=SIZE, n=SIZE, k=SIZE)]},
    bench=Case(m=SIZE, n=SIZE, k=SIZE),
    work=lambda m, n, k: Work(bytes=4 * (m * k + k * n + m * n), flops=2 * m * n * k),
    tolerance=Tolerance(0.0, absolute=1e-3, why="not judged here"),
    lesson="",
)
ADD = Part(
    "vector_add",
    params=[In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
    reference=lambda a, b: a + b,
    groups={"any": [Case(n=1 << 16)]},
    bench=Case(n=1 << 22),
    work=lambda n: Work(bytes=12 * n, flops=n),
    tolerance=Tolerance(2.0**-22, why="not judged here"),
    lesson="",
)
ADD_SOURCE = HERE.parents[1] / "solutions" / "puzzle_01_vector_add" / "2_vector_add.cu"


@dataclass
class Timed:
    """One launch, some times over: seconds of the median, and the warp instructions it issued."""

    seconds: float
    instructions: int


class Bench:
    """A plan with one launch, on buffers of its own, ready to be run on machines built in different ways."""

    def __init__(self, source: Path, part: Part, case: Case) -> None:
        self.built = build(source)
        self.plan: Plan = record(self.built, part, case).plan
        (self.launch,) = (operation for operation in self.plan.operations if isinstance(operation, Launch))
        self.memory = {buffer.name: (ctypes.c_float * (buffer.bytes // 4))() for buffer in self.plan.buffers}
        self.results = {buffer.name for buffer in part.buffers if buffer.role == "out"}
        for values in (values for name, values in self.memory.items() if name not in self.results):
            for i in range(min(len(values), 4096)):
                values[i] = i % 13 / 8 - 0.5

    def run(self, library: Path, workers: int, repeats: int = REPEATS) -> Timed:
        machine = Machine(lowered_program(self.built), library=library)
        times, counted = [], 0
        for _ in range(repeats):
            machine.remove_buffers()
            for buffer in self.plan.buffers:
                fresh = buffer.name in self.results
                address = ctypes.addressof(self.memory[buffer.name])
                machine.add_buffer(
                    buffer.name, buffer.address, buffer.bytes, address, initialised=not fresh, writable=fresh
                )
            launch, begun = self.launch, time.perf_counter()
            machine.launch(
                launch.kernel,
                launch.grid,
                launch.block,
                launch.shared,
                launch.parameters,
                order="forward",
                seed=0,
                workers=workers,
                warp_budget=0,
                launch_budget=0,
            )
            times.append(time.perf_counter() - begun)
            (report,) = machine.report()
            if report["findings"]:
                raise SystemExit(f"{launch.kernel}: {report['findings'][0]['kind']}, where nothing is wrong")
            counted = report["counters"]["warp_instructions"]
        return Timed(statistics.median(times), counted)


def matrix_products(libraries: dict[str, Path]) -> list[dict[str, Any]]:
    bench = Bench(HERE / "gemm32.cu", GEMM, GEMM.bench)
    rows = []
    for name, library in libraries.items():
        one = bench.run(library, 1)
        rows.append(
            {
                "build": name,
                "gflops": 2 * SIZE**3 / one.seconds / 1e9,
                "warp_instructions_a_second": one.instructions / one.seconds,
                "two_cores": one.seconds / bench.run(library, 2).seconds,
                "times_numba_simulator": 2 * SIZE**3 / one.seconds / 1e9 / NUMBA,
            }
        )
    return rows


def growth(library: Path) -> dict[str, Any]:
    """Seconds of a vector add by threads, and the exponent of the straight line through their logarithms."""
    seconds = {}
    for power in range(16, 23):
        seconds[1 << power] = Bench(ADD_SOURCE, ADD, Case(n=1 << power)).run(library, 1).seconds
    x, y = [math.log(threads) for threads in seconds], [math.log(value) for value in seconds.values()]
    exponent = statistics.linear_regression(x, y).slope
    return {"seconds": {str(threads): value for threads, value in seconds.items()}, "exponent": exponent}


def memory(library: Path) -> list[dict[str, Any]]:
    """The peak of a process that runs one vector add, less what it held before, beside its buffers."""
    rows = []
    for power in (18, 20, 22):
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.speed", "--peak", str(1 << power), str(library)],
            cwd=HERE.parents[1],
            capture_output=True,
            text=True,
            check=True,
        )
        buffers = 12 << power
        rows.append({"buffers": buffers, "peak": int(done.stdout), "times": int(done.stdout) / buffers})
    return rows


def peak(elements: int, library: Path) -> int:
    """Bytes that one run takes at most, its buffers included."""
    small = Bench(ADD_SOURCE, ADD, Case(n=1 << 10))
    small.run(library, 1, repeats=1)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak counts from here
    before = _kibibytes("VmRSS")
    Bench(ADD_SOURCE, ADD, Case(n=elements)).run(library, 1, repeats=1)
    return (_kibibytes("VmHWM") - before) * 1024


def _kibibytes(field: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith(f"{field}:"))


def missed(found: dict[str, Any]) -> list[str]:
    """The limits that do not hold, each in a sentence."""
    least = {"x86-64": 0.5, "x86-64-v3": 1.0}
    said = [
        f"{row['build']}: {row['gflops']:.2f} GFLOP/s, at least {least[row['build']]} wanted."
        for row in found["gemm32"]
        if row["gflops"] < least.get(row["build"], 0.0)
    ]
    said += [
        f"{row['build']}: two cores are {row['two_cores']:.2f} times as fast as one, at least 1.8 wanted."
        for row in found["gemm32"]
        if row["two_cores"] < 1.8
    ]
    if found["growth"]["exponent"] > 1.1:
        said.append(f"The cost grows with exponent {found['growth']['exponent']:.2f}, at most 1.1 wanted.")
    return said + [
        f"{row['buffers'] // MIB} MiB of buffers take {row['times']:.1f} times as much, at most 8 wanted."
        for row in found["memory"]
        if row["times"] > 8
    ]


def show(found: dict[str, Any]) -> None:
    print(f"{found['cpu']}, {found['cores']} cores; {SIZE}³ by tests/bench/gemm32.cu, all checks on")
    for row in found["gemm32"]:
        rate = (
            f"{row['gflops']:6.3f} GFLOP/s, {row['warp_instructions_a_second'] / 1e6:5.1f} million warp instructions/s"
        )
        print(
            f"{row['build']:12} {rate}, two cores {row['two_cores']:.2f} x, {row['times_numba_simulator']:,.0f} x Numba"
        )
    print(f"2^16 to 2^22 threads: exponent {found['growth']['exponent']:.3f}")
    for row in found["memory"]:
        print(f"{row['buffers'] // MIB:4} MiB of buffers: {row['times']:.1f} times that at the peak")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="write what was measured to this JSON file")
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.peak:
        print(peak(int(options.peak[0]), Path(options.peak[1])))
        return 0
    toolchain = find_toolchain()
    cpu = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    builds = ["x86-64", "x86-64-v3", "native"] if " avx2 " in cpu and " fma " in cpu else ["native"]
    libraries = {name: build_recipe(machine_recipe(name), toolchain) for name in builds}
    model = next((line.partition(": ")[2] for line in cpu.splitlines() if line.startswith("model name")), "")
    found = {
        "date": date.today().isoformat(),
        "command": "python -m tests.bench.speed",
        "nvcc": toolchain.version,
        "compiler": f"g++ {toolchain.host_version}",
        "cpu": model or platform.machine(),
        "cores": os.cpu_count(),
        "gemm32": matrix_products(libraries),
        "growth": growth(libraries["native"]),
        "memory": memory(libraries["native"]),
    }
    show(found)
    for sentence in missed(found):
        print(sentence)
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if missed(found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
