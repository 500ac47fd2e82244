"""Files of a puzzle that lie beside a part's source when it is compiled: how they get there, and what they change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grader import cli
from grader.build import BuildFailed, HeaderFile, UsedSource, build
from grader.catalog import load_catalog
from grader.prelude import headers, prelude
from grader.submission import used_sources

SUMS = "puzzle_90_sums"
PUZZLE = """
from grader.puzzle import Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

SHARED = dict(
    params=[In("a", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
    reference=lambda a: 3 * a,
    groups={"some": [Case(n=256), Case(n=300)]}, bench=Case(n=1 << 20), work=lambda n: Work(bytes=8 * n, flops=n),
    tolerance=Tolerance(2.0**-20, why="a rounded product"), lesson="three times", goals=[],
)

puzzle = Puzzle(title="Sums", parts=[
    Part("treble", headers=["parts/*.hpp", "parts/kernels/*.cu"], **SHARED),
    Part("treble_again", uses=["treble"], **SHARED),
])
"""
FACTOR = "#pragma once\nconstexpr float factor = 3.0f;\n"
KERNEL = """#include "../factor.hpp"
__global__ void scale_kernel(const float* a, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * a[i];
}
"""
TREBLE = """#include <cuda_runtime.h>

#include "parts/factor.hpp"

static_assert(factor == 3.0f);

extern "C" cudaError_t treble(const float* a, float* out, int n, cudaStream_t stream) {
    // --- your code ---
    scale_kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, out, n);
    // --- end ---
    return cudaGetLastError();
}
"""
AGAIN = """#include <cuda_runtime.h>
extern "C" cudaError_t treble(const float* a, float* out, int n, cudaStream_t stream);
extern "C" cudaError_t treble_again(const float* a, float* out, int n, cudaStream_t stream) {
    // --- your code ---
    return treble(a, out, n, stream);
    // --- end ---
}
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("puzzles", "solutions"):
        (tmp_path / folder / SUMS).mkdir(parents=True)
    puzzle = tmp_path / "puzzles" / SUMS
    (puzzle / "puzzle.py").write_text(PUZZLE)
    (puzzle / "parts" / "kernels").mkdir(parents=True)
    (puzzle / "parts" / "factor.hpp").write_text(FACTOR)
    (puzzle / "parts" / "kernels" / "scale.cu").write_text(KERNEL)
    for name, text in (("1_treble.cu", TREBLE), ("2_treble_again.cu", AGAIN)):
        (tmp_path / "solutions" / SUMS / name).write_text(text)
    monkeypatch.setenv("GRADER_DATA", str(tmp_path / "notes"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verdict(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    cli.run(["check", *arguments, "--json", "--device", "software"])
    judged: dict[str, Any] = json.loads(capsys.readouterr().out)["parts"][0]
    return judged


def test_a_part_is_compiled_beside_its_headers_and_so_is_one_that_uses_it(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in ("90.1", "90.2"):
        judged = verdict(capsys, part, "--solution")
        assert judged["state"] == "passed", judged["findings"]


def test_a_fault_in_a_header_is_told_at_the_line_of_the_call(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = workspace / "puzzles" / SUMS / "parts" / "kernels" / "scale.cu"
    kernel.write_text(KERNEL.replace("i < n", "i <= n"))
    found = verdict(capsys, "90.1", "--solution")["findings"][0]
    call = next(number for number, line in enumerate(TREBLE.splitlines(), 1) if "<<<" in line)
    assert (found["kind"], found["line"], found["kernel"]) == ("out_of_bounds_write", call, "scale_kernel")


def test_a_mistake_in_a_header_does_not_compile_and_a_changed_header_is_another_build(workspace: Path) -> None:
    located = load_catalog().resolve("90.1")[1]
    assert located is not None
    first = build(located.solution_path, uses=used_sources(located))
    header = workspace / "puzzles" / SUMS / "parts" / "factor.hpp"
    header.write_text(FACTOR + "constexpr int more = 1;\n")
    assert build(located.solution_path, uses=used_sources(located)).key != first.key
    header.write_text(FACTOR.replace("3.0f", "2.0f"))
    with pytest.raises(BuildFailed, match="static assertion failed"):
        build(located.solution_path, uses=used_sources(located))


def test_a_header_that_is_not_asked_for_is_not_there(workspace: Path) -> None:
    source = workspace / "solutions" / SUMS / "1_treble.cu"
    with pytest.raises(BuildFailed, match=r"factor\.hpp"):
        build(source)


def test_sources_among_the_headers_are_included_ahead_and_each_file_counts_once() -> None:
    used = UsedSource("one", '#include "parts/factor.hpp"\nint x;\n')
    kernel, header = HeaderFile("parts/kernels/scale.cu", KERNEL), HeaderFile("parts/factor.hpp", FACTOR)
    made = prelude([kernel, used, header, header])
    first = '#pragma once\n#include "parts/factor.hpp"\n#include "parts/kernels/scale.cu"\nnamespace part_one {'
    assert made.startswith(first)
    assert headers([kernel, used, header, header]) == [header, kernel]
    assert prelude([header]) == ""
