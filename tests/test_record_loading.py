"""Files that cannot be called: nothing by that name, nothing to link to, or code that runs while they are loaded."""

from __future__ import annotations

from pathlib import Path

from grader.build import build
from grader.record import Recording, record_entry
from tests.recording import call_of, recorded

ENTRY = """
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void kernel(float* out) { out[0] = 1; }
"""


def record_text(directory: Path, text: str, *, linkage: str = 'extern "C"') -> Recording:
    source = directory / "entry.cu"
    signature = "cudaError_t entry(const float*, float*, int, cudaStream_t)"
    source.write_text(f"{ENTRY}{linkage} {signature} {{ return cudaSuccess; }}\n{text}\n")
    return record_entry(build(source), call_of("entry"))


def test_an_entry_that_is_not_there_is_missing() -> None:
    (finding,) = recorded("honest.cu", "no_such_entry").findings
    assert (finding.kind, finding.facts) == ("missing_entry", {"variant": "plain"})


def test_an_entry_without_c_linkage_is_told_apart(tmp_path: Path) -> None:
    (finding,) = record_text(tmp_path, "", linkage="").findings
    assert (finding.kind, finding.facts, finding.line) == ("missing_entry", {"variant": "mangled"}, 6)


def test_code_that_runs_while_the_file_is_loaded_is_caged_too(tmp_path: Path) -> None:
    text = 'static FILE* file = std::fopen("/etc/passwd", "r");\nstatic int line = (kernel<<<1, 1>>>(nullptr), 0);'
    (finding,) = record_text(tmp_path, text).findings
    assert (finding.kind, finding.line) == ("forbidden_call", 7)


def test_a_launch_while_the_file_is_loaded_is_off_the_stream(tmp_path: Path) -> None:
    (finding,) = record_text(tmp_path, "static int launched = (kernel<<<1, 1>>>(nullptr), 0);").findings
    assert (finding.kind, finding.line) == ("capture_unsafe", 7)


def test_leaving_while_the_file_is_loaded_is_forbidden(tmp_path: Path) -> None:
    text = "__attribute__((constructor)) static void leave() { std::exit(0); }"
    (finding,) = record_text(tmp_path, text).findings
    assert (finding.kind, finding.line) == ("forbidden_call", 7)
