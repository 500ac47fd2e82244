"""Entries as functions on CPU tensors: the solutions are PyTorch's functions, misuse and faults are told in words."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch

from grader.build import build
from grader.catalog import Located, UsageError, load_catalog
from grader.compare import compare
from grader.inputs import memory_for
from grader.op import Entry, EntryFailed, EntryMisused, NoBackEnd, load_entry, part_entry
from grader.puzzle import Case, Part
from tests.judging import ROOT
from tests.op.parts import SCALE, copy_part

COPY = """
__global__ void copy_kernel(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    BODY
}
extern "C" cudaError_t copy(const float* x, float* y, int n, cudaStream_t stream) {
    copy_kernel<<<LAUNCH, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
"""


def located(name: str) -> Located:
    found = load_catalog().resolve(name)[1]
    assert found is not None
    return found


def solution(name: str) -> Entry:
    one = located(name)
    return load_entry(build(one.solution_path), one.part)


def arguments(part: Part, case: Case, memory: Mapping[str, torch.Tensor]) -> list[torch.Tensor | int | float]:
    return [memory[param.name] if param.name in memory else case.params[param.name] for param in part.params]


def copying(tmp_path: Path, body: str = "if (i < n) y[i] = x[i];", launch: str = "(n + 63) / 64, 64") -> Entry:
    source = tmp_path / "copy.cu"
    source.write_text(COPY.replace("BODY", body).replace("LAUNCH", launch))
    return load_entry(build(source), copy_part())


@pytest.mark.parametrize("name", ["1.2", "1.5", "2.3", "5.4", "5.7", "6.4", "6.6"])
def test_a_solution_called_on_tensors_gives_what_pytorch_gives(name: str) -> None:
    entry = solution(name)
    for case in list(entry.part.cases())[:3]:
        memory = memory_for(entry.part, case, 5)
        inputs = {buffer.name: memory[buffer.name].clone() for buffer in entry.part.buffers if buffer.is_read}
        entry(*arguments(entry.part, case, memory))
        assert compare(entry.part, case, inputs, memory).wrong == 0, case


def test_leading_dimensions_may_be_apart_and_a_workspace_may_be_larger() -> None:
    norm, total = solution("6.2"), solution("5.4")
    x, w, y = torch.randn(2, 3, 40), torch.randn(40), torch.empty(2, 3, 40)
    norm(x, w, y, 6, 40, 1e-5)
    torch.testing.assert_close(y, torch.nn.functional.rms_norm(x, (40,), w, 1e-5))
    out = torch.empty(1)
    total(torch.ones(2, 500), out, torch.empty(5000), 1000)
    assert out.item() == 1000


def test_a_tensor_may_be_given_twice() -> None:
    add = solution("1.2")
    x = torch.arange(1000.0)
    out = torch.empty(1000)
    add(x, x, out, 1000)
    assert torch.equal(out, 2 * x)
    add(x, out, out, 1000)
    assert torch.equal(out, 3 * x)


def test_two_objects_with_kernels_of_one_name_do_not_meet(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one, other = copying(tmp_path), copying(tmp_path / "other", "if (i < n) y[i] = -x[i];")
    x, y = torch.randn(100), torch.empty(100)
    for _ in range(2):
        one(x, y, 100)
        assert torch.equal(y, x)
        other(x, y, 100)
        assert torch.equal(y, -x)


def test_the_program_is_loaded_once_a_build() -> None:
    add = solution("1.2")
    x, out = torch.randn(64), torch.empty(64)
    add(x, x, out, 64)
    again = solution("1.2")
    spent = []
    for _ in range(20):
        begun = time.perf_counter()
        again(x, x, out, 64)
        spent.append(time.perf_counter() - begun)
    assert min(spent) < 0.02


def test_the_example_of_the_docs_runs() -> None:
    page = (Path(__file__).parents[1] / "docs" / "calling-entries.md").read_text(encoding="utf-8")
    example = page.partition("```python\n")[2].partition("```")[0].replace("part.path", "part.solution_path")
    names: dict[str, torch.Tensor] = {}
    exec(example, names)
    wanted = torch.nn.functional.rms_norm(names["x"], (512,), names["w"], 1e-5)
    torch.testing.assert_close(names["y"], wanted)


def test_an_entry_is_known_by_its_name_also_where_a_puzzle_has_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    add, x, out = part_entry("vector_add"), torch.randn(100), torch.empty(100)
    add(x, x, out, 100)
    assert torch.equal(out, 2 * x)
    with pytest.raises(UsageError, match="No puzzle here has a part vector_sub"):
        part_entry("vector_sub")(x)


# ---- misuse ----

X, Y = torch.randn(100), torch.empty(100)
MISUSED: dict[str, tuple[Callable[[Entry], None], str]] = {
    "too few": (lambda copy: copy(X, Y), r"was called with 2 arguments; it is copy\(x, y, n\), without the stream"),
    "no tensor": (lambda copy: copy([1.0], Y, 1), "wants a tensor for `x`, not a list"),
    "no number": (lambda copy: copy(X, Y, "100"), "wants a whole number for `n`, not a str"),
    "a fraction": (lambda copy: copy(X, Y, 2.5), "wants a whole number for `n`, not a float"),
    "a truth value": (lambda copy: copy(X, Y, True), "wants a whole number for `n`, not a bool"),
    "a tensor as number": (lambda copy: copy(X, Y, torch.tensor(100)), "wants a whole number for `n`, not a Tensor"),
    "negated": (lambda copy: copy(torch._neg_view(X), Y, 100), r"`x`, a view that PyTorch negates .*resolve_neg\(\)"),
    "the negated part of a conjugate": (
        lambda copy: copy(torch.ones(100, dtype=torch.cfloat).conj().imag, Y, 100),
        "`x`, a view that PyTorch negates",
    ),
    "a conjugate": (lambda copy: copy(X.to(torch.cfloat).conj(), Y, 100), "`x` as float32, and it is complex64"),
    "sparse": (lambda copy: copy(X.to_sparse(), Y, 100), "`x` as a sparse, nested or otherwise packed tensor"),
    "packed": (lambda copy: copy(X.to_mkldnn(), Y, 100), "`x` as a sparse, nested or otherwise packed tensor"),
    "no memory": (lambda copy: copy(torch._efficientzerotensor(100), Y, 100), "`x`, which has no memory of its own"),
    "too large": (lambda copy: copy(X, Y, 1 << 31), "n = 2147483648 does not fit into 32 bits"),
    "below zero": (lambda copy: copy(X, Y, -1), "x: the dimension n is -1, below 0"),
    "another type": (lambda copy: copy(X.double(), Y, 100), "wants `x` as float32, and it is float64"),
    "strided": (lambda copy: copy(X, torch.empty(200)[::2], 100), r"`y` contiguous; `.contiguous\(\)` makes a copy"),
    "too small": (
        lambda copy: copy(X, torch.empty(99), 100),
        r"wants `y` of shape n = \[100\], 100 elements, and it is \[99\]",
    ),
    "too many": (lambda copy: copy(X, torch.empty(101), 100), r"and it is \[101\]"),
    "overlap": (lambda copy: copy(X[1:], X[:-1], 99), "was given `y` and `x`, which share a part of their memory"),
    "another device": (lambda copy: copy(X.to("meta"), Y.to("meta"), 100), "and these are on meta"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSED)
def test_misuse_is_told_in_a_sentence_and_calls_nothing(name: str, tmp_path: Path) -> None:
    copy, (call, words) = copying(tmp_path), MISUSED[name]
    Y.fill_(math.pi)
    with pytest.raises(EntryMisused, match=f"^`copy`.*{words}.*\\.$"):
        call(copy)
    assert torch.equal(Y, torch.full_like(Y, math.pi))


def test_a_matrix_of_the_wrong_shape_is_refused_though_it_has_as_many_elements() -> None:
    norm = solution("6.2")
    with pytest.raises(EntryMisused, match=r"`x` of shape rows × cols = \[3, 4\], 12 elements, and it is \[4, 3\]"):
        norm(torch.randn(4, 3), torch.randn(4), torch.empty(3, 4), 3, 4, 1e-5)


def test_a_number_that_is_none_or_fits_no_float_is_refused() -> None:
    norm, x, w = solution("6.2"), torch.randn(3, 4), torch.ones(4)
    y = torch.empty(3, 4)
    for eps, words in (
        ("1e-5", "a str"),
        (True, "a bool"),
        (torch.tensor(1e-5), "a Tensor"),
        (10**400, "one beyond the range of a float"),
        (1e300, "one beyond the range of a float"),
    ):
        with pytest.raises(EntryMisused, match=rf"wants a number for `eps`, not {words}\.$"):
            norm(x, w, y, 3, 4, eps)
    norm(x, w, y, 3, 4, math.inf)  # a number as good as another
    assert torch.equal(y, torch.zeros(3, 4))


def test_a_backward_pass_that_needs_what_an_entry_wrote_over_raises(tmp_path: Path) -> None:
    y, leaf = torch.ones(100), torch.ones(100, requires_grad=True)
    read, loss = (leaf * X).sum(), (leaf * y).sum()
    copying(tmp_path)(X, y, 100)
    read.backward()  # type: ignore[no-untyped-call]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()  # type: ignore[no-untyped-call]


def test_an_entry_that_is_no_function_on_tensors_is_refused() -> None:
    answers = located("3.1")
    with pytest.raises(EntryMisused, match="host code that fills in answers"):
        load_entry(build(answers.solution_path), answers.part)
    with pytest.raises(NoBackEnd, match=r"1_bank_answers\.cu has no `scale`"):
        load_entry(build(answers.solution_path), SCALE)


# ---- faults ----

FAULTS = {
    "out of bounds": ("y[i] = x[i];", "(n + 63) / 64, 64", "out_of_bounds_write", 4, r"writes y\[100\]"),
    "an input is written": ("if (i < n) ((float*)x)[i] = 0.f;", "(n + 63) / 64, 64", "read_only_violation", 4, "x"),
    "a result is read": ("if (i < n) y[i] += x[i];", "(n + 63) / 64, 64", "uninitialised_read", 4, "y"),
    "a race": ("if (i < n) y[0] = x[i];", "(n + 63) / 64, 64", "data_race", 4, "y"),
    "too many threads": ("if (i < n) y[i] = x[i];", "1, 2048", "launch_error", 7, "2048|2,048"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_raised_with_its_line_and_the_next_call_is_as_before(name: str, tmp_path: Path) -> None:
    body, launch, kind, line, words = FAULTS[name]
    copy, x = copying(tmp_path, body, launch), torch.randn(100)
    for _ in range(2):
        with pytest.raises(EntryFailed, match=words) as raised:
            copy(x, torch.empty(100), 100)
        assert (raised.value.findings[0].kind, raised.value.findings[0].line) == (kind, line)
        assert str(raised.value).startswith(f"copy.cu:{line}: ")
        assert "`" not in str(raised.value)


def test_an_error_that_the_entry_returns_is_raised(tmp_path: Path) -> None:
    source = tmp_path / "copy.cu"
    source.write_text(
        'extern "C" cudaError_t copy(const float*, float*, int, cudaStream_t) { return cudaErrorInvalidValue; }\n'
    )
    with pytest.raises(EntryFailed, match=r"`copy` returned cudaErrorInvalidValue: invalid argument\.$") as raised:
        load_entry(build(source), copy_part())(X, torch.empty(100), 100)
    assert raised.value.error == "cudaErrorInvalidValue"


def test_an_error_that_the_entry_has_dealt_with_is_none(tmp_path: Path) -> None:
    source = tmp_path / "copy.cu"
    second = "copy_kernel<<<1, 128, 0, stream>>>(x, y, n);"
    twice = COPY.replace("BODY", "if (i < n) y[i] = x[i];").replace("LAUNCH", "1, 2048")
    source.write_text(twice.replace("    return", f"    if (cudaGetLastError() != cudaSuccess) {second}\n    return"))
    y = torch.empty(100)
    load_entry(build(source), copy_part())(X, y, 100)
    assert torch.equal(y, X)


def test_an_object_with_managed_memory_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "copy.cu"
    source.write_text("__managed__ int shared;\n" + COPY.replace("BODY", "y[i] = shared;").replace("LAUNCH", "1, n"))
    with pytest.raises(NoBackEnd, match="has a __managed__ variable"):
        load_entry(build(source), copy_part())
