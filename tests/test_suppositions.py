"""Wrong values that fit a usual mistake in what was computed: too few terms, a scalar left out, an input mixed up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from grader.compare import reference_results
from grader.explain import Values, find_pattern
from grader.inputs import draw_inputs
from grader.puzzle import Case, In, Mistake, Out, Part, Scalar, Tolerance, Work, f32, i32
from grader.suppositions import mistakes, suppositions

GEMM = Part(
    "gemm",
    params=[
        In("A", f32, "M", "K"),
        In("B", f32, "K", "N"),
        In("bias", f32, "N"),
        Out("C", f32, "M", "N"),
        *(Scalar(name, i32) for name in "MNK"),
        Scalar("alpha", f32),
        Scalar("act", i32),
    ],
    reference=lambda A, B, bias, alpha, act: (alpha * A @ B + bias).clamp(min=0 if act else -torch.inf),  # noqa: N803
    groups={"some": [Case(M=33, N=17, K=40, alpha=0.5, act=1)]},
    bench=Case(M=1, N=1, K=1, alpha=1, act=0),
    work=lambda M, N, K: Work(bytes=4 * (M * K + K * N + M * N), flops=2 * M * N * K),  # noqa: N803
    tolerance=Tolerance(1e-5, 1e-5, why="for a test"),
    lesson="",
)
SUM = Part(
    "reduce_sum",
    params=[In("x", f32, "n"), Out("out", f32, 1), Scalar("n", i32)],
    reference=lambda x: x.sum().reshape(1),
    groups={"some": [Case(n=1000)]},
    bench=Case(n=1),
    work=lambda n: Work(bytes=4 * n, flops=n),
    tolerance=Tolerance(1e-6, 1e-6, why="for a test"),
    lesson="",
)
ADD = Part(
    "vector_add",
    params=[In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
    reference=lambda a, b: a + b,
    groups={"some": [Case(n=1000)]},
    bench=Case(n=1),
    work=lambda n: Work(bytes=12 * n, flops=n),
    tolerance=Tolerance(1e-6, why="for a test"),
    lesson="",
)
Tensors = dict[str, torch.Tensor]


def told(part: Part, kernel: Callable[[Tensors], torch.Tensor], case: Case | None = None, threads: int = 256) -> str:
    """What is said of what `kernel` makes of a case's inputs, computed in float."""
    case = case or next(part.cases())
    inputs = draw_inputs(part, case, seed=7)
    (buffer,) = part.results
    expected = reference_results(part, case, inputs)[buffer.name].flatten()
    got = kernel(dict(inputs)).float().double().reshape(expected.shape)
    room = part.tolerance.absolute_in(case) + part.tolerance.relative * expected.abs()
    values = Values(
        got,
        expected,
        wrong=~((got - expected).abs() <= room),  # NaN is wrong
        shape=tuple(reference_results(part, case, inputs)[buffer.name].shape),
        inputs={name: tensor.double() for name, tensor in inputs.items()},
        allowed=room,
        mistaken=mistakes(part, case, buffer, inputs),
        supposed=suppositions(part, case, buffer, inputs, threads),
    )
    return find_pattern(values).words


def gemm(t: Tensors, *, keep: slice = slice(None), alpha: float = 0.5, low: float = 0) -> torch.Tensor:
    return (alpha * (t["A"][:, keep].double() @ t["B"][keep].double()) + t["bias"]).clamp(min=low)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (lambda t: gemm(t, keep=slice(0, 32)), "as if only the first 32 of the 40 along K counted"),
        (lambda t: gemm(t, keep=slice(0, 16)), "as if only the first 16 of the 40 along K counted"),
        (lambda t: gemm(t, keep=slice(0, 39)), "as if only the first 39 of the 40 along K counted"),
        (lambda t: gemm(t, keep=slice(1, 40)), "as if the first of the 40 along K were left out"),
        (lambda t: gemm(t, keep=slice(0, 40, 2)), "as if only one in 2 along K counted"),
        (lambda t: gemm(t, keep=slice(32, 40)), "as if only 32 to 39 of the 40 along K counted"),
        (lambda t: gemm(t, alpha=1), "as if alpha were 1"),
        (lambda t: gemm(t, low=-torch.inf), "as if act were 0"),
        (lambda t: gemm(t | {"bias": torch.zeros(17)}), "as if bias were all zeros"),
        (lambda t: gemm(t | {"B": t["B"].reshape(17, 40).T}), "as if B were stored column by column"),
        (lambda t: gemm(t | {"A": t["A"].reshape(40, 33).T}), "as if A were stored column by column"),
    ],
)
def test_a_matrix_product_with_one_mistake(kernel: Callable[[Tensors], torch.Tensor], words: str) -> None:
    assert words in told(GEMM, kernel)
    assert words not in told(GEMM, lambda t: kernel(t) * (1 + 1e-3 * torch.arange(33)[:, None]))


def test_two_factors_that_have_changed_places() -> None:
    square = Case(M=24, N=24, K=24, alpha=0.5, act=1)
    words = told(GEMM, lambda t: gemm(t | {"A": t["B"], "B": t["A"]}), square)
    assert words == "as if A and B were exchanged"


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (lambda x: x[:256].sum(), "as if only the first 256 of the 1000 along n counted"),
        (lambda x: x[:768].sum(), "as if only the first 768 of the 1000 along n counted"),
        (lambda x: x[:999].sum(), "as if only the first 999 of the 1000 along n counted"),
        (lambda x: x[768:].sum(), "as if only 768 to 999 of the 1000 along n counted"),
        (lambda x: x[512:768].sum(), "as if only 512 to 767 of the 1000 along n counted"),
        (lambda x: x[::32].sum(), "as if only one in 32 along n counted"),
        (lambda x: 2 * x.sum(), "twice the right value"),
        (lambda x: 32 * x.sum(), "32 times the right value (a warp)"),
        (lambda x: x.sum() * 0, "everything is zero"),
        (lambda x: x[:300].sum(), "all elements"),
        (lambda x: x[:256].sum() + 1e-2, "all elements"),
    ],
)
def test_a_sum_of_too_little(kernel: Callable[[torch.Tensor], torch.Tensor], words: str) -> None:
    assert told(SUM, lambda t: kernel(t["x"].double())) == words


ROWS = Part(
    "warp_sum",
    params=[In("x", f32, "rows", 32), Out("out", f32, "rows"), Scalar("rows", i32)],
    reference=lambda x: x.sum(1),
    groups={"some": [Case(rows=40)]},
    bench=Case(rows=1),
    work=lambda rows: Work(bytes=132 * rows, flops=32 * rows),
    tolerance=Tolerance(1e-6, 1e-6, why="for a test"),
    lesson="",
)


def test_a_step_of_a_warp_that_is_left_out() -> None:
    assert told(ROWS, lambda t: t["x"][:, ::2].sum(1)) == "as if only one in 2 along a row counted"
    assert told(ROWS, lambda t: t["x"][:, :16].sum(1)) == "as if only the first 16 of the 32 along a row counted"
    assert told(ROWS, lambda t: t["x"][:, 31:].sum(1)) == "as if only the last of the 32 along a row counted"
    assert told(ROWS, lambda t: t["x"][:, :11].sum(1)) == "all elements"


def test_a_neighbour_that_is_read_instead() -> None:
    assert told(ADD, lambda t: t["a"] + t["b"].roll(-1)) == "as if b were read one element too far"
    assert told(ADD, lambda t: t["a"].roll(1) + t["b"]) == "as if a were read one element too early"
    assert told(ADD, lambda t: t["a"] + t["b"].roll(-2)) == "all elements"


def test_large_cases_are_spared() -> None:
    case = Case(M=1 << 12, N=1 << 12, K=1 << 12, alpha=1, act=0)
    assert list(suppositions(GEMM, case, GEMM.results[0], {}, 256)) == []


# ---- mistakes that a part names -------------------------------------------------------------------------------------

SOFTMAX = Part(
    "row_softmax",
    params=[
        In("x", f32, "rows", "cols"),
        Out("y", f32, "rows", "cols"),
        Scalar("rows", i32),
        Scalar("cols", i32),
    ],
    reference=lambda x: x.softmax(1),
    groups={"some": [Case(rows=7, cols=40)], "large": [Case(rows=7, cols=40, inputs={"x": "large_offset"})]},
    bench=Case(rows=1, cols=1),
    work=lambda rows, cols: Work(bytes=8 * rows * cols, flops=rows * cols),
    tolerance=Tolerance(1e-5, 1e-9, why="for a test"),
    lesson="",
    mistakes=[
        Mistake("the sum were not divided by", lambda x: (x - x.amax(1, keepdim=True)).exp(), why="Divide."),
        Mistake("the maximum stayed", lambda x: x.exp() / x.exp().sum(1, keepdim=True), why="Subtract it."),
    ],
)


def test_a_mistake_that_a_part_names_is_told_in_its_words() -> None:
    undivided = told(SOFTMAX, lambda given: (given["x"] - given["x"].amax(1, keepdim=True)).exp())
    assert undivided == "as if the sum were not divided by"


def test_a_mistake_may_make_numbers_that_are_none() -> None:
    _, large = SOFTMAX.cases()
    overflown = told(SOFTMAX, lambda given: given["x"].exp() / given["x"].exp().sum(1, keepdim=True), large)
    assert overflown == "as if the maximum stayed"


def test_numbers_that_are_none_without_a_mistake_are_told_by_their_place() -> None:
    assert told(SOFTMAX, lambda given: given["x"] * torch.nan) == "all elements"


def test_a_wrong_leading_dimension() -> None:
    def kernel(inputs: Tensors) -> torch.Tensor:
        rows, width = inputs["A"].shape
        places = torch.arange(rows)[:, None] * 17 + torch.arange(width)  # N in the place of K
        return gemm({**inputs, "A": inputs["A"].flatten()[places]})

    assert told(GEMM, kernel) == "as if a row of A began 17 elements behind the one before, and not 40"
