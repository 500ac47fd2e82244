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
from grader.cuda import pytorch_rival, rivals
from grader.cuda.contest import Rule
from grader.cuda.session import RealGPU
from grader.puzzle import Case
from tests.gpu import timings
from tests.gpu.pytorch_ready import arguments, made_ready
from tests.gpu.solutions import parts_of
from tests.judging import ROOT
from tests.test_limits import H200

PRETENDED = (sys.executable, "-m", "tests.pretend_gpu", "--kernels", "tests.rival_kernels")
TORCH = (sys.executable, "-m", "tests.pretend_torch")
UNKNOWN = dataclasses.replace(H200, memory_khz=0, clock_khz=0)  # the pretended GPU is past any peak


def small(label: str, n: int = 4096) -> Located:
    located = next(part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts if part.label == label)
    return dataclasses.replace(located, part=dataclasses.replace(located.part, bench=Case(n=n)))


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[timings.Imported]:
    monkeypatch.setattr(rivals, "RealGPU", functools.partial(RealGPU, command=PRETENDED))
    monkeypatch.setattr(timings, "RealGPU", functools.partial(RealGPU, command=PRETENDED))
    monkeypatch.setattr(timings, "RULE", Rule(warm_up=0, least_rounds=8, seconds=2.0))
    monkeypatch.setattr(timings, "COMMAND", TORCH)
    monkeypatch.setattr(pytorch_rival, "COMMAND", TORCH)
    monkeypatch.setattr(timings, "Imported", functools.partial(timings.Imported, 0))
    found = timings.Imported()
    yield found
    found.close()


def test_parts_that_ask_for_the_same_run_in_one_race() -> None:
    groups = [[one.label for one in group] for group in timings.groups_of(parts_of(["1", "2", "5", "6"]))]
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


def test_a_row_holds_the_solution_beside_its_rivals(imported: timings.Imported) -> None:
    group = timings.Group([small("1.2"), small("1.3")], UNKNOWN, imported, compiled=False)
    rows, problems = group.rows()
    assert problems == []
    assert [row["label"] for row in rows] == ["1.2", "1.3"]
    for row in rows:
        assert (row["ms"], row["judged"], row["wrong"], row["left_out"]) == (2.0, timings.PLACES, 0, {})
        found = {rival["name"]: (rival["ms"], rival["times"], rival["decision"]) for rival in row["rivals"]}
        assert found == {"pytorch": (2.0, 1.0, "tie"), "ceiling": (1.0, 0.5, "slower")}
        json.dumps(row)


def test_what_cannot_be_true_is_a_problem_whoever_it_is_of(imported: timings.Imported) -> None:
    slow = dataclasses.replace(H200, memory_khz=1)
    _, problems = timings.Group([small("1.2")], slow, imported, compiled=False).rows()
    assert [problem.partition(":")[0] for problem in problems] == ["1.2, 1.2", "1.2, pytorch", "1.2, ceiling"]
    assert all("ms cannot be" in problem for problem in problems)


def test_a_rival_that_fails_is_named_and_a_solution_that_fails_is_a_problem(imported: timings.Imported) -> None:
    without = dataclasses.replace(small("1.2"), part=dataclasses.replace(small("1.2").part, pytorch=_broken))
    rows, problems = timings.Group([without, small("1.5")], UNKNOWN, imported, compiled=False).rows()
    assert [row["label"] for row in rows] == ["1.2"]
    assert [problem.partition(":")[0] for problem in problems] == ["1.5"]  # the pretended GPU lacks its kernel


def _broken(a: Any) -> Any:
    raise ValueError(a)


def test_a_run_is_saved_and_gone_on_with(
    imported: timings.Imported, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert imported
    asked: list[list[str]] = []

    def ready(groups: Sequence[Sequence[Located]], *_: Any) -> tuple[list[Any], list[str]]:
        asked.append([one.label for group in groups for one in group])
        return [{"label": "1.2", "of_tolerance": 0.25}], []

    def none_left(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(timings, "parts_of", lambda names: [small(name) for name in names])
    monkeypatch.setattr(timings, "make_ready", ready)
    out = tmp_path / "timings.json"
    arguments = ["--out", str(out), "--eager", "--commit", "0" * 40, "--parts"]
    assert timings.main([*arguments, "1.2"]) == 0
    first = json.loads(out.read_text(encoding="utf-8"))
    assert {"device", "driver", "date", "command", "method", "nvcc", "commit", "seconds"} <= first["about"].keys()
    assert [row["label"] for row in first["parts"]] == ["1.2"]
    assert timings.main(["--resume", *arguments, "1.2", "1.3"]) == 0
    assert asked == [["1.2"], ["1.3"]]
    assert [row["label"] for row in json.loads(out.read_text(encoding="utf-8"))["parts"]] == ["1.2", "1.3"]
    monkeypatch.setattr(timings, "_raced", none_left)
    assert timings.main([*arguments, "1.2", "--seconds", "0"]) == 1
    assert json.loads(out.read_text(encoding="utf-8"))["problems"] == ["1.2: no time was left"]


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
