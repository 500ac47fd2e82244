"""The attacks on a real GPU, by hand: `python -m tests.gpu.red_team [--out FILE] [--seconds N] [NAME...]`.

Three kinds of rows, each with what came of it without the defence, with it, and of the twin:

laps       attacks on timed runs (tests/red_team/laps): one that succeeds takes less than 0.8 of its twin's time. Those
           on the L2 are shown by a careless harness, as below, since a lap without a flush shows the host at work too:
           called a second time, one succeeds in less than 0.9 of its twin's time after a flush
values     attacks on results (tests/red_team/device): replayed twice on fresh inputs and judged by values alone; what
           succeeds without a defence is shown by the tests, on the software GPU
bare       launches that a careless harness does not see: the entry is called in this process, with the real runtime,
           and timed by two events on the stream that it was given

Every row is written as soon as it is there; one that fails does not stop the others. `succeeds` says whether the attack
does so without its defence, on this hardware; rows in which it does not, or that could not be run, are named in
`not_shown`. `problems` names those in which it succeeds with its defence, or its twin does not pass.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

from grader.build import Build
from grader.cache import ToolMissing
from grader.closing import Closing
from grader.cuda.bench import Bench
from grader.cuda.session import RealGPU
from grader.cuda.trial import CudaTrial
from grader.puzzle import Case
from grader.record import record
from grader.toolchain import find_toolchain
from tests.gpu.bare import about
from tests.red_team.attacks import attacks
from tests.red_team.building import FOLDER, build_with, built_alone, built_together
from tests.red_team.careless import FEW, N, known_answers, part_named
from tests.red_team.laps import QUICK, WITHOUT, Outcome, defences_without, outcome_of

LARGE = 1 << 20  # elements of a timed run
SMALL = 1 << 17  # of one that needs twice as much room behind its result, in the same 2 MiB
MIDDLE = 1 << 19  # of one that needs as much in a heap of 8 MiB
FEW_A_BLOCK = 1 << 14  # of one that has a kilobyte a multiprocessor
WIDE = 1 << 21  # of one that is bound by memory: two inputs of 8 MiB fit into the L2
BARE_SIZE = 1 << 24  # of a call without a replay, whose launch alone takes as long as some megabytes
SECONDS = 5.0  # for a replay
RUNS = 20
FLUSH_BYTES = 256 << 20
SPINS = 400_000  # cycles
MOST_HANGS = 2
KEPT_IN_L2 = "keeps_lines_in_the_l2"
FROM_L2 = ("finds_a_warm_l2", KEPT_IN_L2)
SIZES = {
    "keeps_answers_behind_its_result": SMALL,
    "finds_old_heap": MIDDLE,
    "finds_old_reserved_memory": FEW_A_BLOCK,
    **dict.fromkeys(FROM_L2, WIDE),
}
# Of its twin's time, at most, where an attack succeeds: the L2 is faster than memory, but not that much.
OF_HONEST, OF_COLD = 0.8, 0.9
BARE = ("works_on_another_stream", "asks_for_too_much_shared_memory", "calls_the_host_later")


@dataclass
class RedTeam:
    """One run; `found` is what is written to `out`."""

    out: Path
    wanted: Sequence[str]
    seconds: float  # after which no row begins
    found: dict[str, Any] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)
    target: int = 0
    hangs: int = 0  # of honest kernels, one after the other
    started: dict[str, Three] = field(default_factory=dict)  # of rows to come
    gpu: RealGPU = field(init=False)  # of all the values
    work: Path = field(init=False)  # where the careless harness has its libraries

    def run(self) -> bool:
        """Whether everything came out as it should."""
        self.found = {
            "about": about("tests.gpu.red_team"),
            "bare": {},
            "values": {},
            "laps": {},
            "not_shown": [],
            "problems": [],
        }
        with RealGPU(part_named("any"), seconds=SECONDS) as self.gpu, tempfile.TemporaryDirectory() as work:
            self.work = Path(work)
            self.target = self.gpu.device.target
            self.build()
            try:
                self.rows()
            finally:
                for three in self.started.values():
                    three.__exit__()
        self.found["about"]["seconds"] = round(time.monotonic() - self.begun, 1)
        self.save()
        return not self.found["problems"]

    def rows(self) -> None:
        """All rows that are wanted, for as long as there is time."""
        for kind, names, row in (
            ("bare", BARE, self.bare_row),
            ("values", [*attacks("device"), "behaves_while_it_is_watched"], self.value_row),
            ("laps", WITHOUT, self.lap_row),
        ):
            for name in names:
                if self.wanted and name not in self.wanted:
                    continue
                if self.hangs < MOST_HANGS and time.monotonic() - self.begun < self.seconds:
                    self.row(kind, name, partial(row, name))
                else:
                    self.found["not_shown"].append(name)
                    self.say(f"{kind:6} {name:34} left out")

    def build(self) -> None:
        """Everything that is compiled, at once."""
        files = sorted(path.stem for path in (FOLDER / "laps").glob("*.cu"))
        with ThreadPoolExecutor() as pool:
            alone = pool.map(partial(built_alone, target=self.target), files)
            sources = [*(f"device/{name}" for name in BARE), *(f"laps/{name}" for name in FROM_L2)]
            for_careless = pool.map(partial(bare_library, work=self.work), sources)
            built_together("device", self.target, known_answers())
            for _ in (*alone, *for_careless):
                pass
        self.say(f"built after {time.monotonic() - self.begun:.0f} s")

    def row(self, kind: str, name: str, make: Callable[[], dict[str, Any]]) -> None:
        """One row, whatever happens."""
        try:
            row = self.found[kind][name] = make()
            held, shown = row["held"] and row["twin_passes"], row.get("succeeds", True)
            words = json.dumps(row)
        except Exception as error:
            held, shown, words = True, False, f"{type(error).__name__}: {error}"
        if not held:
            self.found["problems"].append(name)
        if not shown:
            self.found["not_shown"].append(name)
        self.save()
        verdict = "BAD" if not held else "ok" if shown else "not shown"
        self.say(f"{time.monotonic() - self.begun:4.0f} s {kind:6} {name:32} {verdict:9} {words[:160]}")

    def save(self) -> None:
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.out.write_text(json.dumps(self.found, indent=2) + "\n", encoding="utf-8")

    def say(self, line: str) -> None:
        print(line, flush=True)

    # ---- timed runs ----

    def lap_row(self, name: str) -> dict[str, Any]:
        """Without its defences it passes in less time than its twin; with them it gains nothing."""
        if name in FROM_L2:
            return self.l2_row(name)
        with self.started.pop(name, None) or Three(name) as three:
            three.wait()
            self.start_after(name)
            twin, off, on = (run.outcome(self.target) for run in three.runs)
        self.hangs = self.hangs + 1 if "endless_loop" in twin.findings else 0
        gains = [outcome.gains(twin.ms, share=OF_HONEST) for outcome in (off, on)]
        return {
            "n": SIZES.get(name, LARGE),
            "without": list(WITHOUT[name]),
            "off": told(off),
            "on": told(on),
            "twin": told(twin),
            "succeeds": gains[0],
            "held": not gains[1],
            "twin_passes": twin.passed,
        }

    def l2_row(self, name: str) -> dict[str, Any]:
        """In a careless harness it takes less time than its twin after a flush; in a lap it gains nothing."""
        with Three(name) as three:
            three.wait()
            twin, _, lap = (run.outcome(self.target) for run in three.runs)
        library, n = self.work / f"{name}.so", SIZES[name]
        off = called_again(library, name, n, flushed=name == KEPT_IN_L2)
        on = called_again(library, name, n, flushed=True)
        cold = called_again(library, f"{name}_twin", n, flushed=True)
        return {
            "n": n,
            "off": told(Outcome((), ms=off)),
            "on": told(Outcome((), ms=on)),
            "cold_ms": round(cold, 5),
            "lap": told(lap),
            "twin": told(twin),
            "succeeds": off < OF_COLD * cold,
            "held": not lap.gains(twin.ms, share=OF_COLD),
            "twin_passes": twin.passed,
        }

    def start_after(self, name: str) -> None:
        """Starts what the next row needs, unless that would show in short times."""
        following = [other for other in WITHOUT if not self.wanted or other in self.wanted]
        for later in following[following.index(name) + 1 :][:1]:
            if not {name, later} & set(FROM_L2):
                self.started[later] = Three(later)

    # ---- values ----

    def value_row(self, name: str) -> dict[str, Any]:
        """What the values of two replays say, where the recorder lets it come to them."""
        on, twin = self.judged(name), self.judged(f"{name}_twin")
        return {"on": on, "twin": twin, "held": bool(on), "twin_passes": not twin}

    def judged(self, entry: str) -> list[str]:
        """The kinds of what the recorder finds, or else of what two replays on the GPU show."""
        case, part = Case(n=FEW if entry.startswith("knows_the_seed") else N), part_named(entry)
        built = self.build_of(entry)
        recording = record(built, part, case, layout=self.gpu.layout(case))
        if recording.findings:
            return [finding.kind for finding in recording.findings]
        trial = CudaTrial(part, "one size", case, built, recording.plan, 7, gpu=self.gpu)
        return [seen.kind for seen in trial.run_on_gpu().observations]

    def build_of(self, entry: str) -> Build:
        if entry.removesuffix("_twin") in attacks("laps"):
            return build_with(entry, self.target)
        return built_together("device", self.target, known_answers())

    # ---- a careless harness ----

    def bare_row(self, name: str) -> dict[str, Any]:
        """Called in this process and timed by events, it is right in no time; the recorder names what is wrong."""
        library = self.work / f"{name}.so"
        off, on, twin = bare(library, name), self.judged(name), bare(library, f"{name}_twin")
        gained = off["called_back"] if name == "calls_the_host_later" else off["ms"] < 0.5 * twin["ms"]
        told = {"succeeds": bool(off["right"] and gained), "held": bool(on), "twin_passes": twin["right"]}
        return {"off": off, "on": on, "twin": twin, **told}


def told(outcome: Outcome) -> dict[str, Any]:
    """An outcome as it is written."""
    return {"findings": list(outcome.findings), "refused": outcome.refused, "ms": round(outcome.ms, 5)}


class Three(Closing):
    """The twin, the attack without its defences, and the attack; each has a GPU of its own, which starts at once."""

    def __init__(self, name: str) -> None:
        n = SIZES.get(name, LARGE)
        self.runs = [Timed(f"{name}_twin", n), Timed(name, n, WITHOUT[name]), Timed(name, n)]

    def close(self) -> None:
        for run in self.runs:
            run.gpu.close()

    def wait(self) -> None:
        """Returns when all of them have started: none is timed meanwhile."""
        for run in self.runs:
            _ = run.gpu.device


class Timed:
    """An entry of `laps`, and a GPU without some defences."""

    def __init__(self, entry: str, n: int, without: Sequence[str] = ()) -> None:
        self.entry, self.case, self.without = entry, Case(n=n), without
        self.part = part_named(entry, bench=self.case)
        command = (sys.executable, "-m", "tests.gpu.open_replay", ",".join(without))
        self.gpu = RealGPU(self.part, seconds=SECONDS, command=command)

    def outcome(self, target: int) -> Outcome:
        """Recorded at this GPU's addresses, and timed."""
        built, gpu = build_with(self.entry, target), self.gpu
        recording = record(built, self.part, self.case, layout=gpu.layout(self.case))
        if recording.findings:
            return Outcome(tuple(finding.kind for finding in recording.findings))
        defences = defences_without(*self.without)
        return outcome_of(Bench(self.part, self.case, built, recording.plan, 7, gpu, QUICK, defences))


def bare_library(name: str, work: Path) -> None:
    """Builds the source, a path without its ending, with CUDA's own runtime, as anybody does."""
    source = FOLDER / f"{name}.cu"
    nvcc = str(find_toolchain().nvcc)
    options = ["-shared", "-Xcompiler=-fPIC", "-arch=native", "-std=c++17", "-cudart=shared", f"-I{FOLDER}"]
    command = [nvcc, *options, "-o", str(work / f"{source.stem}.so"), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def bare(library: Path, entry: str) -> dict[str, Any]:
    """Called with PyTorch's tensors on a stream of PyTorch's: milliseconds between two events there, and whether the
    result, in which an old one lies, is right once everything has ended.
    """
    called = ctypes.CDLL(str(library))
    function = called[entry]
    a, b = (torch.randn(BARE_SIZE, device="cuda") for _ in range(2))
    out, stream = a + b, torch.cuda.Stream()  # type: ignore[no-untyped-call]
    words = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (a, b, out)]
    times = []
    for _ in range(RUNS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()
        start.record(stream)
        function(*words, ctypes.c_int(BARE_SIZE), ctypes.c_void_p(stream.cuda_stream))
        called.cudaGetLastError()  # or PyTorch stumbles over what the entry has kept to itself
        stop.record(stream)
        torch.cuda.synchronize()
        times.append(float(start.elapsed_time(stop)))
    called_back = any(counted(called))
    return {"ms": round(median(times), 5), "right": torch.equal(out, a + b), "called_back": called_back}


def called_again(library: Path, entry: str, n: int, *, flushed: bool) -> float:
    """Milliseconds of a call that follows others at once, or after as much has been written as a flush does."""
    function = ctypes.CDLL(str(library))[entry]
    a, b, out = (torch.randn(n, device="cuda") for _ in range(3))
    other = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    words = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (a, b, out)]
    times = []
    for _ in range(RUNS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        function(*words, ctypes.c_int(n), stream)
        if flushed:
            other.zero_()
        torch.cuda._sleep(SPINS)  # type: ignore[no-untyped-call]  # the host gets ahead, and no gap is timed
        start.record()
        function(*words, ctypes.c_int(n), stream)
        stop.record()
        torch.cuda.synchronize()
        times.append(float(start.elapsed_time(stop)))
    return median(times)


def counted(called: ctypes.CDLL) -> Iterator[int]:
    """What `called_back`, a variable of one of the sources, has come to."""
    try:
        yield ctypes.c_int.in_dll(called, "called_back").value
    except ValueError:
        return


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("red_team.json"))
    parser.add_argument("--seconds", type=float, default=200.0, help="after which no row begins")
    parser.add_argument("names", nargs="*", help="these attacks only")
    options = parser.parse_args()
    try:
        return 0 if RedTeam(options.out, options.names, options.seconds).run() else 1
    except ToolMissing as missing:
        print(missing, file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
