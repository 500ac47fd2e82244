"""Every solution on a real GPU, in turn with PyTorch, as it is and compiled, and with what the GPU gives at best.

    python -m tests.gpu.timings [--parts 1 2.5 ...] [--seconds 400] [--out timings.json] [--commit HASH] [--resume]

Solutions of parts that ask for the same thing run in one race. First, side by side, nvcc and torch.compile make what is
needed, and what PyTorch gives is compared with the references in small cases; then one race follows the other, with
nothing beside it. Some values of each solution's last lap are judged. All there is is saved after each race. No race
begins when the time is up; `--resume` goes on with what the file lacks. About 350 s on an H200 with 16 cores.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import sys
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import torch

from grader.build import build
from grader.catalog import Located
from grader.compare import compare_values, reference_results, scale_results
from grader.cuda.ceilings import SOURCE
from grader.cuda.child import Child, ReplayFailed
from grader.cuda.contest import Contestant, Race, ReplayContestant, Rule, race
from grader.cuda.decision import compared
from grader.cuda.driver import DeviceFacts
from grader.cuda.input_sets import InputSets, secret_seeds
from grader.cuda.limits import bound_of, past_the_peak
from grader.cuda.pytorch_rival import COMMAND, pytorch_of
from grader.cuda.rivals import Later, ceiling_beside, solution_of
from grader.cuda.sensors import Sensors
from grader.cuda.session import RealGPU
from grader.cuda.timing import clocks_disagree, gigabytes_per_second, median_interval, teraflops_per_second
from grader.inputs import torch_type
from grader.puzzle import Work, call_by_name, element_count
from grader.tools import default_tools
from tests.gpu.first_light import about
from tests.gpu.pytorch_ready import made_ready
from tests.gpu.solutions import built_for, parts_of

RULE = Rule(warm_up=1, fewest_rounds=5, least_rounds=20, most_rounds=100, seconds=1.2)
PLACES = 256  # of each result, in the last lap, that are judged
_AT_ONCE = 8  # processes that compile
_READY = 0.4  # of all the time, at most, goes by before the first race
_FOR_A_RACE = 8.0  # seconds: none begins with less
_IMPORTED = 3  # processes of PyTorch that stand ready

Row = dict[str, Any]


def groups_of(located: Sequence[Located]) -> list[list[Located]]:
    """Parts that ask for the same, in the order of the first of each."""
    found: list[list[Located]] = []
    for one in located:
        group = next((group for group in found if _asked(group[0]) == _asked(one)), None)
        if group is None:
            found.append([one])
        else:
            group.append(one)
    return found


def _asked(one: Located) -> tuple[Any, ...]:
    return one.part.params, one.part.bench, one.part.in_pytorch


# ---- before the races -----------------------------------------------------------------------------------------------


class Imported:
    """Processes that have imported PyTorch and wait to be told what to run; the GPU has not seen them yet."""

    def __init__(self, count: int = _IMPORTED) -> None:
        self._waiting = deque(Child(COMMAND) for _ in range(count))

    def take(self) -> Child:
        self._waiting.append(Child(COMMAND))
        return self._waiting.popleft()

    def close(self) -> None:
        for child in self._waiting:
            child.close()


def make_ready(
    groups: Sequence[Sequence[Located]], target: int, compiled: bool, end: float
) -> tuple[list[Row], list[str]]:
    """Builds every solution, and makes ready what PyTorch runs, until the time is up; rows by part, and problems."""
    rows: list[Row] = []
    problems: list[str] = []
    with ThreadPoolExecutor(_AT_ONCE) as builders, ProcessPoolExecutor(_AT_ONCE, get_context("spawn")) as pool:
        builds = {one.label: builders.submit(built_for, one, target) for group in groups for one in group}
        builds["the ceilings"] = builders.submit(build, SOURCE, target=target)
        tried = {group[0].label: pool.submit(made_ready, group[0].label, compiled) for group in groups}
        for label, row in _finished(tried, end, problems):
            rows.append(row)
            problems += [f"{label}: {said}" for name, said in row.items() if name == "of_tolerance_failed"]
            if row.get("of_tolerance", 0.0) > 1:
                problems.append(f"{label}: PyTorch errs by {row['of_tolerance']} of what is allowed")
        for _ in _finished(builds, end, problems):
            pass
        pool.shutdown(cancel_futures=True)  # what has begun is waited for: nothing is to run beside a race
    return rows, problems


def _finished(work: Mapping[str, Future[Any]], end: float, problems: list[str]) -> Iterator[tuple[str, Any]]:
    for label, future in work.items():
        try:
            yield label, future.result(max(end - time.monotonic(), 0.1))
        except Exception as error:
            problems.append(f"{label}: not made ready, {type(error).__name__}: {str(error)[:200]}")


# ---- a race -----------------------------------------------------------------------------------------------------


@dataclass
class Group:
    """Parts that ask for the same, in one race."""

    parts: Sequence[Located]
    device: DeviceFacts
    imported: Imported
    compiled: bool
    left_out: dict[str, str] = field(default_factory=dict)

    def rows(self) -> tuple[list[Row], list[str]]:
        """One for each part; and what is not as it must be."""
        first = self.parts[0].part
        with contextlib.ExitStack() as stack:
            sets = stack.enter_context(InputSets(first, first.bench, secret_seeds(1)))
            contestants = [stack.enter_context(one) for one in self._contestants(sets)]
            ready = self._after_a_first_lap(contestants)
            held = race(ready, sets=1, rule=RULE, sensors=Sensors(self.device.uuid), pause=lambda _: time.sleep(0.1))
            looks = {one.name: _looks(one, sets) for one in ready if isinstance(one, Later) and one.name != "ceiling"}
            whats = {one.name: one.what for one in ready}
            stack.callback(torch.cuda.empty_cache)
            with ThreadPoolExecutor(len(ready)) as pool:
                list(pool.map(lambda one: one.close(), ready))
            wrong = _wrong(sets, looks)
        self.left_out |= held.left_out
        rows = [self._row(one, held, whats) | wrong.get(one.label, {}) for one in self.parts if one.label in held.laps]
        return rows, list(self._problems(held, rows))

    def _contestants(self, sets: InputSets) -> Iterator[Contestant]:
        (first, *_), tools = self.parts, default_tools()
        part, case = first.part, first.part.bench
        for one in self.parts:
            yield solution_of(one, sets, tools, name=one.label)
        if part.in_pytorch is not None:
            for compiled in (False, True) if self.compiled else (False,):
                yield pytorch_of(first, case, sets, compiled=compiled, child=self.imported.take())
        child = self.imported.take() if bound_of(part, case, self.device) == "compute" else None
        yield ceiling_beside(part, case, sets=len(sets), device=self.device, tools=tools, child=child)

    def _after_a_first_lap(self, contestants: Sequence[Contestant]) -> list[Contestant]:
        """Those that have run once: all at the same time, since loading takes longer than running."""

        def lapped(one: Contestant) -> str | None:
            try:
                one.lap(0)
            except ReplayFailed as failed:
                one.close()
                return str(failed)
            return None

        with ThreadPoolExecutor(len(contestants)) as pool:
            failed = dict(zip([one.name for one in contestants], pool.map(lapped, contestants), strict=True))
        self.left_out |= {name: said for name, said in failed.items() if said is not None}
        return [one for one in contestants if one.name not in self.left_out]

    def _row(self, one: Located, held: Race, whats: Mapping[str, str]) -> Row:
        part, case, mine = one.part, one.part.bench, held.ms(one.label)
        work: Work = call_by_name(part.work, case.params)
        ms = median(mine)
        others = [name for name in ("pytorch", "compiled", "ceiling") if name in held.laps]
        row: Row = {"label": one.label, "part": part.name, "params": dict(case.params), "ms": ms}
        row |= {"interval_ms": list(median_interval(mine)), "runs": len(mine)}
        row["gb_per_s"] = round(gigabytes_per_second(work.bytes, ms), 1)
        row["tflop_per_s"] = round(teraflops_per_second(work.flops, ms), 3)
        row["bound"] = bound_of(part, case, self.device)
        row["rivals"] = [_rival(name, whats[name], mine, held.ms(name)) for name in others]
        row["left_out"] = {
            name: said for name, said in self.left_out.items() if name in ("pytorch", "compiled", "ceiling")
        }
        return row | {"sensors": held.sensors, "held_down_by": held.held_down_by}

    def _problems(self, held: Race, rows: Sequence[Row]) -> Iterator[str]:
        part, case = self.parts[0].part, self.parts[0].part.bench
        for one in self.parts:
            if one.label in self.left_out:
                yield f"{one.label}: {self.left_out[one.label]}"
        for name in held.laps:
            if refused := past_the_peak(part, case, median(held.ms(name)), self.device):
                yield f"{self.parts[0].label}, {name}: {refused}"
        for row in rows:
            laps = held.laps[row["label"]]
            if clocks_disagree(laps):
                host = median(lap.host_ms for lap in laps)
                yield f"{row['label']}: {row['ms']:.4g} ms on the device, {host:.4g} ms by the host's clock"
            if row.get("wrong", 0):
                yield f"{row['label']}: {row['wrong']} wrong of {row['judged']}"


def _rival(name: str, what: str, mine: Sequence[float], theirs: Sequence[float]) -> Row:
    paired = compared(mine, theirs)
    row: Row = {"name": name, "what": what, "ms": median(theirs), "interval_ms": list(median_interval(theirs))}
    return row | {"times": paired.times, "times_interval": list(paired.interval), "decision": paired.decision}


# ---- values ---------------------------------------------------------------------------------------------------------

Looks = dict[str, tuple[list[int], torch.Tensor]]


def _looks(one: Later, sets: InputSets) -> Looks:
    """Some values of each result, as the last lap has left them: places, and what lies there."""
    made, params = one.made, sets.case.params
    found: Looks = {}
    assert isinstance(made, ReplayContestant)
    for buffer in sets.part.results:
        count, dtype = element_count(buffer, params), torch_type(buffer, params)
        places = [secrets.randbelow(count) for _ in range(PLACES)]
        raw = bytearray(made.gpu.peek(buffer.name, places, dtype.itemsize))
        found[buffer.name] = places, torch.frombuffer(raw, dtype=dtype)
    return found


def _wrong(sets: InputSets, looks: Mapping[str, Looks]) -> dict[str, Row]:
    """How many of them were judged and how many are wrong, by contestant; on PyTorch's GPU, with nothing beside it."""
    part, case = sets.part, sets.case
    try:
        inputs = {name: tensor.to("cuda" if torch.cuda.is_available() else "cpu") for name, tensor in sets[0].items()}
        expected = reference_results(part, case, inputs)
        scales = scale_results(part, case, inputs) or expected
    except RuntimeError:  # no room, or a reference that knows the CPU only
        return {}
    found: dict[str, Row] = {name: {"judged": 0, "wrong": 0} for name in looks}
    for name, seen in looks.items():
        for buffer in part.results:
            places, values = seen[buffer.name]
            right, scale = (each[buffer.name].flatten()[places].double().cpu() for each in (expected, scales))
            compared_there = compare_values(part, case, buffer, places, values.double(), right, scale)
            found[name]["judged"] += len(places)
            found[name]["wrong"] += compared_there.count
    return found


# ---- all of them ----------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    begun = time.monotonic()
    end = begun + options.seconds
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.mkdtemp(prefix="inductor"))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")  # of each of the processes
    found = _begun(options)
    done = {row["label"] for row in found["parts"]}
    located = [one for one in parts_of(options.parts) if one.label not in done]

    def save() -> None:
        found["about"]["seconds"] = round(time.monotonic() - begun, 1)
        found["parts"].sort(key=lambda row: [int(number) for number in row["label"].split(".")])
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

    with RealGPU(parts_of(["1.1"])[0].part) as gpu:
        device = gpu.device
        found["about"] |= {"device": device.name, "driver": gpu.driver}
    groups = groups_of(located)
    imported = Imported()
    try:
        rows, problems = make_ready(groups, device.target, options.compiled, begun + _READY * options.seconds)
        found["pytorch"] += rows
        found["problems"] += problems
        save()
        print(f"{len(groups)} races of {len(located)} parts; ready after {time.monotonic() - begun:.0f} s", flush=True)
        for group in groups:
            if time.monotonic() + _FOR_A_RACE > end:
                found["problems"].append(f"{', '.join(one.label for one in group)}: no time was left")
                continue
            _raced(Group(group, device, imported, options.compiled), found)
            save()
    finally:
        imported.close()
    save()
    for problem in found["problems"]:
        print(f"PROBLEM {problem}")
    return 1 if found["problems"] else 0


def _raced(group: Group, found: Row) -> None:
    """One race, and its rows; whatever fails in it does not stop the others."""
    begun, labels = time.monotonic(), ", ".join(one.label for one in group.parts)
    try:
        rows, problems = group.rows()
    except Exception as error:
        rows, problems = [], [f"{labels}: {type(error).__name__}: {error}"]
        traceback.print_exc()
    seconds = time.monotonic() - begun
    found["parts"] += rows
    found["problems"] += problems
    for row in rows:
        beside = " ".join(f"{rival['name']} {rival['times']:.3f}" for rival in row["rivals"])
        print(f"{row['label']:<5}{row['part']:<28}{row['ms']:>10.4f} ms  {beside}  {seconds:.1f} s", flush=True)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=[str(number) for number in range(1, 11)], help="puzzles or parts")
    parser.add_argument("--seconds", type=float, default=400.0, help="after which no race begins")
    parser.add_argument("--out", type=Path, default=Path("timings.json"))
    parser.add_argument("--commit", help="what is measured, where this is no git checkout")
    parser.add_argument("--resume", action="store_true", help="keep what the file has, and go on with what it lacks")
    parser.add_argument("--eager", dest="compiled", action="store_false", help="without torch.compile")
    return parser.parse_args(arguments)


def _begun(options: argparse.Namespace) -> Row:
    """What the file is to hold before the first race."""
    if options.resume and options.out.exists():
        found: Row = json.loads(options.out.read_text(encoding="utf-8"))
        return found | {"problems": []}
    of = about(options.commit) | {"command": f"python -m tests.gpu.timings --parts {' '.join(options.parts)}"}
    of["method"] = (
        "laps in turn, each kernel in a process of its own: device events around the replay of a captured graph, L2 "
        "flushed before by a memset of 256 MiB or more, persisting lines reset, inputs copied anew; the median and its "
        "95 % interval from order statistics; `times` is the median of the ratios of neighbouring laps, the other's "
        "time over the solution's, with its 99.9 % interval; PyTorch allocates its results within the graph, TF32 is "
        "off; torch.compile with dynamic=False"
    )
    return {"about": of, "pytorch": [], "parts": [], "problems": []}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
