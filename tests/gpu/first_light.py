"""Puzzle 1 on a real GPU, by hand: `python -m tests.gpu.first_light [--out FOLDER] [--commit HASH]`.

Every part's solution, recorded at the addresses that the replay process reserved, in every small case: the values of
the replay against PyTorch, and bit for bit against the software GPU. Kernels that read out of bounds must not reach the
GPU; one that faults on it, and one that does not come to an end, must not harm what comes after. Then the times at full
size, beside torch.add and a copy. What was measured is written to first_light.json, in the form in which it lies under
results/h200/, and a log beside it. A step that fails does not stop the others.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from grader.build import Build, build, build_library
from grader.catalog import Located, load_catalog
from grader.check import Options, Submission, check_part
from grader.compare import compare
from grader.cuda.poison import poison_of
from grader.cuda.session import RealGPU, ReplayFailed
from grader.cuda.timing import gigabytes_per_second
from grader.cuda.trial import HOWS, replayed
from grader.inputs import draw_inputs, memory_for, poisoned
from grader.puzzle import Case
from grader.record import record
from grader.toolchain import find_toolchain
from grader.tools import TorchLoading, default_tools
from tests.gpu.alone import times_of
from tests.gpu.replays import Row, problems_of, same_bits

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
WRONG = ROOT / "tests" / "wrong" / "puzzle_01_vector_add"
SEED = 20_261_129
TIMED = ("vector_add", "vector_add_stride", "vector_add_float4", "vector_add_wide")
NO_NEW_STEP_AFTER = 400.0  # seconds
HANG_SECONDS = 4.0


class FirstLight:
    """One run of everything; `found` is what is written."""

    def __init__(self, folder: Path, commit: str | None) -> None:
        self.begun = time.monotonic()
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.log = (folder / "first_light.log").open("w", encoding="utf-8")
        self.parts = {located.part.name: located for located in load_catalog().resolve("1", None)[0].parts}
        self.builds: dict[Path, Build] = {}
        self.found: dict[str, Any] = {"about": about(commit), "problems": []}

    def run(self) -> bool:
        """Whether nothing failed and everything came out as it must."""
        self.step("gpu", self.gpu)
        self.step("builds", self.build_all)
        self.step("yardsticks", self.yardsticks)
        self.step("values", self.values)
        self.step("survival", self.survival)
        self.step("times", self.times)
        self.step("yardsticks again", self.yardsticks)
        self.step("refused", self.refused)
        self.step("command line", self.command_line)
        self.found["about"]["seconds"] = round(time.monotonic() - self.begun, 1)
        self.save()
        for line in table(self.found):
            self.say(line)
        return not self.found["problems"]

    def step(self, name: str, work: Callable[[], None]) -> None:
        """Runs a step, and saves what there is after it, whatever became of it."""
        begun = time.monotonic()
        if begun - self.begun > NO_NEW_STEP_AFTER:
            self.problem(f"{name}: no time was left")
            return
        self.say(f"---- {name}, at {begun - self.begun:.1f} s")
        try:
            work()
        except Exception as error:
            self.problem(f"{name}: {type(error).__name__}: {error}")
            self.say(traceback.format_exc())
        self.found.setdefault("seconds", {})[name] = round(time.monotonic() - begun, 1)
        self.save()

    def say(self, text: str) -> None:
        print(text, flush=True)
        print(text, file=self.log, flush=True)

    def problem(self, sentence: str) -> None:
        self.found["problems"].append(sentence)
        self.say(f"PROBLEM {sentence}")

    def save(self) -> None:
        (self.folder / "first_light.json").write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")

    # ---- steps --------------------------------------------------------------------------------------------------

    def gpu(self) -> None:
        """The child starts, finds the GPU and reserves addresses."""
        with RealGPU(self.parts["vector_add"].part) as gpu:
            facts = gpu.device
            self.target = facts.target
            layout = gpu.layout(Case(n=1))
            self.found["about"] |= {"device": facts.name, "driver": gpu.driver, "capability": facts.target / 10}
            self.found["about"] |= {"cuda_driver": facts.driver, "l2_bytes": facts.l2_bytes}
            self.found["about"]["multiprocessors"] = facts.multiprocessors
            self.found["addresses"] = [f"{address:#x}" for address in (*layout.first, layout.arenas[0])]
            self.say(f"{facts} at {self.found['addresses']}")

    def build_all(self) -> None:
        """Our own C++, and every source of this run, a few at a time."""
        self.found["about"]["nvcc"] = find_toolchain().version
        sources = [located.solution_path for located in self.parts.values()]
        sources += [HERE / "illegal_address.cu", HERE / "takes_its_time.cu"]
        with ThreadPoolExecutor(8) as pool:
            libraries = [pool.submit(build_library, name) for name in ("runtime", "recorder", "machine")]
            for library in libraries:
                self.say(f"{library.result()}")
            for built in pool.map(lambda source: build(source, target=self.target), sources):
                self.builds[built.source] = built
                self.say(f"{built.source.name}: sm_{built.target}, {built.seconds:.1f} s")

    def yardsticks(self) -> None:
        """torch.add and a copy; in turn with our own times, so that a drift would show."""
        command = [sys.executable, "-m", "tests.gpu.yardsticks", str(self.parts["vector_add"].part.bench.params["n"])]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        if ended.returncode:
            self.say(ended.stderr[-2000:])
            raise RuntimeError(ended.stderr.strip().splitlines()[-1][:200])
        self.found.setdefault("yardsticks", []).append(json.loads(ended.stdout))
        self.say(ended.stdout.strip())

    def values(self) -> None:
        """Every small case of every part, twice on fresh inputs."""
        for located in self.parts.values():
            row = Row(located.label, located.part.name)
            self.found.setdefault("values", []).append(row.plain)
            with RealGPU(located.part) as gpu:
                built = self.builds[located.solution_path]
                for line in problems_of(gpu, located.part, built, row, seed=SEED, bits_count=True):
                    self.problem(line)
            self.say(f"{row.plain}")

    def survival(self) -> None:
        """A kernel that faults and one that does not end each cost one process, and a right one runs right after."""
        part, case = self.parts["vector_add"].part, Case(n=1000)
        self.found["survival"] = rows = []
        with RealGPU(part, seconds=HANG_SECONDS) as gpu:
            for name, expected in (("illegal_address.cu", "fault"), ("takes_its_time.cu", "hang")):
                begun = time.monotonic()
                kind, sentence = self.failure(gpu, HERE / name, case)
                spent = time.monotonic() - begun
                after = time.monotonic()
                right = self.runs_right(gpu, case)
                rows.append({"file": name, "kind": kind, "sentence": sentence, "seconds": round(spent, 2)})
                rows[-1] |= {"right_afterwards": right, "seconds_afterwards": round(time.monotonic() - after, 2)}
                self.say(f"{rows[-1]}")
                if kind != expected or not right:
                    self.problem(f"{name}: {kind} ({sentence}), afterwards {'right' if right else 'wrong'}")

    def failure(self, gpu: RealGPU, source: Path, case: Case) -> tuple[str, str]:
        part = self.parts["vector_add"].part
        try:
            plan = record(self.builds[source], part, case, layout=gpu.layout(case)).plan
            gpu.load(plan, self.builds[source].cubin)
            replayed(gpu, part, memory_for(part, case, SEED), how="graph")
        except ReplayFailed as failed:
            return failed.kind, str(failed)
        return "none", "it ran to its end"

    def runs_right(self, gpu: RealGPU, case: Case) -> bool:
        located = self.parts["vector_add"]
        built = self.builds[located.solution_path]
        memory = memory_for(located.part, case, SEED)
        gpu.load(record(built, located.part, case, layout=gpu.layout(case)).plan, built.cubin)
        replayed(gpu, located.part, memory, how="graph")
        return same_bits(memory["out"], memory["a"] + memory["b"])

    def times(self) -> None:
        """The bench cases, each as a graph and call by call; what the last timed run wrote is judged."""
        first = self.parts[TIMED[0]].part
        inputs = draw_inputs(first, first.bench, SEED)
        expected = inputs["a"] + inputs["b"]
        checked = compare(first, first.bench, inputs, {"out": expected})
        self.say(f"one rounded addition against the reference in double: {checked.max_rel_error:.3g} relative")
        if checked.wrong:
            self.problem("the addition that outputs are compared with is wrong itself")
        del checked
        for name in TIMED:
            self.time_part(self.parts[name], inputs, expected)

    def time_part(self, located: Located, inputs: Mapping[str, torch.Tensor], expected: torch.Tensor) -> None:
        part, built = located.part, self.builds[located.solution_path]
        out = poisoned(part.results[0], part.bench)
        moved = part.work(n=int(part.bench.params["n"])).bytes
        with RealGPU(part) as gpu:
            gpu.load(record(built, part, part.bench, layout=gpu.layout(part.bench)).plan, built.cubin)
            gpu.fill(inputs)
            for how in reversed(HOWS):
                times = times_of(gpu, how, poison_of(part, {"out": out}, 0))
                gpu.read({"out": out})
                low, high = times.interval
                row = {
                    "part": part.name,
                    "label": located.label,
                    "how": how,
                    "ms": round(times.median, 5),
                    "interval_ms": [round(low, 5), round(high, 5)],
                    "gb_per_s": round(gigabytes_per_second(moved, times.median), 1),
                    "runs": len(times.ms),
                    "same_bits": same_bits(out, expected),
                    "sensors": times.sensors,
                }
                self.found.setdefault("times", []).append({"n": part.bench.params["n"], **row})
                self.say(f"{row}")
                if not row["same_bits"]:
                    self.problem(f"{part.name} {how}: wrong values after the timed runs")

    def refused(self) -> None:
        """Wrong kernels that read or write out of bounds: the software GPU says so, and the GPU never runs them."""
        loading, tools = TorchLoading(), default_tools()
        for expected in json.loads((WRONG / "expected.json").read_text(encoding="utf-8")):
            if "out_of_bounds_read" not in expected["kinds"]:
                continue
            source, located = WRONG / expected["file"], self.parts[expected["part"]]
            verdict = check_part(Submission(located, source, source.name), Options(SEED, "cuda"), tools, loading)
            kind = verdict.findings[0].kind if verdict.findings else str(verdict.reason)
            by = verdict.cases[-1].device if verdict.cases else "nobody"
            row = {"file": source.name, "part": located.part.name, "kind": kind, "found_by": by}
            self.found.setdefault("refused", []).append(row)
            self.say(f"{row}")
            if kind not in expected["kinds"] or by != "software":
                self.problem(f"{source.name}: {kind}, by {by}")

    def command_line(self) -> None:
        """What a learner types."""
        command = [sys.executable, "-m", "grader", "check", "1.2", "--solution", "--json"]
        begun = time.monotonic()
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        verdict = json.loads(ended.stdout)["parts"][0]
        self.found["check"] = {
            "command": "grader check 1.2 --solution --json",
            "exit_code": ended.returncode,
            "state": verdict["state"],
            "device": verdict["device"],
            "timing": verdict["timing"],
            "seconds": round(time.monotonic() - begun, 1),
            "reason": verdict["reason"],
        }
        self.say(f"{self.found['check']} {verdict['seconds']} {ended.stderr[-1000:]}")
        if ended.returncode or verdict["timing"] is None:
            self.problem(f"grader check: exit code {ended.returncode}, {verdict['state']}, timing {verdict['timing']}")


def about(commit: str | None) -> dict[str, Any]:
    """Where and when, and with what."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit or _git_commit(),
        "command": "python -m tests.gpu.first_light",
        "torch": torch.__version__,
        "cuda_bindings": _version("cuda-bindings"),
        "nvcc": find_toolchain().version,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}, {os.cpu_count()} cores",
        "method": "device events around the replay of a captured graph (or of its calls, 'stream'), L2 flushed before "
        "by a memset of 256 MiB or more, persisting lines reset, results poisoned before every run; the median and its "
        "95 % interval from order statistics; GB/s count the bytes that must be moved, each once",
    }


def _git_commit() -> str | None:
    try:
        ended = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return ended.stdout.strip() or None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def table(found: Mapping[str, Any]) -> Iterator[str]:
    """What there is to read at the end."""
    of = found["about"]
    yield f"==== {of.get('device')}, driver {of.get('driver')}, {of['date']}, {of.get('seconds')} s"
    yield f"{'values':<20}{'cases':>6}{'replays':>9}{'right':>7}{'= software':>12}{'max rel':>10}"
    for row in found.get("values", []):
        error = f"{row['max_rel_error']:.1e}"
        yield (
            f"{row['part']:<20}{row['cases']:>6}{row['replays']:>9}{row['right']:>7}"
            f"{row['bits_of_the_software_gpu']:>12}{error:>10}"
        )
    for row in found.get("survival", []):
        yield f"{row['file']:<28}{row['kind']}, {row['seconds']} s; right afterwards: {row['right_afterwards']}"
    for row in found.get("refused", []):
        yield f"{row['file']:<28}{row['kind']}, found by {row['found_by']}"
    yield f"{'times':<28}{'ms':>9}{'95 % interval':>20}{'GB/s':>8}{'runs':>6}"
    for yardstick in found.get("yardsticks", []):
        for name in ("torch.add", "copy"):
            yield _timed_row(name, yardstick[name])
    for row in found.get("times", []):
        right = "" if row["same_bits"] else " WRONG"
        yield _timed_row(f"{row['part']} {row['how']}", row) + f"  {row['sensors'].get('sm_mhz', '')}{right}"
    yield f"check {found.get('check')}"
    for sentence in found["problems"]:
        yield f"PROBLEM {sentence}"
    yield "all well" if not found["problems"] else f"{len(found['problems'])} problems"


def _timed_row(name: str, row: Mapping[str, Any]) -> str:
    low, high = row["interval_ms"]
    return f"{name:<28}{row['ms']:>9.4f}{f'{low:.4f}..{high:.4f}':>20}{row['gb_per_s']:>8.0f}{row['runs']:>6}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "first_light")), help="where to write")
    parser.add_argument("--commit", help="what is measured, where this is no git checkout")
    arguments = parser.parse_args()
    return 0 if FirstLight(arguments.out, arguments.commit).run() else 1


if __name__ == "__main__":
    sys.exit(main())
