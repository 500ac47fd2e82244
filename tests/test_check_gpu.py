"""A check on a GPU that is none: what the hardware cannot place, the software GPU says on which line."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from grader import check as checking
from grader.cache import ToolMissing
from grader.catalog import Located, LocatedPuzzle, load_catalog
from grader.check import Options, Submission, check_part
from grader.closing import Closing
from grader.cuda import pytorch_rival, rivals, session
from grader.cuda.child import Child
from grader.cuda.timing import Lap
from grader.evidence import Goal
from grader.explain import Observation
from grader.puzzle import Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32
from grader.timed import Progress, TimedPart
from grader.tools import TorchLoading, default_tools
from grader.trial import Ran
from grader.verdict import PartVerdict, Stage, State, Timing, Verdict
from tests.judging import ROOT

SCHEMA = json.loads((ROOT / "docs" / "verdict.schema.json").read_text(encoding="utf-8"))
PRETENDED = (sys.executable, "-m", "tests.pretend_gpu")
STOPPED = 13  # the size at which the pretended GPU stops with an illegal address
SOURCE = """\
extern "C" __global__ void add(const float* a, const float* b, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
    FAULT
}

// --- your code ---
extern "C" int vector_add(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return 0;
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
// --- end ---
"""
WITH_SMALL_FAULT = SOURCE.replace("FAULT", "if (n == 7 && i == 0) out[n + 2] = 1.f;")
FAULT_LINE = 4


RIGHT = SOURCE.replace("FAULT", "")


class Reference(Closing):
    """A rival that takes as long as the pretended kernel, 2 ms, or so many times as long."""

    name = "reference"
    what = "the course's solution"

    def __init__(self, times: float) -> None:
        self._ms = 2.0 * times

    def lap(self, inputs: int) -> Lap:
        return Lap(self._ms, self._ms)

    def close(self) -> None:
        pass


def part(**changes: Any) -> Part:
    given: dict[str, Any] = {
        "params": [In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
        "reference": lambda a, b: a + b,
        "groups": {"some": [Case(n=256), Case(n=300)], "few": [Case(n=5)]},
        "bench": Case(n=STOPPED),
        "work": lambda n: Work(12 * n, n),
        "tolerance": Tolerance(2.0**-22, why="one rounding"),
        "lesson": "Add.",
    }
    return Part("vector_add", **(given | changes))


def pretend(monkeypatch: pytest.MonkeyPatch, *mode: str) -> None:
    gpu = functools.partial(session.RealGPU, seconds=5.0, command=(*PRETENDED, *mode))
    monkeypatch.setattr(session, "RealGPU", gpu)


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., PartVerdict]:
    monkeypatch.setattr(checking, "why_not", lambda: None)
    monkeypatch.setattr(pytorch_rival, "pytorch_ahead", lambda located: None)
    monkeypatch.setattr(TimedPart, "_rivals", lambda self, started, sets: ())
    pretend(monkeypatch)

    def judged(
        source: str, asked: Part | None = None, progress: Progress = print, *, compiled: bool = False
    ) -> PartVerdict:
        asked = asked or part()
        folder, solutions = tmp_path / "puzzles" / "puzzle_01_add", tmp_path / "solutions"
        folder.mkdir(parents=True, exist_ok=True)
        solutions.mkdir(exist_ok=True)
        located = Located(asked, LocatedPuzzle(Puzzle("Add", [asked]), 1, folder.name, folder, solutions), 1)
        located.solution_path.write_text(RIGHT)
        path = folder / "1_vector_add.cu"
        path.write_text(source)
        submission = Submission(located, path, "1_vector_add.cu")
        return check_part(submission, Options(seed=7, compiled=compiled), default_tools(), TorchLoading(), progress)

    return judged


def test_a_fault_at_full_size_is_placed_by_the_software_gpu_at_a_small_one(
    judge: Callable[..., PartVerdict],
) -> None:
    verdict = judge(WITH_SMALL_FAULT)
    assert verdict.state is State.wrong
    (finding,) = verdict.findings
    assert (finding.kind, finding.line) == ("out_of_bounds_write", FAULT_LINE)
    assert finding.message.startswith("On a GPU this went wrong: A kernel read or wrote memory that is not there")
    assert "The software GPU does, at n = 7: " in finding.message
    assert "`out[9]`" in finding.message
    assert verdict.cases[-1].device == "Pretended GPU"
    assert not verdict.cases[-1].passed
    assert verdict.timing is None


def test_a_fault_that_the_software_gpu_never_sees_is_told_as_the_hardware_has_it(
    judge: Callable[..., PartVerdict],
) -> None:
    verdict = judge(RIGHT)
    (finding,) = verdict.findings
    assert finding.kind == "device_trap"
    assert "a fault that the software GPU had not found" in finding.message


def test_a_fault_in_a_small_case_is_placed_as_well(judge: Callable[..., PartVerdict]) -> None:
    asked = part(bench=Case(n=2000), groups={"some": [Case(n=1), Case(n=256), Case(n=STOPPED)]})
    verdict = judge(WITH_SMALL_FAULT, asked)
    (finding,) = verdict.findings
    assert (finding.kind, finding.line) == ("out_of_bounds_write", FAULT_LINE)
    assert "The software GPU does, at n = 7: " in finding.message
    assert (verdict.not_reached, [case.passed for case in verdict.cases]) == ((), [True, True, False])


@pytest.mark.parametrize("missing", ["driver", "bindings"])
def test_a_gpu_that_cannot_be_used_is_told_of_once_the_part_is_right(
    judge: Callable[..., PartVerdict], monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    words = "libcuda" if missing == "driver" else "pip install"
    if missing == "driver":
        pretend(monkeypatch, "no_driver")
    else:
        monkeypatch.setattr(checking, "why_not", lambda: "Type pip install.")
        monkeypatch.setattr(checking, "has_device", lambda: True)
    verdict = judge(RIGHT)
    assert (verdict.state, verdict.device, verdict.timing) == (State.passed, "software", None)
    assert words in (verdict.untimed or "")


# ---- a part that is right -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("times", "medal"), [(0.9, "silver"), (0.3, None)])
def test_a_right_part_is_timed_in_turn_and_gets_its_medal(
    judge: Callable[..., PartVerdict], monkeypatch: pytest.MonkeyPatch, times: float, medal: str | None
) -> None:
    monkeypatch.setattr(TimedPart, "_rivals", lambda self, started, sets: [Reference(times)])
    verdict = judge(RIGHT, part(bench=Case(n=2000)))
    timing = verdict.timing
    assert verdict.state is State.passed
    assert timing is not None
    assert (timing.device, timing.target, timing.medal) == ("Pretended GPU", 90, medal)
    assert [rival.name for rival in timing.rivals] == ["reference"]
    assert set(timing.hashes) >= {"statement", "source", "reference", "cubin", "nvcc", "driver", "device"}
    assert verdict.cases[-1].checked == 2000
    document = json.loads(Verdict("puzzle_01_add", "Add", (verdict,)).to_json())
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)


def test_the_race_is_told_of_while_it_runs(judge: Callable[..., PartVerdict]) -> None:
    told: list[str] = []
    judge(RIGHT, part(bench=Case(n=2000)), progress=told.append)
    assert any("round 5" in sentence for sentence in told)


def test_a_part_whose_goal_is_open_is_timed_and_has_no_medal(
    judge: Callable[..., PartVerdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimedPart, "_rivals", lambda self, started, sets: [Reference(1.0)])
    goal = Goal("never", "goal_missed", "It is never reached.", lambda evidence: "Never.")
    verdict = judge(RIGHT, part(bench=Case(n=2000), goals=[goal]))
    assert verdict.state is State.goal_open
    assert verdict.timing is not None
    assert verdict.timing.medal is None


def test_the_time_of_what_was_wrong_in_the_race_is_not_told(
    judge: Callable[..., PartVerdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    raced = TimedPart.run

    def wrong_in_the_race(self: TimedPart, seed: int) -> tuple[Ran, Timing | None]:
        ran, timing = raced(self, seed)
        assert timing is not None
        return replace(ran, observations=[Observation("wrong_values")], stage=Stage.compare), timing

    monkeypatch.setattr(TimedPart, "run", wrong_in_the_race)
    verdict = judge(RIGHT, part(bench=Case(n=2000)))
    assert (verdict.state, verdict.timing, verdict.untimed) == (State.wrong, None, None)


def test_once_the_race_is_over_the_gpu_is_not_started_again(
    judge: Callable[..., PartVerdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, ...]] = []

    def child(command: tuple[str, ...]) -> Child:
        started.append(command)
        return Child(command)

    monkeypatch.setattr("grader.cuda.session.Child", child)
    assert judge(RIGHT, part(bench=Case(n=2000))).timing is not None
    assert len(started) == 1


def test_a_race_that_cannot_be_held_leaves_a_right_part_right(
    judge: Callable[..., PartVerdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(self: TimedPart, seed: int) -> None:
        raise ToolMissing("the GPU is gone")

    monkeypatch.setattr(TimedPart, "run", missing)
    verdict = judge(RIGHT, part(bench=Case(n=2000)))
    assert (verdict.state, verdict.timing, verdict.untimed) == (State.passed, None, "The GPU is gone.")


def test_a_kernel_that_the_software_gpu_cannot_run_is_judged_by_the_gpu_alone(
    judge: Callable[..., PartVerdict],
) -> None:
    needs_a_gpu = SOURCE.replace(
        "FAULT", 'asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");'
    )
    verdict = judge(needs_a_gpu, part(bench=Case(n=2000)))
    assert (verdict.state, verdict.findings) == (State.passed, ())
    assert {case.device for case in verdict.cases if case.checked} == {"Pretended GPU"}
    assert verdict.timing is not None


# ---- against everybody ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_solution", "names"), [(False, ["reference", "pytorch", "ceiling"]), (True, ["pytorch", "ceiling"])]
)
def test_a_file_is_raced_against_everybody_and_the_solution_not_against_itself(
    monkeypatch: pytest.MonkeyPatch, is_solution: bool, names: list[str]
) -> None:
    command = (*PRETENDED, "--kernels", "tests.rival_kernels")
    for module in (session, rivals):
        monkeypatch.setattr(module, "RealGPU", functools.partial(session.RealGPU, command=command))
    monkeypatch.setattr(pytorch_rival, "COMMAND", (sys.executable, "-m", "tests.idle_rival"))
    monkeypatch.setattr(checking, "why_not", lambda: None)
    located = load_catalog(ROOT).resolve("1.2")[1]
    assert located is not None
    small = replace(located.part, bench=Case(n=4096), groups={"some": [Case(n=256)]}, far=None, goals=())
    submission = Submission(replace(located, part=small), located.solution_path, "2_vector_add.cu", is_solution)
    verdict = check_part(submission, Options(seed=7), default_tools(), TorchLoading())
    assert verdict.timing is not None
    assert [rival.name for rival in verdict.timing.rivals] == names
    assert (verdict.timing.medal, verdict.timing.of_limit) == (None if is_solution else "gold", 0.5)
    assert verdict.timing.left_out == {}


@pytest.mark.parametrize("compiled", [False, True])
def test_torch_compile_is_a_rival_where_it_is_asked_for(
    judge: Callable[..., PartVerdict], monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    asked: list[bool] = []

    def nobody(*_: object, compiled: bool, **others: object) -> list[Reference]:
        asked.append(compiled)
        return []

    monkeypatch.undo()
    monkeypatch.setattr(rivals, "rivals_of", nobody)
    monkeypatch.setattr(checking, "why_not", lambda: None)
    monkeypatch.setattr(pytorch_rival, "pytorch_ahead", lambda located: None)
    pretend(monkeypatch)
    judge(RIGHT, part(bench=Case(n=2000)), compiled=compiled)
    assert asked == [compiled]
