"""What a program's source says of its calls: the variable that is filled, and whether a result is looked at."""

from __future__ import annotations

import pytest

from grader.program.log import Allocation
from grader.program.sources import Destination, destinations, looks_at_result


def destination(source: str, function: str = "cudaMalloc", line: int = 1) -> Destination:
    return destinations(source, {1: Allocation(1, function, 0x1000, 400, line, place=8)})[1]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("float* d_a; cudaMalloc(&d_a, n * sizeof(float));", Destination("d_a", 4, "f32")),
        ("cudaMalloc((void**)&d_a, n * sizeof(double));", Destination("d_a", 8, "f64")),
        ("cudaMalloc(reinterpret_cast<void**>(&d_a), n);", Destination("d_a")),
        ("CHECK(cudaMalloc(&buffers[i], n * sizeof(int)));", Destination("buffers[i]", 4, "i32")),
        ("cudaMalloc(&state->weights, bytes);", Destination("state->weights")),
        ("unsigned char *in, *out; cudaMalloc(&out, n);", Destination("out", 1)),
        ("cudaMalloc<float>(&d_a, n);", Destination("d_a")),
        ("cudaMalloc(\n    &d_a,\n    n * sizeof(short));", Destination("d_a", 2)),
        ("allocate(n);", Destination("cudaMalloc at line 1")),
    ],
)
def test_the_variable_that_an_allocation_fills(source: str, wanted: Destination) -> None:
    assert destination(source) == wanted


def test_a_function_of_the_headers_that_calls_another_is_recognised() -> None:
    assert destination("CHECK(cudaMallocHost(&pinned, n * sizeof(int)));", "cudaHostAlloc").name == "pinned"


def test_calls_on_one_line_have_each_its_own_variable() -> None:
    source = "cudaMalloc(&a, 4); cudaMalloc(&b, 4);"
    made = {1: Allocation(1, "cudaMalloc", 0x1000, 4, 1, place=32), 2: Allocation(2, "cudaMalloc", 0x2000, 4, 1, 16)}
    assert {number: found.name for number, found in destinations(source, made).items()} == {1: "b", 2: "a"}


@pytest.mark.parametrize(
    "source",
    ["cudaFree(p);", "{ cudaFree(p); }", "if (p) cudaFree(p);", "(void)cudaFree(p);", "else cudaFree(p);",
     "f(); cudaFree(p);"],
)  # fmt: skip
def test_a_call_that_is_a_statement_of_its_own_throws_its_result_away(source: str) -> None:
    assert not looks_at_result(source, 1, "cudaFree")


@pytest.mark.parametrize(
    "source",
    ["CHECK(cudaFree(p));", "error = cudaFree(p);", "if (cudaFree(p) != cudaSuccess) return 1;", "return cudaFree(p);",
     "ok &= !cudaFree(p);", "expect(a || cudaFree(p));"],
)  # fmt: skip
def test_a_call_within_something_larger_is_looked_at(source: str) -> None:
    assert looks_at_result(source, 1, "cudaFree")


def test_what_stands_on_the_lines_before_counts() -> None:
    assert looks_at_result("error =\n    cudaFree(p);", 2, "cudaFree")
    assert not looks_at_result("f();  // error =\ncudaFree(p);", 2, "cudaFree")
