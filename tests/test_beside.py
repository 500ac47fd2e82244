"""A part beside others that do together what it does: what is counted, of whose files, and how it is shown."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from grader import cli
from grader.catalog import load_catalog
from grader.puzzle import Beside, Case, Part, Puzzle, PuzzleError
from grader.record.plan import Allocation, Free, Memset, Plan
from tests.test_cli_commands import SCHEMA

ROOT = Path(__file__).resolve().parents[1]
SUMS = "puzzle_91_sums"

PUZZLE = """
from grader.puzzle import Beside, Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

SHARED = dict(
    groups={"some": [Case(n=256), Case(n=300)]}, bench=Case(n=1 << 20), work=lambda n: Work(bytes=4 * n, flops=n),
    tolerance=Tolerance(2.0**-20, absolute=2.0**-20, why="a few rounded additions"), lesson="sums",
)

def terms(*names):
    return [*(In(name, f32, "n") for name in names), Out("out", f32, "n"), Scalar("n", i32)]

puzzle = Puzzle(title="Sums", parts=[
    Part("add_first", params=terms("a", "b"), reference=lambda a, b: a + b, **SHARED),
    Part("add_second", params=terms("sum", "c"), reference=lambda sum, c: sum + c, **SHARED),
    Part("add_both", params=terms("a", "b", "c"), reference=lambda a, b, c: a + b + c,
         beside=Beside(["add_first", "add_second"], by="n", cases=[Case(n=256), Case(n=1024)],
                       same={"add_second.sum": "add_first.between", "add_first.out": "add_first.between"}), **SHARED),
])
"""
ADD = """#include <cuda_runtime.h>
__global__ void {name}_kernel(const float* x, const float* y, float* out, int n) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    // --- your code ---
    if (i < n) out[i] = x[i] + y[i];
    // --- end ---
}}
extern "C" cudaError_t {name}(const float* x, const float* y, float* out, int n, cudaStream_t stream) {{
    {name}_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, out, n);
    return cudaGetLastError();
}}
"""
BOTH = """#include <cuda_runtime.h>
__global__ void add_both_kernel(const float* a, const float* b, const float* c, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    // --- your code ---
    if (i < n) out[i] = a[i] + b[i] + c[i];
    // --- end ---
}
extern "C" cudaError_t add_both(const float* a, const float* b, const float* c, float* out, int n,
                                cudaStream_t stream) {
    add_both_kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, out, n);
    return cudaGetLastError();
}
"""
# As BOTH; every value is read twice, and a sum lies in memory of its own in between.
ALLOCATES = """#include <cuda_runtime.h>
__global__ void sum_kernel(const float* x, const float* y, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] == x[n - 1 - i] ? x[i] + y[i] : y[i] + x[i];
}
extern "C" cudaError_t add_both(const float* a, const float* b, const float* c, float* out, int n,
                                cudaStream_t stream) {
    float* between = nullptr;
    cudaError_t error = cudaMallocAsync(&between, n * sizeof(float), stream);
    if (error != cudaSuccess) return error;
    sum_kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, b, between, n);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    sum_kernel<<<(n + 255) / 256, 256, 0, stream>>>(between, c, out, n);
    error = cudaGetLastError();
    return error != cudaSuccess ? error : cudaFreeAsync(between, stream);
}
"""
VECTOR = 4 * 1024  # bytes of a buffer in the larger case


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("puzzles", "solutions"):
        (tmp_path / folder / SUMS).mkdir(parents=True)
    shutil.copytree(ROOT / "solutions" / "puzzle_01_vector_add", tmp_path / "solutions" / "puzzle_01_vector_add")
    (tmp_path / "puzzles" / SUMS / "puzzle.py").write_text(PUZZLE)
    solutions = {"1_add_first": ADD.format(name="add_first"), "2_add_second": ADD.format(name="add_second")}
    for name, text in (solutions | {"3_add_both": BOTH}).items():
        (tmp_path / "solutions" / SUMS / f"{name}.cu").write_text(text)
    monkeypatch.setenv("GRADER_DATA", str(tmp_path / "notes"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def comparison(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    cli.run(["check", *arguments, "--json", "--device", "software"])
    printed = json.loads(capsys.readouterr().out)
    jsonschema.validate(printed, SCHEMA)
    return printed["parts"][0]["comparison"]


def test_kernels_bytes_and_memory_of_both_ways(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = comparison(capsys, "91.3", "--solution")
    assert shown["by"] == "n"
    assert [case["params"] for case in shown["cases"]] == [{"n": 256}, {"n": 1024}]
    large = shown["cases"][-1]
    assert large["this"] == {"kernels": 1, "moved": 4 * VECTOR, "memory": 4 * VECTOR}
    assert large["others"] == {"kernels": 2, "moved": 6 * VECTOR, "memory": 5 * VECTOR}, "the sum in between once"


def test_what_an_entry_allocates_is_memory_and_what_is_read_again_moves_once(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace / "allocates.cu").write_text(ALLOCATES)
    large = comparison(capsys, "91.3", "--file", "allocates.cu")["cases"][-1]
    assert large["this"] == {"kernels": 2, "moved": 6 * VECTOR, "memory": 5 * VECTOR}


def test_the_learners_own_files_are_counted_once_they_have_passed(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("1_add_first", "2_add_second", "3_add_both"):
        shutil.copy(workspace / "solutions" / SUMS / f"{name}.cu", workspace / "puzzles" / SUMS)
    assert comparison(capsys, "91.1") is None
    shown = comparison(capsys, "91.3")
    assert [(one["label"], one["own"]) for one in shown["others"]] == [("91.1", True), ("91.2", False)]


def test_a_part_that_has_not_passed_is_not_compared(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / "wrong.cu").write_text(BOTH.replace("+ c[i]", "- c[i]"))
    assert comparison(capsys, "91.3", "--file", "wrong.cu") is None
    assert comparison(capsys, "91.3", "--solution", "--case", "n=256") is None


def test_without_their_solutions_nothing_is_compared(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / "both.cu").write_text(BOTH)
    (workspace / "solutions" / SUMS / "2_add_second.cu").unlink()
    assert comparison(capsys, "91.3", "--file", "both.cu") is None


def test_the_table_says_whose_files_were_counted(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", "91.3", "--solution", "--device", "software"]) == 0
    told = capsys.readouterr().out
    table = """
            kernels      bytes moved      memory at most
       n    there  here    there    here    there    here
     256        2     1    6 KiB   4 KiB    5 KiB   4 KiB
    1024        2     1   24 KiB  16 KiB   20 KiB  16 KiB
"""
    assert "Beside 91.1 add_first (reference), 91.2 add_second (reference)" in " ".join(told.split())
    shown = [line.split() for line in told.splitlines()]
    assert all(line.split() in shown for line in table.splitlines() if line)


def test_memory_is_what_is_held_at_once() -> None:
    operations = (Allocation(4096, 100), Free(4096), Allocation(8192, 60), Allocation(16384, 30), Memset(8192, 0, 4))
    from grader.beside import most_allocated

    assert most_allocated(Plan(80, "x", "0" * 64, (), (), 0, operations)) == 100
    assert most_allocated(Plan(80, "x", "0" * 64, (), (), 0, operations[2:])) == 90
    assert most_allocated(Plan(80, "x", "0" * 64, (), (), 0, ())) == 0


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        (Beside(["add"], "n", [Case(n=1)]), "stands beside add, which is no part of this puzzle"),
        (Beside(["vector_add"], "rows", [Case(n=1)]), "has no rows, which the parts beside it need"),
        (Beside(["vector_add"], "n", [Case(rows=1)]), "a case gives"),
    ],
)
def test_an_author_who_names_what_there_is_not_is_told(beside: Beside, told: str) -> None:
    part = load_catalog(ROOT).resolve("1.2")[1]
    assert part is not None
    with pytest.raises(PuzzleError, match=told):
        Puzzle("sums", [Part(**{**vars(part.part), "beside": beside})])
