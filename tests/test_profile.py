"""`grader profile`: our counts by line and kernel, ncu's beside them where an ncu is, and a sentence where none is."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from grader import cli
from grader.build import build
from grader.catalog import Located, load_catalog
from grader.cuda import presence
from grader.cuda.here import Here
from grader.cuda.nsight import NotMeasured, layout_of, measured
from grader.cuda.torch_trace import TraceFailed, write_trace
from grader.profile import run
from grader.profile.counts import METRICS
from grader.puzzle import Case
from grader.record import record
from tests.judging import ROOT
from tests.test_sweep_timed import KERNEL

PUZZLE = "puzzle_03_bank_conflicts"
SECTORS, WAVEFRONTS = "memory_l2_theoretical_sectors_global", "memory_l1_wavefronts_shared"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of one's own on a machine without a GPU."""
    for name in (PUZZLE, "puzzle_01_vector_add"):
        for folder in ("puzzles", "solutions"):
            shutil.copytree(ROOT / folder / name, tmp_path / folder / name)
    monkeypatch.setattr(presence, "DEVICE_FILES", ())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def profiled(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert cli.run(["profile", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


# ---- our own counts ----


def test_each_line_has_what_it_asks_of_memory(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = profiled(capsys, "3.3", "--solution", "--case", "rows=64,cols=32")
    by_text = {line["text"].strip(): line["counts"] for line in found["lines"]}
    (load,) = [counts for text, counts in by_text.items() if "tile[y][x] = in[" in text]
    (store,) = [counts for text, counts in by_text.items() if "out[" in text and "tile[x]" in text]
    # 2 tiles of 32 × 32: 64 rows of 4 sectors each way; a column of an unpadded tile is one bank, 32 passes.
    assert (load[SECTORS], load[f"{SECTORS}_ideal"], load[WAVEFRONTS]) == (256, 256, 64)
    assert (store[SECTORS], store[WAVEFRONTS], store[f"{WAVEFRONTS}_ideal"]) == (256, 2048, 64)
    (kernel,) = found["kernels"]
    assert (kernel["name"], kernel["launches"], kernel["measured"]) == ("transpose_tiled_kernel", 1, None)
    assert kernel["written"] == kernel["compiled"]
    assert kernel["compiled"]["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 256
    assert kernel["compiled"]["smsp__inst_executed_op_shared_st.sum"] == 64
    assert (found["not_right"], found["measured_on"]) == (None, None)


def test_the_table_shows_the_lines_and_what_they_waste(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    assert cli.run(["profile", "3.3", "--solution", "--case", "rows=64,cols=32"]) == 0
    said = capsys.readouterr().out
    assert "3.3 transpose_tiled · rows = 64, cols = 32 · counted by the software GPU\n" in said
    (row,) = [line.split() for line in said.splitlines() if "if (col0 + y" in line]
    assert row[-4:] == ["256", "0", "2,048", "1,984"]
    assert max(map(len, said.split("\n\n")[1].splitlines())) <= 110
    assert "No NVIDIA GPU was found here. So Nsight Compute's numbers are not beside these" in said


def test_a_file_that_is_wrong_is_counted_and_told_to_be_wrong(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = workspace / "own.cu"
    path.write_text(KERNEL.replace("a[i] + b[i]", "a[i] - b[i]"))
    found = profiled(capsys, "1.1", "--file", "own.cu")
    assert found["not_right"].startswith("All 1,024 values of out are wrong")
    assert found["not_measured"] == "Nsight Compute was not asked, because the case is not right."
    assert any(line["counts"][SECTORS] for line in found["lines"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "nonsense",
            "own.cu runs no kernel in this case: it does not compile, its launcher fails, or there is nothing to do",
        ),
        (KERNEL.replace("swept_kernel<<<1, BLOCK, 0, stream>>>(a, b, out, n, BLOCK);", ""), "runs no kernel"),
    ],
)
def test_a_file_of_which_nothing_runs_is_refused(
    workspace: Path, capsys: pytest.CaptureFixture[str], text: str, sentence: str
) -> None:
    (workspace / "own.cu").write_text(text)
    assert cli.run(["profile", "1.1", "--file", "own.cu"]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["3"], "grader profile looks at one part; say which: 3.1, 3.2"),
        (["3.1", "--solution"], "3.1 starts no kernel, so grader profile has nothing to look at."),
        (["3.3", "--solution", "--trace", "."], "--trace . names a folder; name a file in it."),
        (["3.3", "--solution", "--trace", "no/where.json"], "there is no folder no."),
        (["3.3", "--solution", "--case", "n=3"], "--case wants rows=…,cols=…"),
    ],
)
def test_bad_usage_is_one_sentence(
    workspace: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert cli.run(["profile", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sentence in printed.err


# ---- Nsight Compute's ----


@pytest.fixture
def located() -> Located:
    found = load_catalog(ROOT).resolve("1.1")[1]
    assert found is not None
    return found


def with_ncu(folder: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """An `ncu` on PATH that is none."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "ncu"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tests.pretend_nsight {mode} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder / "bin"), prepend=":")


def numbers(folder: Path, located: Located, source: str = KERNEL) -> dict[str, dict[str, int]]:
    path = folder / "own.cu"
    path.write_text(source)
    built, case = build(path, target=90), Case(n=64)
    plan = record(built, located.part, case, layout=layout_of(located.part, case)).plan
    return measured(located.part, case, plan, built.cubin, seed=7, metrics=METRICS)


def test_ncu_counts_the_launches_of_the_replayed_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, located: Located
) -> None:
    with_ncu(tmp_path, monkeypatch, "counts")
    twice = KERNEL.replace(
        "    return cuda", "    swept_kernel<<<1, 64, 0, stream>>>(a, b, out, n, 64);\n    return cuda"
    )
    assert numbers(tmp_path, located, twice) == {
        "swept_kernel": {metric: 2000 * place for place, metric in enumerate(METRICS[:-1], 1)}
    }


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        ("permission", "Nsight Compute may not read this GPU's counters (ERR_NVGPUCTRPERM)"),
        ("broken", "Nsight Compute could not count: The driver is too old."),
        ("silent", "Nsight Compute could not count:"),
        ("twice", "Nsight Compute saw 2 launches of these kernels, and 1 were made"),
        ("elsewhere", "could not count: A does not lie where it was reserved."),
    ],
)
def test_without_numbers_a_sentence_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, located: Located, mode: str, sentence: str
) -> None:
    with_ncu(tmp_path, monkeypatch, mode)
    with pytest.raises(NotMeasured) as refused:
        numbers(tmp_path, located)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_ncu_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, located: Located) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(NotMeasured, match=r"Nsight Compute \(ncu\) was not found"):
        measured(located.part, Case(n=1), None, tmp_path, seed=7, metrics=METRICS)  # type: ignore[arg-type]


def test_on_a_gpu_with_ncu_its_numbers_stand_beside_ours(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_ncu(workspace, monkeypatch, "counts")
    monkeypatch.setattr(run, "gpu_here", lambda _: Here("Pretended GPU", 90, None, None))
    (workspace / "own.cu").write_text(KERNEL)
    found = profiled(capsys, "1.1", "--file", "own.cu")
    assert (found["measured_on"], found["not_measured"]) == ("Pretended GPU", None)
    assert found["kernels"][0]["measured"] == {metric: 1000 * place for place, metric in enumerate(METRICS[:-1], 1)}
    assert cli.run(["profile", "1.1", "--file", "own.cu"]) == 0
    said = capsys.readouterr().out
    assert "counted by the software GPU, and by Nsight Compute on Pretended GPU" in said
    assert "Nsight Compute counts otherwise in 11 of 11 rows; docs/profiling.md says where that comes from." in said


# ---- a trace ----


def test_a_trace_has_the_calls_of_the_entry(tmp_path: Path, located: Located) -> None:
    """On the software GPU, which PyTorch's profiler sees as a call that takes its time."""
    file = tmp_path / "trace.json"
    write_trace(build(located.solution_path), located.part, Case(n=1000), file, seed=7, device="cpu")
    events = json.loads(file.read_text())["traceEvents"]
    assert sum(event.get("name") == "vector_add_block" and event.get("ph") == "X" for event in events) == 5


def test_an_entry_that_fails_has_no_trace_but_a_sentence(tmp_path: Path, located: Located) -> None:
    (tmp_path / "own.cu").write_text(KERNEL.replace("BLOCK, 0, stream", "2000, 0, stream"))
    with pytest.raises(TraceFailed) as failed:
        write_trace(build(tmp_path / "own.cu"), located.part, Case(n=8), tmp_path / "t.json", seed=7, device="cpu")
    assert "2,000 threads" in str(failed.value)
    assert not (tmp_path / "t.json").exists()


def test_without_a_gpu_there_is_no_trace_and_everything_else(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["profile", "1.1", "--solution", "--trace", "trace.json"]) == 3
    printed = capsys.readouterr()
    assert "sectors" in printed.out
    assert printed.err == "grader: No trace: No NVIDIA GPU was found here.\n"
