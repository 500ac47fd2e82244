"""The process of the software GPU: whatever becomes of it, the grader goes on; and it is locked in."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from grader.build import Build, build, build_library
from grader.catalog import load_catalog
from grader.check import Options, Submission, check_part
from grader.puzzle import Case, In, Out, Part, Scalar, Tolerance, Work, f32, i32
from grader.record import record
from grader.record.plan import Plan
from grader.simt.process import MachineDied, MachineProcess
from grader.simt.remote import Limits
from grader.simt.software import RunResult, SoftwareGPU
from grader.tools import TorchLoading, default_tools
from grader.verdict import State
from tests.judging import ROOT

SOURCE = ROOT / "tests" / "kernels" / "faults.cu"
_N = 100
_NO_END = 1 << 62  # instructions
_ROLES = {"x": "in", "out": "out"}


@pytest.fixture(scope="module")
def built() -> Build:
    return build(SOURCE)


def plan_of(built: Build, kernel: str) -> Plan:
    part = Part(
        f"{kernel}_entry",
        params=[In("x", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
        reference=lambda x: x,
        groups={"all": [Case(n=_N)]},
        bench=Case(n=_N),
        work=lambda n: Work(bytes=8 * n, flops=0),
        tolerance=Tolerance(0.0, why="not compared"),
        lesson="",
    )
    recording = record(built, part, Case(n=_N))
    assert not recording.findings
    return recording.plan


@pytest.fixture(scope="module")
def endless(built: Build) -> Plan:
    return plan_of(built, "endless")


@pytest.fixture(scope="module")
def honest(built: Build) -> Plan:
    return plan_of(built, "past_the_end_ok")


def memory() -> dict[str, torch.Tensor]:
    return {"x": torch.rand(_N), "out": torch.full((_N,), float("nan"))}


def run_without_end(gpu: SoftwareGPU, endless: Plan) -> RunResult:
    return gpu.run(endless, memory(), roles=_ROLES, workers=1, budget=_NO_END, launch_budget=_NO_END)


def runs_right(gpu: SoftwareGPU, honest: Plan) -> bool:
    held = memory()
    result = gpu.run(honest, held, roles=_ROLES)
    return result.findings == [] and torch.equal(held["out"], held["x"])


def line_of(text: str) -> int:
    return 1 + next(i for i, line in enumerate(SOURCE.read_text().splitlines()) if line.startswith(text))


def check_is_told(result: RunResult, variant: str) -> None:
    """That the only finding is that this launch could not be judged, and why."""
    (finding,) = result.findings
    assert (finding.kind, finding.facts["variant"]) == ("unsupported", variant)
    assert "endless" in finding.kernel
    assert finding.line == line_of("ENTRY(endless,")


@contextlib.contextmanager
def hit_soon(pid: int, number: signal.Signals) -> Iterator[None]:
    """Sends a signal to a process shortly after."""
    timer = threading.Timer(0.2, os.kill, (pid, number))
    timer.start()
    try:
        yield
    finally:
        timer.join()


@contextlib.contextmanager
def hit_when_busy(worker: int, pid: int, number: signal.Signals) -> Iterator[None]:
    """Sends a signal to `pid` once the process `worker` has computed for a while: then `pid` waits for its answer."""

    def ticks() -> int:
        fields = Path(f"/proc/{worker}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])  # of its own, in user and system mode

    def hit(before: int) -> None:
        for _ in range(600):
            if ticks() > before + 10:
                os.kill(pid, number)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=hit, args=(ticks(),))
    thread.start()
    try:
        yield
    finally:
        thread.join()


# ---- its death ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "variant"), [(signal.SIGSEGV, "signal"), (signal.SIGABRT, "signal"), (signal.SIGKILL, "killed")]
)
def test_a_process_that_dies_is_told_and_the_next_run_has_a_fresh_one(
    built: Build, endless: Plan, honest: Plan, number: signal.Signals, variant: str
) -> None:
    gpu = SoftwareGPU(built)
    before = gpu.pid
    with hit_soon(before, number):
        result = run_without_end(gpu, endless)
    check_is_told(result, variant)
    if variant == "signal":
        assert result.findings[0].facts["signal"] == number.name
    assert result.writer_line("out", 0) is None
    assert runs_right(gpu, honest)
    assert gpu.pid != before


def test_a_process_that_is_late_is_ended(built: Build, endless: Plan, honest: Plan) -> None:
    gpu = SoftwareGPU(built, Limits(seconds=0.1, grace=0.1))
    begun = time.monotonic()
    check_is_told(run_without_end(gpu, endless), "late")
    assert time.monotonic() - begun < 5
    assert runs_right(gpu, honest)


def test_a_process_that_takes_too_much_memory_is_ended(built: Build, endless: Plan, honest: Plan) -> None:
    gpu = SoftwareGPU(built, Limits(head_room=-(1 << 30)))  # it has more than that already
    check_is_told(run_without_end(gpu, endless), "memory")
    assert runs_right(SoftwareGPU(built), honest)


def test_memory_that_it_may_not_have_is_refused(built: Build, honest: Plan) -> None:
    gpu = SoftwareGPU(built, Limits(head_room=1 << 20))
    (finding,) = gpu.run(plan_of(built, "large_variable_ok"), memory(), roles=_ROLES).findings
    assert finding.facts["variant"] in ("refused", "memory", "signal")
    assert runs_right(SoftwareGPU(built), honest)


def test_an_interruption_leaves_nothing_half_done(built: Build, endless: Plan, honest: Plan) -> None:
    gpu = SoftwareGPU(built)
    with pytest.raises(KeyboardInterrupt), hit_when_busy(gpu.pid, os.getpid(), signal.SIGINT):
        run_without_end(gpu, endless)
    assert runs_right(gpu, honest)


def test_it_ends_with_the_grader(built: Build) -> None:
    program = "import os, signal; from grader.simt.process import acquire; print(acquire('a').pid, flush=True); "
    program += "os.kill(os.getpid(), signal.SIGKILL)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    status = Path(f"/proc/{int(done.stdout)}/status")
    for _ in range(100):
        if not status.exists() or "State:\tZ" in status.read_text():
            return
        time.sleep(0.05)
    pytest.fail("the process outlives the grader")


def test_a_file_that_could_not_be_judged_is_not_called_wrong() -> None:
    part = load_catalog(ROOT).resolve("1.2")[1]
    assert part is not None
    hurried = Limits(seconds=0.02, grace=0.0)
    tools = replace(default_tools(), software_gpu=lambda built: SoftwareGPU(built, hurried))
    source = ROOT / "tests" / "wrong" / "puzzle_01_vector_add" / "never_moves_on.cu"
    verdict = check_part(Submission(part, source, source.name), Options(seed=1), tools, TorchLoading())
    assert verdict.state is State.unchecked
    (finding,) = verdict.findings
    assert finding.kind == "unsupported"
    assert finding.line is not None
    assert verdict.reason == finding.message
    assert "_Z" not in finding.message


# ---- its life -------------------------------------------------------------------------------------------------------


def test_a_process_never_sees_the_program_of_another_file(built: Build) -> None:
    used = {SoftwareGPU(built).pid for _ in range(4)}
    assert len(used) == 1
    other = build(ROOT / "tests" / "wrong" / "puzzle_01_vector_add" / "subtracts.cu")
    assert SoftwareGPU(other).pid not in used
    assert SoftwareGPU(built).pid in used


def test_two_devices_work_in_two_processes_and_the_next_one_reuses_one(built: Build, honest: Plan) -> None:
    first, second = SoftwareGPU(built), SoftwareGPU(built)
    assert first.pid != second.pid
    assert runs_right(first, honest)
    assert runs_right(second, honest)
    used = {first.pid, second.pid}
    del first, second
    gc.collect()
    assert SoftwareGPU(built).pid in used


def test_module_variables_keep_their_values_from_run_to_run_on_one_device_only(built: Build) -> None:
    plan = plan_of(built, "counts_its_runs_ok")

    def counted(gpu: SoftwareGPU) -> float:
        held = memory()
        assert gpu.run(plan, held, roles=_ROLES).findings == []
        return float(held["out"][0])

    gpu = SoftwareGPU(built)
    assert [counted(gpu), counted(gpu)] == [1.0, 2.0]
    assert counted(SoftwareGPU(built)) == 1.0
    assert counted(gpu) == 3.0


def test_hundreds_of_runs_leave_nothing_behind(built: Build, honest: Plan) -> None:
    def held() -> tuple[int, int, int]:
        gc.collect()
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
        return resident, len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    def run(times: int) -> None:
        for _ in range(times):
            gpu = SoftwareGPU(built)
            assert runs_right(gpu, honest)
            assert runs_right(gpu, honest)

    run(50)
    before = held()
    run(250)
    after = held()
    assert after[0] - before[0] < 8 << 20
    assert after[1:] == before[1:]


def test_buffers_come_and_go_unharmed_whatever_their_size(built: Build, honest: Plan) -> None:
    gpu = SoftwareGPU(built)
    for count in (1 << 20, 0, 3, 1 << 21):
        held = {"x": torch.rand(_N), "out": torch.full((_N,), float("nan")), "spare": torch.rand(count)}
        buffers = (*honest.buffers, replace(honest.buffers[1], name="spare", address=1 << 40, bytes=4 * count))
        kept = held["spare"].clone()
        gpu.run(replace(honest, buffers=buffers), held, roles={**_ROLES, "spare": "inout"})
        assert torch.equal(held["out"], held["x"])
        assert torch.equal(held["spare"], kept)


# ---- what it cannot do ----------------------------------------------------------------------------------------------

_TRY = """
import ctypes, errno, mmap, os, resource, signal, socket, sys, threading
confine = ctypes.CDLL(sys.argv[1]).grader_confine
confine.restype = ctypes.c_char_p
library = ctypes.CDLL(None, use_errno=True)
library.mmap.restype = ctypes.c_void_p
page = library.mmap(None, 4096, 3, 0x22, -1, 0)
assert confine() is None

def refused(what):
    try:
        what()
    except OSError as error:
        return error.errno in (errno.EPERM, errno.EMFILE)
    except ValueError:  # what Python makes of EPERM where limits are set
        return True
    return False

def protect():
    if library.mprotect(ctypes.c_void_p(page), 4096, 7) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")

tries = {
    "open a file": lambda: os.open(sys.argv[1], os.O_RDONLY),
    "make a file": lambda: os.open("/tmp/made", os.O_WRONLY | os.O_CREAT),
    "open a socket": lambda: socket.socket(),
    "start a process": os.fork,
    "become a program": lambda: os.execv("/bin/true", ["/bin/true"]),
    "signal its parent": lambda: os.kill(os.getppid(), 0),
    "raise its own limits": lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    "make memory executable": protect,
    "map executable memory": lambda: mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7),
    "share memory": lambda: mmap.mmap(-1, 4096),
    "list a directory": lambda: os.listdir("/"),
}
for name, what in tries.items():
    print(name, "is refused" if refused(what) else "IS ALLOWED", flush=True)
done = []
thread = threading.Thread(target=done.append, args=(bytearray(64 << 20),))
thread.start()
thread.join()
print("a thread with memory", "works" if done else "FAILS", flush=True)
os.abort()
"""


def test_what_the_locked_process_cannot_do() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-c", _TRY, str(build_library("confinement"))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 12, done.stderr
    assert all(line.endswith(("is refused", "works")) for line in lines), lines
    assert done.returncode == -signal.SIGABRT


def test_nothing_but_what_it_needs_is_open_in_it(built: Build) -> None:
    secret = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(secret, True)
    process = MachineProcess()
    try:
        with contextlib.suppress(Exception):
            process.ask("create", raw=b"")
        opened = sorted(int(entry.name) for entry in Path(f"/proc/{process.pid}/fd").iterdir())
        assert len(opened) == 4  # three standard streams that lead nowhere, and the link
    finally:
        process.close()
        os.close(secret)


def test_a_closed_process_says_so() -> None:
    process = MachineProcess()
    process.close()
    with pytest.raises(MachineDied):
        process.ask("variable", "x")
