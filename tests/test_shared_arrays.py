"""A byte of shared memory is told as the place that the learner's declaration makes of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from grader.catalog import load_catalog
from grader.explain.names import variable_name
from grader.shared_arrays import shared_place
from tests.judging import ROOT, Judge, shown

PART = load_catalog(ROOT).resolve("5.1")[1]


@pytest.mark.parametrize(
    ("source", "size", "at", "text"),
    [
        ("__shared__ float s[256];", 1024, 20, "`s[5]`"),
        ("__shared__ float s[256];", 1024, 1024, "`s[256]`"),
        ("constexpr unsigned T = 16;\n__shared__ float s[T][T + 1];", 16 * 17 * 4, 18 * 4, "`s[1][1]`"),
        ("#define T 16\n__shared__ float A[T][T], s[T][T];", 1024, 33 * 4, "`s[2][1]`"),
        ("const int W = 32 / 2, N = 2 * W;\n__shared__ double s[N];", 256, 16, "`s[2]`"),
        ("__shared__ half s[2][8][4u];", 128, 2 * (32 + 4 + 3), "`s[1][1][3]`"),
        ("extern __shared__ float s[];", 512, 12, "`s[3]`"),
        ("__shared__ alignas(16) volatile unsigned int s[4];", 16, 4, "`s[1]`"),
        ("template <int N> void k() {\n    __shared__ float s[N];\n}", 64, 8, "`s[2]`"),
        ("template <int N> void k() {\n    __shared__ float s[4][N];\n}", 128, 36, "`s[1][1]`"),
        ("struct Pair { float a, b; };\n__shared__ Pair s[8];", 64, 16, "`s[2]`"),
        ("__shared__ float s;", 4, 0, "`s`"),
        ("// __shared__ float s[2];\n__shared__ /* two */ float s[4][2];", 32, 12, "`s[1][1]`"),
        ("__shared__ float s[64];\n__shared__ float s[2][16];", 128, 64, "`s[1][0]`"),
    ],
)
def test_a_place_is_told_with_its_subscripts(source: str, size: int, at: int, text: str) -> None:
    assert shared_place(source, "s", at, size).text == text


@pytest.mark.parametrize(
    "source",
    [
        "",
        "float s[16];",
        "__shared__ float other[16];",
        "__shared__ Unknown s[A][B];",
        "__shared__ float s[16][columns()];",
        "MACRO(s);",
    ],
)
def test_where_the_declaration_says_too_little_the_name_is_told_alone(source: str) -> None:
    place = shared_place(source, "s", 8, 64)
    assert (place.name, place.text, place.index) == ("s", None, None)


def test_a_byte_inside_an_element_has_no_subscript() -> None:
    assert shared_place("__shared__ float s[16];", "s", 6, 64).text is None


@pytest.mark.parametrize("piece", ["__shared__ ", "const int a = ", "const unsigned ", "[", "(", "/*", "#define A "])
def test_a_source_made_to_be_slow_is_not(piece: str) -> None:
    begun = time.perf_counter()
    shared_place(piece * 20_000, "s", 0, 64)
    assert time.perf_counter() - begun < 2


@pytest.mark.parametrize("name", ["_ZZ10sum_kernelPKfPfiE7partial", "_ZZ4tileILi16EEvPKfPfE7partial", "partial"])
def test_a_mangled_variable_goes_by_the_name_it_was_declared_with(name: str) -> None:
    assert variable_name(name) == "partial"


def test_findings_in_shared_memory_name_variable_and_place(judge: Judge, tmp_path: Path) -> None:
    assert PART is not None
    source = tmp_path / PART.path.name
    text = PART.solution_path.read_text(encoding="utf-8")
    source.write_text(text.replace("partial[threadIdx.x] = ", "if (threadIdx.x < 700) partial[threadIdx.x] = "))
    verdict = judge(PART, source)
    (first, *_) = verdict.findings
    assert (first.kind, first.buffer, first.index) == ("uninitialised_read", "partial", 700), shown(verdict)
    assert "`partial[700]`" in first.message
