"""Puzzle 10's op runtime: every operation is PyTorch's, each call goes to the variant that fits, others are refused."""

from __future__ import annotations

import ctypes
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

from grader.catalog import load_catalog
from tests.judging import ROOT, Judge
from tests.op.runtime import KINDS, RUNTIME, Runtime, TensorDesc, described

INVALID, NOT_SUPPORTED = "cudaErrorInvalidValue", "cudaErrorNotSupported"
PAGE = ROOT / "puzzles" / "puzzle_10_train_step" / "README.md"
INTERFACE = ROOT / "docs" / "tensor-desc.md"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    return Runtime.of(tmp_path_factory.mktemp("runtime") / "probe.cu")


def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape).to(dtype)


def done(runtime: Runtime, kind: str, inputs: Sequence[torch.Tensor], out: torch.Tensor, *attrs: float) -> torch.Tensor:
    out.fill_(torch.nan)
    assert runtime.op(kind, inputs, [out], *attrs) == (0, "cudaSuccess"), runtime.refusal
    assert runtime.refusal == ""
    return out


# ---- what the operations give ---------------------------------------------------------------------------------------

TYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
SHAPES = pytest.mark.parametrize("shape", [(5, 7), (64, 128), (1, 1), (257,), (2, 3, 4, 5), (), (0, 4)])


def near(got: torch.Tensor, expected: torch.Tensor) -> None:
    """Within some roundings of the type that the result is stored in."""
    rounding = 2.0**-10 if got.dtype is torch.float16 else 2.0**-18
    torch.testing.assert_close(got.double(), expected.double(), rtol=rounding, atol=rounding)


@TYPES
@SHAPES
def test_operations_by_element_give_what_pytorch_gives(
    runtime: Runtime, dtype: torch.dtype, shape: tuple[int, ...]
) -> None:
    torch.manual_seed(1)
    a, b = drawn(*shape, dtype=dtype), drawn(*shape, dtype=dtype)
    out, wide = torch.empty_like(a), (a.double(), b.double())
    near(done(runtime, "EltwiseAdd", [a, b], out), wide[0] + wide[1])
    near(done(runtime, "EltwiseRelu", [a], out), wide[0].relu())
    near(done(runtime, "MseGrad", [a, b], out), 2 * (wide[0] - wide[1]) / max(a.numel(), 1))
    near(done(runtime, "ReluBwd", [a, b], out), wide[0] * (wide[1] > 0))


@TYPES
def test_a_bias_is_added_to_each_row_and_its_gradient_is_the_sum_over_them(
    runtime: Runtime, dtype: torch.dtype
) -> None:
    torch.manual_seed(2)
    for rows, cols in ((5, 7), (64, 128), (1, 33), (100, 1), (0, 3), (3, 0)):
        x, bias = drawn(rows, cols, dtype=dtype), drawn(cols, dtype=dtype)
        near(done(runtime, "BiasAdd", [x, bias], torch.empty_like(x)), x.double() + bias.double())
        near(done(runtime, "ReduceSum", [x], torch.empty_like(bias), 0), x.double().sum(0))


def test_sums_go_along_the_first_or_the_last_axis(runtime: Runtime) -> None:
    torch.manual_seed(3)
    for shape in ((5, 7), (64, 300), (2, 3, 40), (9,), (3, 0)):
        x = drawn(*shape)
        near(done(runtime, "ReduceSum", [x], torch.empty(shape[:-1]), len(shape) - 1), x.double().sum(-1))
        near(done(runtime, "ReduceSum", [x], torch.empty(shape[1:]), 0), x.double().sum(0))


PRODUCTS = ((5, 7, 3), (64, 128, 256), (1, 1, 1), (33, 65, 31), (17, 5, 0), (0, 3, 4), (130, 2, 70), (70, 100, 200))


@TYPES
@pytest.mark.parametrize(("trans_a", "trans_b"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_products_of_any_size_are_right_whatever_is_turned(
    runtime: Runtime, dtype: torch.dtype, trans_a: int, trans_b: int
) -> None:
    torch.manual_seed(4)
    for rows, cols, inner in PRODUCTS:
        a = drawn(*((inner, rows) if trans_a else (rows, inner)), dtype=dtype)
        b = drawn(*((cols, inner) if trans_b else (inner, cols)), dtype=dtype)
        expected = (a.T if trans_a else a).double() @ (b.T if trans_b else b).double()
        for out in {dtype, torch.float32}:
            got = done(runtime, "Gemm", [a, b], torch.empty(rows, cols, dtype=out), trans_a, trans_b)
            rounding = 2.0**-10 if out is torch.float16 else 2.0**-18
            torch.testing.assert_close(got.double(), expected, rtol=rounding, atol=rounding * max(inner, 1) ** 0.5)


@TYPES
def test_products_take_views_with_strides(runtime: Runtime, dtype: torch.dtype) -> None:
    torch.manual_seed(5)
    a, b = drawn(40, 2, 30, dtype=dtype)[:, 1], drawn(20, 30, dtype=dtype).T
    out = torch.empty(20, 40, dtype=dtype).T
    got = done(runtime, "Gemm", [a, b], out, 0, 0)
    rounding = 2.0**-10 if dtype is torch.float16 else 2.0**-18
    torch.testing.assert_close(got.double(), a.double() @ b.double(), rtol=rounding, atol=6 * rounding)


VIEWS: Sequence[Callable[[torch.Tensor], torch.Tensor]] = (
    lambda w: w,
    lambda w: w[1:],
    lambda w: w[:, 1],
    lambda w: w.T,
    lambda w: w[::2, ::3],
)


@TYPES
def test_an_update_moves_the_weights_that_a_view_shows_and_no_others(runtime: Runtime, dtype: torch.dtype) -> None:
    torch.manual_seed(6)
    for view in VIEWS:
        whole, gradients = drawn(10, 12, dtype=dtype), drawn(10, 12, dtype=dtype)
        expected = whole.double()
        view(expected).sub_(0.1 * view(gradients.double()))
        w = view(whole)
        assert runtime.op("SgdStep", [w, view(gradients)], [w], 0.1) == (0, "cudaSuccess"), runtime.refusal
        near(whole, expected)


def test_weights_in_halves_follow_a_gradient_in_floats(runtime: Runtime) -> None:
    torch.manual_seed(8)
    w, g = drawn(7, 9, dtype=torch.float16), drawn(7, 9)
    expected = w.double() - 0.1 * g.double()
    assert runtime.op("SgdStep", [w, g], [w], 0.1) == (0, "cudaSuccess"), runtime.refusal
    near(w, expected)


def test_calls_give_the_same_bits_alone_twice_and_in_another_order(runtime: Runtime) -> None:
    torch.manual_seed(7)
    x, dy, z = drawn(33, 17), drawn(33, 9), drawn(33, 9)
    calls: dict[str, Callable[[], torch.Tensor]] = {
        "dw": lambda: done(runtime, "Gemm", [x, dy], torch.empty(17, 9), 1, 0),
        "db": lambda: done(runtime, "ReduceSum", [dy], torch.empty(9), 0),
        "dy": lambda: done(runtime, "MseGrad", [z, dy], torch.empty(33, 9)),
        "dz": lambda: done(runtime, "ReluBwd", [dy, z], torch.empty(33, 9)),
    }
    alone = {name: call() for name, call in calls.items()}
    for order in (calls, reversed(calls), [*calls, *calls]):
        for name in order:
            assert torch.equal(calls[name](), alone[name]), name


# ---- which variant --------------------------------------------------------------------------------------------------


def test_each_product_goes_to_the_variant_that_was_made_for_it(runtime: Runtime) -> None:
    def chosen(
        a: torch.Tensor, b: torch.Tensor, turns: tuple[int, int], out: torch.dtype = torch.float32
    ) -> str | None:
        return runtime.chosen("Gemm", [a, b], [torch.empty(8, 8, dtype=out)], *turns)

    square, half = drawn(8, 8), drawn(8, 8, dtype=torch.float16)
    assert chosen(square, square, (0, 0)) == "gemm_tiled"
    assert chosen(square, square, (0, 1)) == "gemm_nt"
    assert chosen(square, square, (1, 0)) == "gemm_tn"
    assert chosen(square, square, (1, 1)) == "gemm_f32_naive_kernel"
    assert chosen(square.T, square, (0, 0)) == "gemm_f32_naive_kernel"
    for out in (torch.float16, torch.float32):
        assert chosen(half, half.T, (0, 1), out) == "gemm_f16_tc_wmma_kernel"
    assert chosen(half, square, (0, 0)) is None
    few, many = drawn(128, 128), drawn(1024, 1024)
    assert runtime.chosen("Gemm", [few, few], [torch.empty(128, 128)], 0, 0) == "gemm_tiled"
    assert runtime.chosen("Gemm", [few.T, few], [torch.empty(128, 128)], 0, 0) == "gemm_f32_small_kernel"
    for turns in ((0, 1), (1, 0), (1, 1)):
        assert runtime.chosen("Gemm", [few, few], [torch.empty(128, 128)], *turns) == "gemm_f32_small_kernel"
    assert runtime.chosen("Gemm", [many, many], [torch.empty(1024, 1024)], 1, 0) == "gemm_tn"
    assert chosen(half, half, (0, 0), torch.bfloat16) is None


def test_each_update_and_each_sum_goes_to_the_variant_that_was_made_for_it(runtime: Runtime) -> None:
    def update(w: torch.Tensor) -> str | None:
        return runtime.chosen("SgdStep", [w, torch.empty_strided(w.shape, w.stride(), dtype=w.dtype)], [w], 0.1)

    half = torch.zeros(64, dtype=torch.float16)
    assert update(torch.zeros(63)) == "sgd_step_f32_kernel"
    assert update(half) == update(half[2:]) == "sgd_step_f16_half2_kernel"
    assert update(half[1:]) == update(half[:-1]) == "sgd_step_f16_kernel"
    assert update(half[::2]) == update(torch.zeros(9, 2)[:, 0]) == "sgd_step_any_kernel"
    x = torch.zeros(4, 6)
    assert runtime.chosen("ReduceSum", [x], [torch.zeros(4)], 1) == "reduce_sum_lastdim_f32_kernel"
    assert runtime.chosen("ReduceSum", [x], [torch.zeros(6)], 0) == "reduce_sum_axis0_kernel"
    assert runtime.chosen("ReduceSum", [x.half()], [torch.zeros(4).half()], 1) is None


NEW = """// EltwiseAdd of floats, by a kernel that says it was here.
#include "../operands.hpp"

namespace eltwise_add_of_mine {

__global__ void eltwise_add_of_mine_kernel(const float* a, const float* b, float* y, int n) {
    if (threadIdx.x < n) y[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x] + 1000.0f;
}

Supported can(const OpCall& call) {
    if (!all_are(call, F32) || !all_contiguous(call)) return refused("not all tensors are contiguous f32");
    return elements(call.outputs[0]) <= 256 ? supported : refused("more than a block of elements");
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const TensorDesc &a = call.inputs[0], &b = call.inputs[1], &y = call.outputs[0];
    const int n = static_cast<int>(elements(y));
    eltwise_add_of_mine_kernel<<<1, 256, 0, stream>>>(data<const float>(a), data<const float>(b), data<float>(y), n);
    return cudaGetLastError();
}

static Registration registration{{OpKind::EltwiseAdd, "eltwise_add_of_mine_kernel", 20, can, launch}};

}  // namespace eltwise_add_of_mine
"""


def test_a_variant_is_added_by_one_new_file_and_takes_what_it_supports(runtime: Runtime, tmp_path: Path) -> None:
    shutil.copytree(RUNTIME, tmp_path / "runtime")
    (tmp_path / "runtime" / "variants" / "eltwise_add_of_mine.cu").write_text(NEW)
    larger = Runtime.of(tmp_path / "probe.cu", tmp_path / "runtime")
    few, many = torch.ones(9), torch.ones(257)
    assert runtime.chosen("EltwiseAdd", [few, few], [few]) == "eltwise_add_kernel"
    assert larger.chosen("EltwiseAdd", [few, few], [few]) == "eltwise_add_of_mine_kernel"
    assert larger.chosen("EltwiseAdd", [many, many], [many]) == "eltwise_add_kernel"
    assert done(larger, "EltwiseAdd", [few, few], torch.empty(9)).tolist() == [1002.0] * 9
    assert done(runtime, "EltwiseAdd", [few, few], torch.empty(9)).tolist() == [2.0] * 9, "each has its own registry"
    assert done(larger, "EltwiseAdd", [many, many], torch.empty(257)).tolist() == [2.0] * 257


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_where_no_variant_fits_the_call_is_named_and_what_each_variant_had_against_it(runtime: Runtime) -> None:
    a, b, out = (torch.zeros(shape, dtype=torch.bfloat16) for shape in ((64, 256), (256, 128), (64, 128)))
    assert runtime.op("Gemm", [a, b], [out], 0, 0)[1] == NOT_SUPPORTED
    told = re.sub(r"\d+-byte aligned", "256-byte aligned", runtime.refusal)
    shown = re.search(r"```text\n(no variant of Gemm fits:.*?)\n```", PAGE.read_text(), re.DOTALL)
    assert shown is not None
    assert told == shown[1]


def test_a_refusal_is_gone_with_the_next_call(runtime: Runtime) -> None:
    x = torch.zeros(4, dtype=torch.int64)
    assert runtime.op("EltwiseRelu", [x], [torch.zeros_like(x)])[1] == NOT_SUPPORTED
    assert "eltwise_relu_kernel: not all tensors are f32, nor are all f16" in runtime.refusal
    done(runtime, "EltwiseRelu", [torch.ones(4)], torch.empty(4))


def test_views_with_gaps_are_refused_where_no_variant_takes_them(runtime: Runtime) -> None:
    x = torch.zeros(4, 6)
    for kind in ("EltwiseRelu", "EltwiseAdd", "MseGrad", "ReluBwd"):
        inputs = [x.T] if kind == "EltwiseRelu" else [x.T, x.T]
        assert runtime.op(kind, inputs, [torch.zeros(6, 4)])[1] == NOT_SUPPORTED
        assert "f32 [6, 4], strides [1, 6]" in runtime.refusal
        assert "a tensor is not contiguous" in runtime.refusal


WIDE, FLAT, SQUARE = torch.zeros(4, 6), torch.zeros(6), torch.zeros(4, 4)
MALFORMED: dict[str, tuple[str, list[torch.Tensor], list[torch.Tensor], tuple[float, ...], str]] = {
    "one input too few": (
        "EltwiseAdd",
        [FLAT],
        [FLAT],
        (),
        "takes 2 inputs, 1 output and 0 attributes, not 1, 1 and 0",
    ),
    "an attribute too few": ("Gemm", [SQUARE, SQUARE], [WIDE], (0,), "and 2 attributes, not 2, 1 and 1"),
    "two outputs": ("EltwiseRelu", [FLAT], [FLAT, FLAT], (), "not 1, 2 and 0"),
    "shapes that differ": ("EltwiseAdd", [WIDE, SQUARE], [torch.zeros(4, 6)], (), "do not fit EltwiseAdd"),
    "a turned bias": ("BiasAdd", [WIDE, torch.zeros(4)], [torch.zeros(4, 6)], (), "do not fit BiasAdd"),
    "inner dimensions that differ": ("Gemm", [WIDE, WIDE], [torch.zeros(4, 4)], (0, 0), "do not fit Gemm"),
    "half turned": ("Gemm", [WIDE, torch.zeros(6, 4)], [torch.zeros(4, 4)], (0.5, 0), "trans_a = 0.5"),
    "an axis that is not there": ("ReduceSum", [WIDE], [torch.zeros(4)], (2,), "axis = 2"),
    "the sum of the other axis": ("ReduceSum", [WIDE], [torch.zeros(4)], (0,), "do not fit ReduceSum"),
    "an update elsewhere": ("SgdStep", [FLAT, torch.zeros(6)], [torch.zeros(6)], (0.1,), "has to be w itself"),
    "a product into its input": ("Gemm", [SQUARE, SQUARE], [SQUARE], (0, 0), "C may share memory with A"),
    "one element for all": ("EltwiseRelu", [FLAT], [torch.zeros(1).expand(6)], (), "share an address"),
    "rows that overlap": ("EltwiseRelu", [SQUARE], [torch.zeros(9).as_strided((4, 4), (1, 1))], (), "share an address"),
    "an output one further": ("EltwiseRelu", [FLAT[:-1]], [FLAT[1:]], (), "y may share memory with x"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_call_that_cannot_be_one_is_refused_before_anybody_is_asked(runtime: Runtime, name: str) -> None:
    kind, inputs, outputs, attrs, told = MALFORMED[name]
    assert runtime.op(kind, inputs, outputs, *attrs)[1] == INVALID
    assert told in runtime.refusal


def test_an_output_may_be_an_input_as_a_whole(runtime: Runtime) -> None:
    x = torch.tensor([-1.0, 2.0])
    assert runtime.op("EltwiseRelu", [x], [x])[1] == "cudaSuccess"
    assert runtime.op("EltwiseAdd", [x, x], [x])[1] == "cudaSuccess"
    assert x.tolist() == [0.0, 4.0]


def test_an_output_may_be_turned_or_have_gaps_and_single_rows_have_any_stride(runtime: Runtime) -> None:
    a, b = drawn(6, 4), drawn(4, 8)
    for out in (torch.empty(8, 6).T, torch.empty(6, 2, 8)[:, 1], torch.empty(12, 16)[::2, ::2]):
        near(done(runtime, "Gemm", [a, b], out, 0, 0), a.double() @ b.double())
    single = torch.empty(8).as_strided((1, 8), (0, 1))
    near(done(runtime, "Gemm", [a[:1], b], single, 0, 0), a[:1].double() @ b.double())


def test_descriptors_that_describe_nothing_are_refused(runtime: Runtime) -> None:
    for kind in (-1, len(KINDS)):
        assert runtime.raw(kind, [], [], ())[1] == INVALID
        assert f"no operation {kind}" in runtime.refusal
    right, x = torch.zeros(6), torch.zeros(6)
    changes = {
        "dtype": 5,
        "ndim": 5,
        "data": None,
        "shape": (ctypes.c_int64 * 4)(-1),
        "stride": (ctypes.c_int64 * 4)(-1),
    }
    for field, value in changes.items():
        wrong = described(x)
        setattr(wrong, field, value)
        assert runtime.raw(1, [wrong], [described(right)], ())[1] == INVALID, field
        assert runtime.refusal.startswith("x "), field
    crooked = described(x)
    crooked.data += 2
    assert runtime.raw(1, [crooked], [described(right)], ())[1] == INVALID
    assert "multiple of its elements' size" in runtime.refusal


def test_a_check_tells_why_an_entry_launched_nothing(judge: Judge, tmp_path: Path) -> None:
    located = load_catalog(ROOT).part_named("mse_grad")
    wrong = located.solution_path.read_text().replace("{matrix(y), matrix(target)}", "{matrix(y), matrix(dy)}")
    (tmp_path / "wrong.cu").write_text(wrong.replace("{matrix(dy)}, {}", "{tensor_of(dy, dtype, {cols, rows})}, {}"))
    verdict = judge(located, tmp_path / "wrong.cu")
    (finding,) = verdict.findings
    assert (finding.kind, finding.title) == ("launch_error", "returns an error")
    assert (
        "mse_grad` returned cudaErrorInvalidValue. It says: shapes or attributes do not fit MseGrad" in finding.message
    )
    assert "y: f32 [16, 64], strides [64, 1]" in finding.message


# ---- the interface --------------------------------------------------------------------------------------------------


def test_the_page_has_the_layout_that_the_runtime_was_compiled_with() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", INTERFACE.read_text(), re.MULTILINE)
    fields = [(str(getattr(TensorDesc, name).offset), name) for name, *_ in TensorDesc._fields_]
    assert rows == fields
    text = (RUNTIME / "tensor_desc.hpp").read_text()
    for offset, name in fields:
        assert f"offsetof(TensorDesc, {name}) == {offset}" in text
    assert f"sizeof(TensorDesc) == {ctypes.sizeof(TensorDesc)}" in text


def test_the_page_numbers_the_operations_as_the_runtime_does() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", INTERFACE.read_text(), re.MULTILINE)
    assert rows == [(str(number), name) for number, name in enumerate(KINDS)]
    declared = re.findall(r"^    (\w+) = (\d+),", (RUNTIME / "op_kind.hpp").read_text(), re.MULTILINE)
    assert declared == [(name, str(number)) for number, name in enumerate(KINDS)]
