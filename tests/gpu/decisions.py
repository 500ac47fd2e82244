"""The rule that says which kernel is faster, on a real GPU, by hand: `python -m tests.gpu.decisions [--out FILE]`.

For a kernel bound by memory and one by arithmetic, five times: three fresh processes, two with the same kernel and
case, one with 3 % more work, take turns in forty short races. Of each race it is written down what the rule says of the
kernel beside itself, and beside the other; of a kernel bound by its launch, in twenty races, only the former. Exits 0
only if a kernel is never called different from itself, and at least 195 times in 200 faster than the other. Some 90
seconds on an H200; what is done is saved as it goes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from grader.build import Build, build
from grader.catalog import Located, load_catalog
from grader.cuda.contest import Race, ReplayContestant, Rule, race
from grader.cuda.decision import LEVEL, MARGIN, compared
from grader.cuda.input_sets import InputSets, secret_seeds
from grader.cuda.session import RealGPU, ReplayFailed
from grader.puzzle import Case, Part
from grader.record import record
from tests.gpu.first_light import about

LEAST_DIFFERENT = 0.975  # 195 of 200
RULE = Rule(least_rounds=20, most_rounds=30, seconds=1.0)


@dataclass(frozen=True)
class Kernel:
    """A part, a case of it, and one with 3 % more to do."""

    bound: str
    part: str
    case: Case
    more: Case | None
    trios: int = 5
    races: int = 40


KERNELS = (
    Kernel("memory", "vector_add_float4", Case(n=1 << 25), Case(n=(1 << 25) * 103 // 100 // 4 * 4)),
    Kernel("compute", "gemm_register_tiled", Case(M=2048, N=2048, K=3200), Case(M=2048, N=2048, K=3296)),
    Kernel("launch", "vector_add_block", Case(n=1024), None, trios=1, races=20),
)


def located(name: str) -> Located:
    return next(part for puzzle in load_catalog().puzzles for part in puzzle.parts if part.part.name == name)


def trio(kernel: Kernel, part: Part, built: Build, sets: InputSets, more: InputSets | None) -> list[dict[str, Any]]:
    """All races of three fresh processes."""
    of = {"yours": sets, "itself": sets} | ({"more": more} if more is not None else {})
    rows = []
    with contextlib.ExitStack() as stack:
        gpus = {name: stack.enter_context(RealGPU(replace(part, bench=held.case))) for name, held in of.items()}
        racing = [contestant(name, part, built, gpus[name], held) for name, held in of.items()]
        for number in range(kernel.races):
            begun = time.perf_counter()
            held = race(racing, sets=len(sets), rule=RULE)
            rows.append(row_of(held) | {"seconds": round(time.perf_counter() - begun, 3)})
            if not number:
                rows[0]["laps"] = {name: [round(ms, 6) for ms in held.ms(name)] for name in held.laps}
    return rows


def contestant(name: str, part: Part, built: Build, gpu: RealGPU, sets: InputSets) -> ReplayContestant:
    """The part's solution in a process of its own."""
    plan = record(built, part, sets.case, layout=gpu.layout(sets.case)).plan
    return ReplayContestant(name, part.name, gpu=gpu, plan=plan, cubin=built.cubin, sets=sets)


def row_of(held: Race) -> dict[str, Any]:
    """One race in numbers."""
    row: dict[str, Any] = {"rounds": len(held.sets), "ms": median(held.ms("yours"))}
    for name in held.laps:
        if name != "yours":
            paired = compared(held.ms("yours"), held.ms(name))
            row[name] = {"times": paired.times, "interval": list(paired.interval), "said": paired.decision}
    apart = [abs(lap.ms - lap.host_ms) for lap in held.laps["yours"]]
    return row | {"clocks_apart_ms": round(median(apart), 5), "left_out": held.left_out}


def tally(kernel: Kernel, rows: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """What the rule said in all races of a kernel; what is not as it must be, in words."""
    itself = [row["itself"]["said"] for row in rows if "itself" in row]
    more = [row["more"]["said"] for row in rows if "more" in row]
    found: dict[str, Any] = {"itself": {said: itself.count(said) for said in sorted(set(itself))}}
    found["furthest_from_itself"] = max((abs(row["itself"]["times"] - 1) for row in rows if "itself" in row), default=0)
    asked = kernel.trios * kernel.races
    problems = [f"{kernel.bound}: {len(itself)} of {asked} races"] if len(itself) < asked else []
    if different := len(itself) - itself.count("tie"):
        problems.append(f"{kernel.bound}: {different} times called different from itself")
    if kernel.more is not None:
        found["more"] = {said: more.count(said) for said in sorted(set(more))}
        if more.count("faster") < LEAST_DIFFERENT * asked:
            problems.append(f"{kernel.bound}: {more.count('faster')} times called faster than with 3 % more to do")
    return found, problems


def measured(kernel: Kernel, save: Any) -> tuple[dict[str, Any], list[str]]:
    """All races of a kernel; `save` is called with what there is after each trio."""
    part = located(kernel.part)
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(RealGPU(part.part)).device.target
        built = build(part.solution_path, target=target)
        sets = stack.enter_context(InputSets(part.part, kernel.case, secret_seeds()))
        more = stack.enter_context(InputSets(part.part, kernel.more, secret_seeds())) if kernel.more else None
        for number in range(kernel.trios):
            begun = time.perf_counter()
            try:
                rows += trio(kernel, part.part, built, sets, more)
            except (ReplayFailed, OSError) as failed:
                problems.append(f"{kernel.bound}, trio {number}: {failed}")
            found, seen = tally(kernel, rows)
            print(f"{kernel.bound} {number} {time.perf_counter() - begun:.1f} s {found}", flush=True)
            save({"part": kernel.part, "params": dict(kernel.case.params), **found, "races": rows})
    return {"part": kernel.part, "params": dict(kernel.case.params), **found, "races": rows}, [*problems, *seen]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("decisions.json"))
    parser.add_argument("--commit")
    parser.add_argument("--quick", action="store_true", help="one trio and three races of each kernel, to see it work")
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {"about": about(options.commit) | {"command": "python -m tests.gpu.decisions"}}
    found["about"]["method"] = (
        "laps in turn, cold L2, on two sets of inputs; the median of the ratios of neighbouring laps and its "
        f"{100 * LEVEL:g} % interval from order statistics; different where it lies beyond {100 * MARGIN:g} %"
    )
    found |= {"kernels": {}, "problems": []}
    with RealGPU(located("vector_add_block").part) as gpu:
        found["about"] |= {"device": gpu.device.name, "driver": gpu.driver}

    def save(kernel: Kernel, row: dict[str, Any]) -> None:
        found["kernels"][kernel.bound] = row
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(found) + "\n", encoding="utf-8")

    for kernel in [replace(kernel, trios=1, races=3) for kernel in KERNELS] if options.quick else KERNELS:
        try:
            row, problems = measured(kernel, lambda row, kernel=kernel: save(kernel, row))
        except Exception as failed:  # the others are still worth their time
            row, problems = {"part": kernel.part}, [f"{kernel.bound}: {failed!r}"]
        found["problems"] += problems
        save(kernel, row)
    for problem in found["problems"]:
        print(f"PROBLEM {problem}")
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
