"""Every solution on a real GPU, in turn with PyTorch, as it is and compiled, and with what the GPU gives at best.

    python -m tests.gpu.timings [--parts 1 2.5 ...] [--seconds 270] [--out timings.json] [--commit HASH] [--resume]

Solutions of parts that ask for the same thing run in one race. First, side by side, nvcc and torch.compile make what is
needed, and what PyTorch gives is compared with the references in small cases; then one race follows the other, with
nothing beside it. Some values of each solution's last lap are judged. All there is is saved after each race. No race
begins when the time is up, and torch.compile is left out where it would not suffice; `--resume` goes on with what the
file lacks. About 240 s on an H200 with 16 cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from grader.build import build
from grader.catalog import Located
from grader.cuda.ceilings import SOURCE
from grader.cuda.driver import DeviceFacts
from grader.cuda.session import RealGPU
from tests.gpu.first_light import about
from tests.gpu.pytorch_ready import made_ready
from tests.gpu.solutions import built_for, parts_of
from tests.gpu.timed_group import Group, PyTorch, Row, groups_of

_READY = 0.35  # of all the time, at most, goes by before the first race
_FOR_A_RACE = 6.0  # seconds: none begins with less
_COMPILED = 2.5  # seconds that there have to be for each race that is left, for one with torch.compile
_BUILDERS, _COMPILERS = 6, 12  # at once


def make_ready(groups: Sequence[Sequence[Located]], target: int, compiled: bool, end: float) -> list[Row]:
    """Builds every solution, and makes ready what PyTorch runs, until the time is up; a row for each group."""
    with ThreadPoolExecutor(_BUILDERS) as builders, ProcessPoolExecutor(_COMPILERS, get_context("spawn")) as pool:
        builds = {one.label: builders.submit(built_for, one, target) for group in groups for one in group}
        builds["the ceilings"] = builders.submit(build, SOURCE, target=target)
        tried = {group[0].label: pool.submit(made_ready, group[0].label, compiled) for group in groups}
        rows = list(_finished(tried, end))
        list(_finished(builds, end))  # what does not build is told when it is to race
        pool.shutdown(cancel_futures=True)  # what has begun is waited for: nothing is to run beside a race
        builders.shutdown(cancel_futures=True)
    return rows


def _finished(work: Mapping[str, Future[Any]], end: float) -> Iterator[Any]:
    for label, future in work.items():
        try:
            yield future.result(max(end - time.monotonic(), 0.1))
        except Exception as error:
            yield {"label": label, "not_ready": f"{type(error).__name__}: {str(error)[:200]}"}


class Run:
    """All races, one after the other; while the values of one are judged, the next is prepared."""

    def __init__(
        self,
        found: Row,
        device: DeviceFacts,
        pytorch: PyTorch,
        *,
        compiled: bool,
        end: float,
        save: Callable[[], None],
    ) -> None:
        self.found = found
        self.device = device
        self.pytorch = pytorch
        self.compiled = compiled
        self.end = end
        self.save = save
        self.hung = 0

    def all(self, groups: Sequence[Sequence[Located]]) -> None:
        with ThreadPoolExecutor(1) as beside:
            judging: Future[None] | None = None
            for number, parts in enumerate(groups):
                left = self.end - time.monotonic()
                compiled = self.compiled and left / (len(groups) - number) > _COMPILED
                group, begun = Group(parts, self.device, self.pytorch, compiled), time.monotonic()
                if self.compiled and not compiled:
                    group.left_out["compiled"] = "no time was left for it"
                if left < _FOR_A_RACE or self.hung > 1:
                    why = "given up, since laps do not come to an end" if self.hung > 1 else "no time was left"
                    self.found["problems"].append(f"{group.labels}: {why}")
                    continue
                ready = self._tried(group, group.prepare)
                if judging is not None:
                    judging.result()
                self.hung = self.hung + 1 if group.hung else 0
                if ready:
                    self._tried(group, group.race)
                judging = beside.submit(self._ended, group, begun)

    def _ended(self, group: Group, begun: float) -> None:
        self._tried(group, group.finish)
        self._tried(group, group.close)
        self.found["parts"] += group.rows
        self.found["problems"] += group.problems
        for row in group.rows:
            beside = " ".join(f"{rival['name']} {rival['times']:.3f}" for rival in row["rivals"])
            print(f"{row['label']:<5}{row['part']:<28}{row['ms']:>10.4f} ms  {beside}", flush=True)
        print(f"      {time.monotonic() - begun:.1f} s: {group.seconds}", flush=True)
        for problem in group.problems:
            print(f"PROBLEM {problem}", flush=True)
        self.save()

    def _tried(self, group: Group, work: Callable[[], None]) -> bool:
        """Whether it came to its end; whatever fails in a race does not stop the others."""
        try:
            work()
        except Exception as error:
            group.problems.append(f"{group.labels}: {type(error).__name__}: {error}")
            traceback.print_exc()
            return False
        return True


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    begun = time.monotonic()
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.mkdtemp(prefix="inductor"))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")  # of each of the processes
    found = _begun(options)
    done = {row["label"] for row in found["parts"]}
    groups = groups_of([one for one in parts_of(options.parts) if one.label not in done])

    def save() -> None:
        found["about"]["seconds"] = round(time.monotonic() - begun, 1)
        found["parts"].sort(key=lambda row: [int(number) for number in row["label"].split(".")])
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

    with RealGPU(parts_of(["1.1"])[0].part) as gpu:
        device = gpu.device
        found["about"] |= {"device": device.name, "driver": gpu.driver}
    pytorch, end = PyTorch(), begun + options.seconds
    try:
        found["pytorch"] += make_ready(groups, device.target, options.compiled, begun + _READY * options.seconds)
        found["problems"] += _problems_of_pytorch(found["pytorch"])
        save()
        print(f"{len(groups)} races; ready after {time.monotonic() - begun:.0f} s {found['problems']}", flush=True)
        Run(found, device, pytorch, compiled=options.compiled, end=end, save=save).all(groups)
    finally:
        pytorch.end()
    save()
    print(f"{len(found['parts'])} parts, {len(found['problems'])} problems, {time.monotonic() - begun:.0f} s")
    return 1 if found["problems"] else 0


def _problems_of_pytorch(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row.get("of_tolerance", 0.0) > 1:
            yield f"{row['label']}: PyTorch errs by {row['of_tolerance']} of what is allowed"
        if "of_tolerance_failed" in row:
            yield f"{row['label']}: {row['of_tolerance_failed']}"


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=[str(number) for number in range(1, 11)], help="puzzles or parts")
    parser.add_argument("--seconds", type=float, default=270.0, help="after which no race begins")
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
