"""`grader sweep` without a GPU: what is right, what is not and why, what each block needs, and the file left alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from grader import cli
from grader.cache import ToolMissing
from grader.catalog import load_catalog
from grader.cuda import presence
from grader.small_case import small_case
from grader.submission import Submission
from grader.sweep import choice, run
from grader.sweep.shapes import Shape, Swept, Time
from grader.sweep.trials import Bench
from grader.tools import TorchLoading, default_tools
from tests.judging import ROOT

PUZZLE = "puzzle_01_vector_add"
KERNEL = """
#include <cuda_runtime.h>

{before}

__global__ void add_kernel(const float* a, const float* b, float* out, int n) {{
    {shared}
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}}

extern "C" cudaError_t vector_add(const float* a, const float* b, float* out, int n, cudaStream_t stream) {{
    if (n == 0) return cudaSuccess;
    add_kernel<<<{grid}, {block}, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}}
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of one's own on a machine without a GPU, where few sizes are tried."""
    for folder in ("puzzles", "solutions"):
        shutil.copytree(ROOT / folder / PUZZLE, tmp_path / folder / PUZZLE)
    monkeypatch.setattr(presence, "DEVICE_FILES", ())
    monkeypatch.setattr(choice, "SIZES", (64, 256, 1024))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(workspace: Path, **parts: str) -> Path:
    path = workspace / "own.cu"
    given = {"before": "constexpr int BLOCK = 256;", "shared": "", "grid": "(n + BLOCK - 1) / BLOCK", "block": "BLOCK"}
    path.write_text(KERNEL.format(**{**given, **parts}))
    return path


def swept(capsys: pytest.CaptureFixture[str], path: Path, *more: str) -> dict[str, Any]:
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert cli.run(["sweep", "1.2", "--file", str(path), "--json", *more]) == 0
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def by_value(found: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {shape["value"]: shape for shape in found["shapes"]}


def refusals(found: dict[str, Any]) -> dict[int, str]:
    return {shape["value"]: shape["refused"] for shape in found["shapes"] if not shape["right"]}


def test_every_size_of_an_honest_kernel_is_right(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = swept(capsys, written(workspace))
    assert (found["name"], found["value"], found["launch_line"]) == ("BLOCK", 256, 14)
    shapes = by_value(found)
    assert [shape["block"] for shape in shapes.values()] == [[64, 1, 1], [256, 1, 1], [1024, 1, 1]]
    assert refusals(found) == {}
    assert shapes[256]["occupancy"]["share"] == 1.0
    assert (found["best"], {shape["time"] for shape in shapes.values()}) == (None, {None})
    assert found["no_times"] == "No NVIDIA GPU was found here. So nothing is timed; all else is as on one."


def test_a_grid_made_for_one_size_is_wrong_in_a_smaller_one(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = swept(capsys, written(workspace, grid="(n + 255) / 256"))
    assert list(refusals(found)) == [64]
    assert "the last 49,152 of its 65,536 floats" in refusals(found)[64]


def test_what_does_not_compile_says_so(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demanded = 'constexpr int BLOCK = 256;\nstatic_assert(BLOCK >= 256, "eight warps");'
    found = swept(capsys, written(workspace, before=demanded))
    assert list(refusals(found)) == [64]
    assert "eight warps" in refusals(found)[64]
    assert by_value(found)[64]["block"] is None


def test_a_launch_that_cuda_refuses_says_so(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(workspace)
    path.write_text(path.read_text().replace("void add_kernel", "void __launch_bounds__(256) add_kernel"))
    found = swept(capsys, path)
    assert list(refusals(found)) == [1024]
    assert "__launch_bounds__" in refusals(found)[1024]
    assert by_value(found)[1024]["threads"] == 1024


def test_shared_memory_counts(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shared = "__shared__ volatile float held[8 * BLOCK]; held[threadIdx.x] = 0.f;"
    shapes = by_value(swept(capsys, written(workspace, shared=shared)))
    assert [shape["static_shared"] for shape in shapes.values()] == [2048, 8192, 32_768]
    assert [shape["occupancy"]["limited_by"] for shape in shapes.values()] == [
        ["warps", "blocks"],
        ["warps"],
        ["warps"],
    ]
    assert (
        by_value(swept(capsys, written(workspace, shared=shared.replace("8 *", "9 *"))))[1024]["occupancy"]["blocks"]
        == 2
    )


def test_a_number_in_the_launch_is_changed_there_alone(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(workspace, before="", grid="(n + 255) / 256", block="256")
    assert cli.run(["sweep", "1.2", "--file", str(path)]) == 0
    said = capsys.readouterr().out
    assert "The number 256 in line 14 of" in said
    assert "✘ 64" in said
    assert "2 of 3 are right in this case; which of them is fastest, only a GPU can say." in said


# ---- what cannot be swept ----


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"block": "n < 64 ? 64 : 128"}, "No single number in the file makes the block of the launch in line 14"),
        ({"shared": "nonsense"}, "does not compile; grader check 1.2 shows why."),
    ],
)
def test_what_cannot_be_swept_is_said_in_a_sentence(
    workspace: Path, capsys: pytest.CaptureFixture[str], parts: dict[str, str], sentence: str
) -> None:
    assert cli.run(["sweep", "1.2", "--file", str(written(workspace, **parts))]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sentence in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["1"], "grader sweep looks at one part; say which: 1.1, 1.2"),
        (["1.2", "--file", "x.cu", "--solution"], "exclude each other"),
        (["1.2", "--solution", "--constant", "n"], "n makes no block in this file; threads would."),
        (["1.2"], "2_vector_add.cu is not right as it is, so other block sizes have to wait: grader check 1.2."),
    ],
)
def test_bad_usage_is_one_sentence(
    workspace: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    (part,) = [one for one in load_catalog().puzzles[0].parts if one.label == "1.2"]
    part.path.write_text(part.skeleton())
    assert cli.run(["sweep", *arguments]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("label", "sentence"),
    [("3.1", "starts no kernel"), ("7.7", "no kernel of its own"), ("10.6", "no kernel of its own")],
)
def test_parts_without_kernels_of_their_own_are_refused(
    capsys: pytest.CaptureFixture[str], label: str, sentence: str
) -> None:
    assert cli.run(["sweep", label, "--solution"]) == 2
    assert sentence in capsys.readouterr().err


def test_what_is_missing_here_is_said_with_its_own_exit_code(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any, **__: Any) -> Swept:
        raise ToolMissing("nvcc is missing")

    monkeypatch.setattr(run, "sweep", missing)
    assert cli.run(["sweep", "1.2", "--solution"]) == 3
    assert capsys.readouterr().err == "grader: nvcc is missing\n"
    assert cli.run(["sweep", "1.2", "--solution", "--json"]) == 3
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "error": "nvcc is missing"}


# ---- cases and conclusions ----


def test_the_launch_of_another_part_is_not_this_parts_own() -> None:
    """7.2 starts the product of 2.7, whose blocks have as many threads as its own."""
    located = load_catalog(ROOT).resolve("7.2")[1]
    assert located is not None
    submission = Submission(located, located.solution_path, "own.cu", is_solution=True)
    found = Bench(submission, default_tools(), TorchLoading(), None, 7).choice()
    assert (found.constant.name, found.block) == ("high", (32, 8, 1))


def test_the_case_that_is_checked_has_results_for_several_blocks() -> None:
    for puzzle in load_catalog(ROOT).puzzles:
        for located in puzzle.parts:
            if located.part.buffers and located.path.suffix == ".cu":
                group, case = small_case(located.part)
                assert case in located.part.groups[group]


def shape(value: int, times: float, decision: str | None) -> Shape:
    return Shape(value, value, time=Time(1.0 / times, (0.9, 1.1), times, (times - 0.01, times + 0.01), decision))


def swept_of(*shapes: Shape) -> Swept:
    return Swept("add", "1.2", "own.cu", "a GPU", "BLOCK", 256, 3, 9, shapes)


def test_the_fastest_has_to_be_faster_than_the_file_beyond_a_tie() -> None:
    own = shape(256, 1.0, None)
    assert swept_of(own, shape(64, 1.004, "tie"), shape(1024, 0.8, "slower")).best is None
    fastest = swept_of(own, shape(64, 1.2, "faster"), shape(128, 1.3, "faster")).best
    assert fastest is not None
    assert fastest.value == 128
