"""A source that does not compile: whichever program found it, the message names the learner's file and line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.build import BuildFailed, ToolMissing, build
from grader.diagnostics import in_source_terms
from tests.fresh_cache import fresh_cache

FAILURES = {
    "g++, preprocessing": ("#error stop here", "part.cu:2:2: error: #error stop here"),
    "cudafe++": ("int f() { return undeclared; }", 'part.cu(2): error: identifier "undeclared" is undefined'),
    "cicc": (
        "__global__ void k(int* x) { x[0] = __ldg(y); }",
        'part.cu(2): error: identifier "y" is undefined',
    ),
    "ptxas, of a line": (
        '__global__ void k(int* x) {\n    int y;\n    asm volatile("bogus %0, 1;" : "=r"(y));\n    x[0] = y;\n}',
        "part.cu:4: error: Not a name of any known instruction: 'bogus'",
    ),
    "ptxas, of a kernel": (
        "__global__ void k(float* x) {\n    __shared__ float a[20000];\n    a[threadIdx.x] = x[0];\n"
        "    __syncthreads();\n    x[1] = a[3];\n}",
        "part.cu:2: error: Entry function '_Z1kPf' uses too much shared data (0x13880 bytes, 0xc000 max)",
    ),
    "the assembler": ('void f() { asm("bogus %eax"); }', "part.cu:2: error: no such instruction: `bogus %eax'"),
    "the linker": (
        'int helper(int);\nextern "C" int f() { return helper(3); }',
        "part.cu:3: error: undefined reference to `helper(int)'",
    ),
}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with fresh_cache(tmp_path_factory.mktemp("cache")) as directory:
        yield directory


def write(directory: Path, text: str) -> Path:
    source = directory / "part.cu"
    source.write_text(f"#include <cuda_runtime.h>\n{text}\n")
    return source


@pytest.mark.parametrize("found_by", FAILURES)
def test_message_names_the_learners_file_and_line(found_by: str, tmp_path: Path, cache: Path) -> None:
    text, message = FAILURES[found_by]
    with pytest.raises(BuildFailed) as failed:
        build(write(tmp_path, text))
    assert message in failed.value.diagnostics.splitlines()
    assert failed.value.forbidden is None
    assert failed.value.seconds > 0
    for place in (str(tmp_path), str(cache), "/proc/self"):
        assert place not in failed.value.diagnostics


def test_failure_leaves_nothing_in_the_cache(tmp_path: Path, cache: Path) -> None:
    before = set((cache / "builds").iterdir()) if (cache / "builds").exists() else set()
    with pytest.raises(BuildFailed):
        build(write(tmp_path, "#error again"))
    assert set((cache / "builds").iterdir()) == before
    assert not list((cache / "work").iterdir())


def test_warnings_are_kept_with_the_build(tmp_path: Path) -> None:
    source = write(tmp_path, 'extern "C" int f(unsigned x) {\n    return x < -1;\n}')
    first = build(source)
    assert "part.cu(3): warning #68-D: integer conversion" in first.warnings
    assert "warning: comparison of integer expressions" in first.warnings
    assert (build(source).cached, build(source).warnings) == (True, first.warnings)


def test_a_compiler_that_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.build._CPU_SECONDS", 1)
    halves = "F<A - 1, 2 * B>::v + F<A - 1, 2 * B + 1>::v"
    text = f"template <int A, int B> struct F {{ static constexpr long v = {halves}; }};\n"
    text += "template <int B> struct F<0, B> { static constexpr long v = 1; };\nlong all = F<20, 1>::v;"
    with pytest.raises(BuildFailed, match="did not come to an end in 1 s") as failed:
        build(write(tmp_path, text))
    assert failed.value.timed_out


def test_a_machine_too_busy_to_compile_says_nothing_against_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.build._SECONDS", 0.05)
    with pytest.raises(ToolMissing, match="too busy"):
        build(write(tmp_path, "int never;"))


def test_a_compiler_that_takes_all_memory_is_stopped(tmp_path: Path) -> None:
    halves = "F<A - 1, 2 * B>::v + F<A - 1, 2 * B + 1>::v"
    text = f"template <int A, int B> struct F {{ static constexpr long v = {halves}; }};\n"
    text += "template <int B> struct F<0, B> { static constexpr long v = 1; };\nlong all = F<24, 1>::v;"
    with pytest.raises(BuildFailed, match="out of memory"):
        build(write(tmp_path, text))


def test_a_source_of_unreasonable_size_is_refused_unread(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="larger than"):
        build(write(tmp_path, " " * (1 << 20)))


def test_code_inlined_from_a_header_has_the_line_of_the_call() -> None:
    ptx = """\
.visible .entry k(
)
{
\t.loc\t1 10 5
\tadd.s32 %r1, %r2, %r3;
\t.loc\t2 99 3, function_name $L__info_string0, inlined_at 1 12 7
\tbogus %r1;
\t.loc\t2 77 3
\tbogus %r2;
}
\t.file\t1 "/anywhere/part.cu"
\t.file\t2 "/usr/include/some.h"
"""
    said = "ptxas part.ptx, line 7; error   : of the call\nptxas part.ptx, line 9; warning : of a header\nelse\n"
    assert in_source_terms(said, ptx, "part.cu") == (
        "part.cu:12: error: of the call\npart.cu:12: warning: of a header\nelse\n"
    )
    assert in_source_terms(said, "", "part.cu") == said
