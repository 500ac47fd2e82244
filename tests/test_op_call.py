"""Ops of puzzle 10 on CPU tensors: each is PyTorch's, gradients are autograd's, what does not fit is told in words."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor

from grader.op import EntryFailed, EntryMisused, op_call
from grader.op.tensor_desc import DTYPES, TensorDesc
from grader.op.tensors import bytes_reached
from grader.op_kinds import OPS
from tests.judging import ROOT

RUNTIME = ROOT / "puzzles" / "puzzle_10_train_step" / "runtime"
HALF, SINGLE = torch.float16, torch.float32
BOTH = pytest.mark.parametrize("dtype", [SINGLE, HALF], ids=["f32", "f16"])
SIZES = pytest.mark.parametrize(("rows", "cols"), [(64, 32), (33, 17), (1, 1), (5, 300), (300, 5)])


def drawn(*shape: int, dtype: torch.dtype = SINGLE, seed: int = 3) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def done(kind: str, inputs: Sequence[Tensor], *shape: int, **attrs: float) -> Tensor:
    """The result of an op, in a new tensor."""
    out = torch.full(shape, torch.nan, dtype=inputs[0].dtype)
    op_call(kind, inputs, [out], **attrs)
    return out


def assert_near(got: Tensor, right: Tensor, terms: int = 1) -> None:
    """Within what a sum of so many terms may round in float, and one rounding to the type; `right` is in float64."""
    unit = 2.0**-11 if got.dtype is HALF else 2.0**-24
    size = float(right.abs().max()) if right.numel() else 0.0
    torch.testing.assert_close(got.double(), right, rtol=2 * unit, atol=4 * terms * 2.0**-24 * size + 2.0**-25)


# ---- every op against PyTorch ----


@BOTH
@SIZES
def test_elementwise_ops_are_pytorchs(rows: int, cols: int, dtype: torch.dtype) -> None:
    a, b = drawn(rows, cols, dtype=dtype), drawn(rows, cols, dtype=dtype, seed=4)
    right = torch.relu(a.double())
    assert_near(done("EltwiseAdd", [a, b], rows, cols), a.double() + b.double())
    assert_near(done("EltwiseRelu", [a], rows, cols), right)
    assert_near(done("BiasAdd", [a, b[0]], rows, cols), a.double() + b[0].double())


@BOTH
@SIZES
def test_gradients_are_autograds(rows: int, cols: int, dtype: torch.dtype) -> None:
    y, target = drawn(rows, cols, dtype=dtype), drawn(rows, cols, dtype=dtype, seed=4)
    exact = y.double().requires_grad_()
    (dy,) = torch.autograd.grad(torch.nn.functional.mse_loss(exact, target.double()), exact)
    assert_near(done("MseGrad", [y, target], rows, cols), dy)
    (dx,) = torch.autograd.grad((torch.relu(exact) * target.double()).sum(), exact)
    assert_near(done("ReluBwd", [target, y], rows, cols), dx)
    bias = torch.zeros(cols, dtype=torch.float64, requires_grad=True)
    (db,) = torch.autograd.grad(((exact + bias) * target.double()).sum(), bias)
    assert_near(done("ReduceSum", [target], cols, axis=0), db, terms=rows)


@BOTH
@pytest.mark.parametrize(("trans_a", "trans_b"), [(0, 0), (1, 0), (0, 1)], ids=["NN", "TN", "NT"])
@pytest.mark.parametrize(("m", "k", "n"), [(32, 48, 16), (33, 17, 21), (1, 1, 1), (5, 0, 3), (7, 200, 2)])
def test_a_product_is_pytorchs_whichever_input_is_turned(
    m: int, k: int, n: int, trans_a: int, trans_b: int, dtype: torch.dtype
) -> None:
    shapes = (k, m) if trans_a else (m, k), (n, k) if trans_b else (k, n)
    A, B = (drawn(*shape, dtype=dtype) for shape in shapes)  # noqa: N806
    right = (A.T if trans_a else A).double() @ (B.T if trans_b else B).double()
    sizes = float(A.abs().double().max() * B.abs().double().max()) if k else 0.0
    got = done("Gemm", [A, B], m, n, trans_a=trans_a, trans_b=trans_b)
    unit = 2.0**-11 if dtype is HALF else 0.0
    torch.testing.assert_close(got.double(), right, rtol=unit, atol=k * k * 2.0**-24 * sizes + 2.0**-25)


@BOTH
@SIZES
@pytest.mark.parametrize("axis", [0, 1])
def test_a_sum_along_either_axis_is_pytorchs(rows: int, cols: int, dtype: torch.dtype, axis: int) -> None:
    x = drawn(rows, cols, dtype=dtype)
    if dtype is HALF and axis == 1:
        with pytest.raises(EntryFailed, match=r"(?s)no variant of ReduceSum fits.*reduce_sum_lastdim_f32_kernel: "):
            done("ReduceSum", [x], rows, axis=1)
        return
    assert_near(done("ReduceSum", [x], (cols, rows)[axis], axis=axis), x.double().sum(axis), terms=rows * cols)


@BOTH
@pytest.mark.parametrize("n", [1024, 1, 257, 1022])
def test_an_update_is_pytorchs(n: int, dtype: torch.dtype) -> None:
    w, g = drawn(n, dtype=dtype), drawn(n, dtype=dtype, seed=4)
    right = w.double() - 0.1 * g.double()
    op_call("SgdStep", [w, g], [w], lr=0.1)
    assert_near(w, right)


# ---- steps ----


@BOTH
@pytest.mark.parametrize("n", [64, 63])
def test_fixed_gradients_applied_ten_times_are_torch_optims_steps(n: int, dtype: torch.dtype) -> None:
    ours, g = drawn(n, dtype=dtype), drawn(n, dtype=dtype, seed=4)
    theirs = ours.clone().requires_grad_()
    theirs.grad = g.clone()
    optimizer = torch.optim.SGD([theirs], lr=0.1)
    unit = 2.0**-11 if dtype is HALF else 2.0**-24
    for number in range(1, 11):
        op_call("SgdStep", [ours, g], [ours], lr=0.1)
        optimizer.step()
        assert float((ours - theirs.detach()).abs().max()) <= 2 * number * unit * 4  # none of them is beyond 4


@BOTH
@pytest.mark.parametrize(("rows", "features", "outputs"), [(16, 8, 4), (7, 5, 3)])
def test_a_linear_steps_gradients_are_autograds(rows: int, features: int, outputs: int, dtype: torch.dtype) -> None:
    shapes = (rows, features), (rows, outputs), (features, outputs), (outputs,)
    X, T, W, b = (drawn(*shape, dtype=dtype) for shape in shapes)  # noqa: N806
    leaves = [W.double().requires_grad_(), b.double().requires_grad_()]
    right = torch.autograd.grad(((X.double() @ leaves[0] + leaves[1] - T.double()) ** 2).mean(), leaves)
    Y = done("Gemm", [X, W], rows, outputs, trans_a=0, trans_b=0)  # noqa: N806
    op_call("BiasAdd", [Y, b], [Y])
    dY = done("MseGrad", [Y, T], rows, outputs)  # noqa: N806
    got = (
        done("Gemm", [X, dY], features, outputs, trans_a=1, trans_b=0),
        done("ReduceSum", [dY], outputs, axis=0),
    )
    for one, wanted in zip(got, right, strict=True):
        share = (one.double() - wanted).abs().max() / wanted.abs().max()
        assert share < (2.0**-8 if dtype is HALF else 2.0**-20)


def test_an_op_alone_twice_and_in_another_order_gives_equal_bits() -> None:
    a, b = drawn(40, 24), drawn(40, 24, seed=4)
    calls: dict[str, Callable[[], Tensor]] = {
        "product": lambda: done("Gemm", [a, b], 24, 24, trans_a=1, trans_b=0),
        "sum": lambda: done("ReduceSum", [a], 24, axis=0),
        "gradient": lambda: done("MseGrad", [a, b], 40, 24),
        "relu": lambda: done("ReluBwd", [a, b], 40, 24),
    }
    alone = {name: call() for name, call in calls.items()}
    for order in (list(calls), list(calls)[::-1], ["sum", "sum", "product", "gradient", "product", "relu"]):
        for name in order:
            assert torch.equal(calls[name](), alone[name])


def test_a_failed_call_leaves_nothing_behind() -> None:
    a = drawn(6, 4)
    right = done("ReduceSum", [a], 4, axis=0)
    with pytest.raises(EntryMisused):
        done("ReduceSum", [a], 5, axis=0)
    assert torch.equal(done("ReduceSum", [a], 4, axis=0), right)


# ---- tensors with gaps, of other types, of other shapes ----


def test_a_turned_view_and_a_slice_are_handled_by_the_variant_that_takes_any_strides() -> None:
    A, B = drawn(6, 9), drawn(9, 10)  # noqa: N806
    out = torch.zeros(6, 5)
    op_call("Gemm", [A, B[:, ::2]], [out], trans_a=0, trans_b=0)
    assert_near(out, A.double() @ B[:, ::2].double(), terms=9)
    op_call("Gemm", [B.T[::2], A], [out.T], trans_a=0, trans_b=1)
    assert_near(out, A.double() @ B[:, ::2].double(), terms=9)


def test_what_lies_between_the_elements_of_a_result_stays() -> None:
    wide, A, B = torch.full((4, 6), 7.0), drawn(4, 3), drawn(3, 3)  # noqa: N806
    op_call("Gemm", [A, B], [wide[:, ::2]], trans_a=0, trans_b=0)
    assert torch.equal(wide[:, 1::2], torch.full((4, 3), 7.0))
    assert_near(wide[:, ::2], A.double() @ B.double(), terms=3)


def test_where_no_variant_fits_the_error_names_the_op_the_tensors_and_each_reason() -> None:
    x = drawn(4, 6)[:, ::2]
    with pytest.raises(EntryFailed) as failed:
        done("MseGrad", [x, x], 4, 3)
    said = str(failed.value)
    assert failed.value.error == "cudaErrorNotSupported"
    assert "no variant of MseGrad fits" in said
    assert "y: f32 [4, 3], strides [6, 2], " in said
    assert re.search(r"mse_grad_kernel: .*contiguous", said)


@pytest.mark.parametrize(
    ("kind", "shapes", "out", "attrs"),
    [
        ("Gemm", [(3, 4), (5, 6)], (3, 6), {"trans_a": 0, "trans_b": 0}),
        ("Gemm", [(3, 4), (4, 6)], (6, 3), {"trans_a": 0, "trans_b": 0}),
        ("BiasAdd", [(3, 4), (3,)], (3, 4), {}),
        ("ReduceSum", [(3, 4)], (3,), {"axis": 0}),
        ("MseGrad", [(3, 4), (4, 3)], (3, 4), {}),
        ("EltwiseAdd", [(3,), (4,)], (3,), {}),
    ],
)
def test_shapes_that_do_not_fit_are_refused_and_told(
    kind: str, shapes: Sequence[tuple[int, ...]], out: tuple[int, ...], attrs: dict[str, float]
) -> None:
    with pytest.raises(EntryMisused, match=rf"(?s)shapes or attributes do not fit {kind}.*f32 \[3"):
        done(kind, [drawn(*shape) for shape in shapes], *out, **attrs)


def test_an_update_that_is_not_in_place_and_results_over_inputs_are_refused() -> None:
    w, g = drawn(8), drawn(8, seed=4)
    with pytest.raises(EntryMisused, match="SgdStep works in place"):
        done("SgdStep", [w, g], 8, lr=0.1)
    square = drawn(4, 4)
    with pytest.raises(EntryMisused, match="C may share memory with A"):
        op_call("Gemm", [square, drawn(4, 4)], [square], trans_a=0, trans_b=0)


@pytest.mark.parametrize(
    ("kind", "inputs", "attrs", "words"),
    [
        ("Sgd", [drawn(3), drawn(3)], {"lr": 0.1}, "There is no op `Sgd`"),
        ("SgdStep", [drawn(3), drawn(3)], {}, "wants these attributes by name: lr; it is given none"),
        ("EltwiseRelu", [drawn(3)], {"lr": 0.1}, "by name: none; it is given lr"),
        ("SgdStep", [drawn(3), drawn(3)], {"lr": "0.1"}, "wants a finite number for `lr`, not a str."),
        ("SgdStep", [drawn(3), drawn(3)], {"lr": torch.tensor(0.1)}, "for `lr`, not a Tensor."),
        ("SgdStep", [drawn(3), drawn(3)], {"lr": math.nan}, "for `lr`, not nan."),
        ("SgdStep", [drawn(3), drawn(3)], {"lr": -math.inf}, "for `lr`, not -inf."),
        ("SgdStep", [drawn(3), drawn(3)], {"lr": 1e300}, "not one beyond the range of a float."),
        ("SgdStep", [drawn(3), drawn(3)], {"lr": 10**400}, "not one beyond the range of a float."),
        ("ReduceSum", [drawn(3, 3)], {"axis": True}, "wants a finite number for `axis`, not a bool."),
        (["Gemm"], [drawn(3)], {}, "There is no op `['Gemm']`"),
        ("EltwiseRelu", None, {}, "wants a list of tensors for its inputs, and not a NoneType."),
        ("EltwiseRelu", drawn(1, 3), {}, "wants a list of tensors for its inputs, and not a Tensor."),
        ("EltwiseRelu", [torch.eye(3).to_sparse()], {}, "sparse, nested or otherwise packed tensor"),
        ("EltwiseRelu", [torch.eye(3).to_mkldnn()], {}, "sparse, nested or otherwise packed tensor"),
        ("EltwiseRelu", [torch.nested.as_nested_tensor([drawn(3)], layout=torch.jagged)], {}, "nested or otherwise"),
        ("EltwiseRelu", [torch._efficientzerotensor(3)], {}, "has no memory of its own"),
        ("EltwiseRelu", [torch._neg_view(drawn(3))], {}, "a view that PyTorch negates when it reads it"),
        ("EltwiseRelu", [drawn(3).to(torch.cfloat).conj().imag], {}, "`.resolve_neg()` makes a copy"),
        ("EltwiseRelu", [drawn(3).to(torch.cfloat).conj()], {}, "of type complex64"),
        ("EltwiseRelu", [drawn(3).to("meta")], {}, "another on meta"),
        ("EltwiseRelu", [drawn(3).double()], {}, "of type float64, and the runtime knows float32, float16"),
        ("EltwiseRelu", [drawn(1, 1, 1, 1, 3)], {}, "of 5 dimensions"),
        ("EltwiseRelu", [3.0], {}, "not a float"),
        ("EltwiseRelu", [drawn(3), drawn(3)], {}, "takes 1 inputs, 1 output and 0 attributes"),
    ],
)
def test_what_is_no_call_is_refused_in_words(kind: Any, inputs: Any, attrs: dict[str, Any], words: str) -> None:
    with pytest.raises(EntryMisused, match=re.escape(words)):
        op_call(kind, inputs, [torch.empty(3)], **attrs)


def test_an_output_that_is_no_list_or_lies_under_a_transform_is_refused() -> None:
    with pytest.raises(EntryMisused, match="list of tensors for its outputs, and not a Tensor"):
        op_call("EltwiseRelu", [drawn(3)], torch.empty(1, 3))
    with pytest.raises(EntryMisused, match=r"`inputs\[0\]`, which has no memory of its own"):
        torch.vmap(lambda x: op_call("EltwiseRelu", [x], [torch.empty(3)]))(drawn(2, 3))


def test_tensors_may_come_from_a_generator_and_numbers_from_numpy() -> None:
    w, g = drawn(5), drawn(5, seed=4)
    right = w.double() - 0.5 * g.double()
    op_call("SgdStep", (one for one in (w, g)), iter([w]), lr=numpy.float64(0.5))
    assert_near(w, right)


def test_a_type_that_no_variant_has_is_refused_by_each() -> None:
    with pytest.raises(EntryFailed, match="no variant of EltwiseRelu fits"):
        op_call("EltwiseRelu", [torch.ones(3, dtype=torch.int32)], [torch.ones(3, dtype=torch.int32)])


# ---- autograd ----


def test_a_backward_pass_that_needs_what_an_op_wrote_over_raises_as_after_pytorchs_own_operators() -> None:
    x, weight = drawn(4), drawn(4, seed=4).requires_grad_()
    loss = (x * weight).sum()
    op_call("EltwiseRelu", [drawn(4)], [x])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()  # type: ignore[no-untyped-call]


def test_a_refused_call_counts_as_no_change() -> None:
    x, weight = drawn(4), drawn(4, seed=4).requires_grad_()
    loss = (x * weight).sum()
    with pytest.raises(EntryMisused):
        op_call("EltwiseRelu", [drawn(5)], [x])
    loss.backward()  # type: ignore[no-untyped-call]
    assert torch.equal(weight.grad, x)  # type: ignore[arg-type]


def test_a_parameter_may_be_written_and_what_autograd_computed_may_not() -> None:
    weight = torch.nn.Parameter(drawn(4))
    right = weight.detach() * 0.5
    op_call("SgdStep", [weight, weight.detach().clone()], [weight], lr=0.5)
    assert_near(weight.detach(), right.double())
    hidden = weight * 2
    with pytest.raises(EntryMisused, match=r"into `outputs\[0\]`, which autograd has computed and follows"):
        op_call("EltwiseRelu", [drawn(4)], [hidden])
    op_call("EltwiseRelu", [drawn(4)], [hidden.detach()])
    assert_near(hidden.detach(), torch.relu(drawn(4).double()))


def test_a_tensor_of_inference_mode_is_written() -> None:
    with torch.inference_mode():
        x = torch.ones(3)
        op_call("SgdStep", [x, x.clone()], [x], lr=1.0)
    op_call("EltwiseAdd", [x, torch.ones(3)], [x])
    assert torch.equal(x, torch.ones(3))


# ---- the descriptor ----


def test_the_descriptor_is_laid_out_as_in_cpp() -> None:
    """The numbers are those that the header asserts."""
    header = (RUNTIME / "tensor_desc.hpp").read_text(encoding="utf-8")
    offsets = {name: int(at) for name, at in re.findall(r"offsetof\(TensorDesc, (\w+)\) == (\d+)", header)}
    assert offsets == {name: getattr(TensorDesc, name).offset for name, _ in TensorDesc._fields_}
    assert f"sizeof(TensorDesc) == {ctypes.sizeof(TensorDesc)} " in header


def test_types_and_ops_have_the_numbers_that_they_have_in_cpp() -> None:
    kinds = (RUNTIME / "op_kind.hpp").read_text(encoding="utf-8")
    assert {name: int(number) for name, number in re.findall(r"^    (\w+) = (\d),", kinds, re.M)} == {
        op.name: op.number for op in OPS.values()
    }
    for op in OPS.values():
        inputs, attrs = (", ".join(f'"{name}"' for name in names) for names in (op.inputs, op.attrs))
        assert f'{{"{op.name}", {{{inputs}}}, "{op.outputs[0]}", {{{attrs}}}}}' in kinds
    numbers = re.findall(r"(\w+) = (\d)", (RUNTIME / "tensor_desc.hpp").read_text(encoding="utf-8").split("struct")[0])
    names = {SINGLE: "F32", HALF: "F16", torch.bfloat16: "BF16", torch.int32: "I32", torch.int64: "I64"}
    assert {name: int(number) for name, number in numbers} == {names[dtype]: at for dtype, at in DTYPES.items()}


def test_a_descriptor_tells_strides_in_elements_and_a_tensor_what_it_reaches() -> None:
    x = torch.zeros(6, 8, dtype=HALF)[1:5:2, ::3]
    described = TensorDesc.of(x)
    assert (described.data, described.dtype, described.ndim) == (x.data_ptr(), 1, 2)
    assert (list(described.shape)[:2], list(described.stride)[:2]) == ([2, 3], [16, 3])
    assert bytes_reached(x) == (16 + 6 + 1) * 2
    assert bytes_reached(x[:0]) == 0
