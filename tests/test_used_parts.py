"""Parts that build on others: whose file is taken, that names do not meet, and where a fault is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from grader import cli
from grader.catalog import UsageError, load_catalog
from grader.explain.names import base_name, kernel_name, used_part
from grader.prelude import UsedSource, prelude
from tests.test_cli_commands import SCHEMA

ROOT = Path(__file__).resolve().parents[1]
ADD, SUMS = "puzzle_01_vector_add", "puzzle_90_sums"

PUZZLE = """
from grader.puzzle import Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

SIZES = {"some": [Case(n=256), Case(n=300)]}
SHARED = dict(
    groups=SIZES, bench=Case(n=1 << 20), work=lambda n: Work(bytes=4 * n, flops=n), lesson="sums",
    tolerance=Tolerance(2.0**-20, absolute=2.0**-20, why="a few rounded additions"),
)
NAMES = "a", "b", "c", "d"

def terms(count):
    return [*(In(name, f32, "n") for name in NAMES[:count]), Out("out", f32, "n"), Scalar("n", i32)]

puzzle = Puzzle(title="Sums", parts=[
    Part("add_three", params=terms(3), reference=lambda a, b, c: a + b + c, uses=["vector_add"], **SHARED),
    Part("add_four", params=terms(4), reference=lambda a, b, c, d: a + b + c + d, uses=["add_three"], **SHARED),
    Part("add_none", params=terms(1), reference=lambda a: a, uses=["no_such_part"], **SHARED),
])
"""
# Its kernel, its constant and its macro have the names of those in the parts that it builds on.
THREE = """#include <cuda_runtime.h>
#define COUNT(n) (n)
extern "C" cudaError_t vector_add(const float* a, const float* b, float* out, int n, cudaStream_t stream);

constexpr int threads = 128;
__global__ void vector_add_kernel(float* out, const float* c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += c[i];
}

extern "C" cudaError_t add_three(const float* a, const float* b, const float* c, float* out, int n,
                                 cudaStream_t stream) {
    // --- your code ---
    const cudaError_t error = vector_add(a, b, out, COUNT(n), stream);
    if (error != cudaSuccess) return error;
    // --- end ---
    vector_add_kernel<<<(n + threads - 1) / threads, threads, 0, stream>>>(out, c, n);
    return cudaGetLastError();
}
"""
FOUR = """#include <cuda_runtime.h>
#ifdef COUNT
#error "a macro of a part that this one builds on"
#endif
extern "C" cudaError_t vector_add(const float* a, const float* b, float* out, int n, cudaStream_t stream);
extern "C" cudaError_t add_three(const float* a, const float* b, const float* c, float* out, int n,
                                 cudaStream_t stream);

extern "C" cudaError_t add_four(const float* a, const float* b, const float* c, const float* d, float* out, int n,
                                cudaStream_t stream) {
    // --- your code ---
    const cudaError_t error = add_three(a, b, c, out, n, stream);
    return error != cudaSuccess ? error : vector_add(out, d, out, n, stream);
    // --- end ---
}
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("puzzles", "solutions"):
        shutil.copytree(ROOT / folder / ADD, tmp_path / folder / ADD)
        (tmp_path / folder / SUMS).mkdir()
    (tmp_path / "puzzles" / SUMS / "puzzle.py").write_text(PUZZLE)
    for name, text in (("1_add_three.cu", THREE), ("2_add_four.cu", FOUR)):
        (tmp_path / "solutions" / SUMS / name).write_text(text)
    monkeypatch.setenv("GRADER_DATA", str(tmp_path / "notes"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verdict(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    cli.run(["check", *arguments, "--json", "--device", "software"])
    printed = json.loads(capsys.readouterr().out)
    jsonschema.validate(printed, SCHEMA)
    judged: dict[str, Any] = printed["parts"][0]
    return judged


def test_a_part_is_compiled_with_what_it_builds_on_and_with_what_that_builds_on(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    three, four = verdict(capsys, "90.1", "--solution"), verdict(capsys, "90.2", "--solution")
    assert (three["state"], four["state"]) == ("passed", "passed"), (three["findings"], four["findings"])
    assert three["uses"] == [{"part": "vector_add", "label": "1.2", "own": False}]
    assert [(used["label"], used["own"]) for used in four["uses"]] == [("1.2", False), ("90.1", False)]


def test_the_learners_own_file_is_taken_once_it_has_passed_as_it_stands(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, solution = (workspace / folder / ADD / "2_vector_add.cu" for folder in ("puzzles", "solutions"))
    three = workspace / "puzzles" / SUMS / "1_add_three.cu"
    three.write_text(THREE)
    assert verdict(capsys, "1.2")["state"] == "not_started"
    assert not verdict(capsys, "90.1")["uses"][0]["own"]
    own.write_text(solution.read_text())
    assert not verdict(capsys, "90.1")["uses"][0]["own"], "nobody has seen it pass"
    assert verdict(capsys, "1.2")["state"] == "passed"
    assert verdict(capsys, "90.1")["uses"][0]["own"]
    cli.run(["check", "90.1", "--device", "software"])
    assert "builds on  1.2 vector_add (yours)" in capsys.readouterr().out
    assert not verdict(capsys, "90.1", "--solution")["uses"][0]["own"]
    own.write_text(solution.read_text() + "// changed\n")
    assert not verdict(capsys, "90.1")["uses"][0]["own"], "it has changed since"


def test_a_fault_in_a_part_that_is_called_is_told_at_the_call(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = workspace / "wrong.cu"
    wrong.write_text(THREE.replace("COUNT(n), stream", "COUNT(n) + 1, stream"))
    judged = verdict(capsys, "90.1", "--file", "wrong.cu")
    line = next(number for number, text in enumerate(wrong.read_text().splitlines(), 1) if "+ 1, stream" in text)
    found = judged["findings"][0]
    assert (found["kind"], found["line"], found["kernel"]) == ("out_of_bounds_write", line, "vector_add_kernel")
    assert "what this line gives `vector_add`" in found["why"]


def test_wrong_values_that_a_called_part_has_written_are_told_at_the_call(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = workspace / "wrong.cu"
    wrong.write_text(FOUR.replace("vector_add(out, d, out", "vector_add(a, d, out"))
    judged = verdict(capsys, "90.2", "--file", "wrong.cu")
    line = next(number for number, text in enumerate(wrong.read_text().splitlines(), 1) if "vector_add(a, d" in text)
    assert [(found["kind"], found["line"]) for found in judged["findings"]] == [("wrong_values", line)]


def test_an_error_of_a_part_that_is_called_has_to_be_passed_on(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deaf = THREE.replace("if (error != cudaSuccess) return error;", "(void)error;")
    (workspace / "deaf.cu").write_text(deaf)
    judged = verdict(capsys, "90.1", "--file", "deaf.cu")
    assert [found["kind"] for found in judged["findings"]] == ["ignored_error"]


def test_a_part_that_builds_on_nothing_known_is_refused_in_a_sentence(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace / "puzzles" / SUMS / "3_add_none.cu").write_text(THREE)
    assert cli.run(["check", "90.3"]) == 2
    assert "Part 90.3 builds on no_such_part, which is no part of any puzzle here." in capsys.readouterr().err
    with pytest.raises(UsageError, match="no_such_part"):
        _ = load_catalog().resolve("90")[0].parts[2].used


def test_includes_stand_before_the_namespaces_and_comments_stay_what_they_are() -> None:
    text = '#include <cuda_fp16.h>\n// #include <nowhere.h>\n#define TILE 16\nconst char* s = "#include <x>";\n'
    made = prelude([UsedSource("one", text), UsedSource("two", text)])
    first, _, rest = made.partition("namespace part_one {")
    assert first == "#pragma once\n#include <cuda_fp16.h>\n"
    assert rest.count("#include <cuda_fp16.h>") == 0
    assert rest.count("// #include <nowhere.h>") == 2
    assert rest.count("#undef TILE") == 2
    assert "namespace part_two {" in rest
    assert prelude([]) == ""


def test_kernels_of_a_used_part_go_by_their_own_name() -> None:
    mangled = "_ZN12part_gemm_nt14gemm_nt_kernelILi16EEEvPKf"
    assert used_part(mangled) == "gemm_nt"
    assert (kernel_name(mangled), base_name(mangled)) == ("gemm_nt_kernel<16>", "gemm_nt_kernel")
    assert base_name("_ZN11eltwise_add18eltwise_add_kernelI6__halfEEvPKT_S4_PS2_x") == "eltwise_add_kernel"
    assert used_part("_Z14gemm_nt_kernelPKf") is None
