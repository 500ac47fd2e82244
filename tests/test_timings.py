"""The script that times every solution, on a pretended GPU: who races whom, what is written, and what is a problem."""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from grader.catalog import Located, load_catalog
from grader.cuda import rivals
from grader.cuda.child import ReplayFailed
from grader.cuda.contest import Rule
from grader.cuda.driver import DeviceFacts
from grader.cuda.session import RealGPU
from grader.puzzle import Case
from tests.gpu import timed_group, timings
from tests.gpu.pytorch_ready import arguments, made_ready
from tests.gpu.solutions import parts_of
from tests.gpu.timed_group import PLACES, Group, Kept, PyTorch, groups_of
from tests.judging import ROOT
from tests.test_limits import H200

PRETENDED = (sys.executable, "-m", "tests.pretend_gpu", "--kernels", "tests.rival_kernels")
IDLE = (sys.executable, "-m", "tests.idle_rival")
TORCH = (sys.executable, "-m", "tests.pretend_torch")
UNKNOWN = dataclasses.replace(H200, memory_khz=0, clock_khz=0)  # the pretended GPU is past any peak


def small(label: str, n: int = 4096) -> Located:
    located = next(part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts if part.label == label)
    return dataclasses.replace(located, part=dataclasses.replace(located.part, bench=Case(n=n)))


class EagerAlone(PyTorch):
    """PyTorch without the processes that compile and multiply, which are not asked anything here."""

    def __init__(self) -> None:
        self.eager = self.compiled = self.product = Kept()


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rivals, timings, timed_group):
        monkeypatch.setattr(module, "RealGPU", functools.partial(RealGPU, command=PRETENDED))
    monkeypatch.setattr(timed_group, "RULE", Rule(warm_up=0, least_rounds=8, seconds=2.0))
    monkeypatch.setattr(timed_group, "COMMAND", IDLE)
    monkeypatch.setattr(timings, "PyTorch", EagerAlone)


@pytest.fixture
def pytorch(pretended: None) -> Iterator[PyTorch]:
    found = EagerAlone()
    yield found
    found.end()


def raced(parts: Sequence[Located], device: DeviceFacts, pytorch: PyTorch) -> Group:
    group = Group(parts, device, pytorch, compiled=False)
    for step in (group.prepare, group.race, group.finish, group.close):
        step()
    return group


def test_parts_that_ask_for_the_same_run_in_one_race() -> None:
    groups = [[one.label for one in group] for group in groups_of(parts_of(["1", "2", "5", "6"]))]
    assert groups == [
        ["1.1"],
        ["1.2", "1.3", "1.4", "1.5"],
        ["1.6"],
        ["2.1", "2.2", "2.3", "2.4", "2.5"],
        *([f"2.{number}"] for number in (6, 7, 8)),
        *([f"5.{number}"] for number in range(1, 9)),
        ["6.1", "6.2", "6.3"],
        *([f"6.{number}"] for number in (4, 5, 6, 7)),
    ]


def test_a_row_holds_the_solution_beside_its_rivals(pytorch: PyTorch) -> None:
    group = raced([small("1.2"), small("1.3")], UNKNOWN, pytorch)
    assert group.problems == []
    assert [row["label"] for row in group.rows] == ["1.2", "1.3"]
    for row in group.rows:
        assert (row["ms"], row["judged"], row["wrong"], row["left_out"]) == (2.0, PLACES, 0, {})
        found = {rival["name"]: (rival["ms"], rival["times"], rival["decision"]) for rival in row["rivals"]}
        assert found == {"pytorch": (2.0, 1.0, "tie"), "ceiling": (1.0, 0.5, "slower")}
        json.dumps(row)


def test_what_cannot_be_true_is_a_problem_whoever_it_is_of(pytorch: PyTorch) -> None:
    slow = dataclasses.replace(H200, memory_khz=1)
    problems = raced([small("1.2")], slow, pytorch).problems
    assert [problem.partition(":")[0] for problem in problems] == ["1.2, 1.2", "1.2, pytorch", "1.2, ceiling"]
    assert all("ms cannot be" in problem for problem in problems)


def test_a_rival_that_fails_is_named_and_a_solution_that_fails_is_a_problem(
    pytorch: PyTorch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timed_group, "COMMAND", (*IDLE, "crowded"))
    pytorch.eager = Kept()
    group = raced([small("1.2"), small("1.5")], UNKNOWN, pytorch)
    pytorch.eager.end()
    (row,) = group.rows
    assert row["label"] == "1.2"
    assert row["left_out"] == {"pytorch": "The GPU has not enough free memory for this case."}
    assert [problem.partition(":")[0] for problem in group.problems] == ["1.5"]  # the pretended GPU lacks its kernel


def test_values_of_the_last_laps_are_judged(pytorch: PyTorch) -> None:
    doubled = dataclasses.replace(small("1.2").part, reference=lambda a, b: 2 * a + b, pytorch=None)
    group = raced([dataclasses.replace(small("1.2"), part=doubled)], UNKNOWN, pytorch)
    assert group.problems == [f"1.2: {group.rows[0]['wrong']} wrong of {PLACES}"]
    assert group.rows[0]["wrong"] > PLACES // 2


@pytest.fixture
def script(pretended: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Script:
    return Script(monkeypatch, tmp_path / "timings.json")


class Script:
    """The whole script, with small cases, and nothing to make ready."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, out: Path) -> None:
        self.out = out
        self.asked: list[list[str]] = []
        monkeypatch.setattr(timings, "parts_of", lambda names: [small(name) for name in names])
        monkeypatch.setattr(timings, "make_ready", self.make_ready)

    def make_ready(self, groups: Sequence[Sequence[Located]], *_: Any) -> list[Any]:
        self.asked.append([one.label for group in groups for one in group])
        return [{"label": "1.2", "of_tolerance": 0.25}]

    def run(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        code = timings.main(["--out", str(self.out), "--eager", "--commit", "0" * 40, *arguments])
        return code, json.loads(self.out.read_text(encoding="utf-8"))


def test_a_run_is_saved_and_gone_on_with(script: Script) -> None:
    code, found = script.run("--parts", "1.2")
    assert code == 0
    assert {"device", "driver", "date", "command", "method", "nvcc", "commit", "seconds"} <= found["about"].keys()
    assert [row["label"] for row in found["parts"]] == ["1.2"]
    code, found = script.run("--resume", "--parts", "1.2", "1.3")
    assert code == 0
    assert script.asked == [["1.2"], ["1.3"]]
    assert [row["label"] for row in found["parts"]] == ["1.2", "1.3"]


def test_no_race_begins_when_the_time_is_up(script: Script) -> None:
    code, found = script.run("--parts", "1.2", "--seconds", "0")
    assert (code, found["parts"], found["problems"]) == (1, [], ["1.2: no time was left"])


def test_laps_that_never_end_are_given_up(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    def hanging(group: Group) -> None:
        group.hung = True
        raise ReplayFailed("hang", "Nothing came of it within 20 seconds.")

    monkeypatch.setattr(Group, "prepare", hanging)
    cases = iter(range(64, 128))  # so that each part is a group
    monkeypatch.setattr(timings, "parts_of", lambda names: [small(name, next(cases)) for name in names])
    code, found = script.run("--parts", "1.2", "1.3", "1.4", "1.5")
    assert code == 1
    assert [problem for problem in found["problems"] if "given up" in problem] == [
        "1.4: given up, since laps do not come to an end",
        "1.5: given up, since laps do not come to an end",
    ]


def test_a_race_that_fails_does_not_stop_the_others(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = iter(range(64, 128))
    monkeypatch.setattr(timings, "parts_of", lambda names: [small(name, 4 * next(cases)) for name in names])
    code, found = script.run("--parts", "1.5", "1.2")
    assert code == 1
    assert [row["label"] for row in found["parts"]] == ["1.2"]
    assert any(problem.startswith("1.5: ") for problem in found["problems"])


def test_where_pytorch_errs_it_is_a_problem() -> None:
    rows: list[dict[str, Any]] = [{"label": "1.2", "of_tolerance": 1.5}, {"label": "1.4", "of_tolerance": 0.5}]
    rows.append({"label": "1.3", "of_tolerance_failed": "RuntimeError: no"})
    assert list(timings._problems_of_pytorch(rows)) == [
        "1.2: PyTorch errs by 1.5 of what is allowed",
        "1.3: RuntimeError: no",
    ]


def test_a_process_of_pytorch_stays_until_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_group, "COMMAND", TORCH)
    kept, product = Kept(), {"do": "product", "dtype": "float32", "size": 8}
    first = kept._child
    for _ in range(2):
        assert kept.ask(product, seconds=60) == {"captured": True}
        kept.close()
    assert kept._child is first
    with pytest.raises(ReplayFailed, match="no known kind"):
        kept.ask({"do": "nothing"}, seconds=60)
    assert kept.ask(product, seconds=60) == {"captured": True}
    kept.end()


def test_inputs_for_the_compiler_have_the_shapes_of_the_case() -> None:
    (located,) = parts_of(["6.4"])
    made = arguments(located.part, Case(rows=3, cols=40, eps=0.5), "cpu")
    assert {name: getattr(value, "shape", value) for name, value in made.items()} == {
        "x": (3, 40),
        "w": (40,),
        "rows": 3,
        "cols": 40,
        "eps": 0.5,
    }


def test_what_fails_while_things_are_made_ready_is_said() -> None:
    row = made_ready("1.2", compiled=True)  # there is no CUDA here
    assert row.keys() == {"label", "of_tolerance_failed", "compile_seconds_failed"}
