"""Programs of the book that no page types or quotes the output of, and that have to run without a GPU all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader import cli

PROGRAMS = Path(__file__).parents[1] / "book" / "programs"


def test_the_profiled_step_of_training_names_its_phases(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    command = [sys.executable, str(PROGRAMS / "where_time_goes.py"), str(trace)]
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=hidden)
    assert "aten::" in done.stdout
    names = {event.get("name") for event in json.loads(trace.read_text())["traceEvents"]}
    assert {"forward", "backward", "update"} <= names


def test_the_benchmark_of_memory_gives_its_numbers_in_small_too(capfd: pytest.CaptureFixture[str]) -> None:
    code = cli.run(["run", str(Path(__file__).parent / "bench" / "memory.cu"), "--", "small"])
    printed = capfd.readouterr()
    assert (code, printed.err) == (0, "")
    committed = json.loads((PROGRAMS.parents[1] / "results" / "h200" / "memory.json").read_text())
    assert set(json.loads(printed.out)) - {"device", "nvcc", "method"} == set(committed) - {"about"}
