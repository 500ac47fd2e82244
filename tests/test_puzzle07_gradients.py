"""Puzzle 7: the references of the backward parts are what PyTorch's autograd gives in double precision."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import layer_norm, linear

from grader.catalog import load_catalog
from grader.compare import reference_results
from grader.inputs import draw_inputs
from grader.puzzle import Case
from tests.judging import ROOT

EPS = 1e-5
PARTS = {part.part.name: part.part for part in load_catalog(ROOT).resolve("puzzle_7")[0].parts}
SIZES = [(5, 300), (7, 1), (1, 64), (40, 3)]
INPUTS = ["normal", "small", "mixed_magnitudes", "large_offset", "constant_rows"]


def leaves(*tensors: torch.Tensor) -> list[torch.Tensor]:
    return [tensor.clone().requires_grad_() for tensor in tensors]


def statistics(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"mean": x.mean(1), "rstd": (x.var(1, correction=0) + EPS).rsqrt()}


def equal(got: dict[str, torch.Tensor], **expected: torch.Tensor) -> None:
    for name, tensor in expected.items():
        torch.testing.assert_close(got[name], tensor, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("x_inputs", INPUTS)
@pytest.mark.parametrize(("rows", "cols"), SIZES)
def test_layernorm_backward_is_autograd(rows: int, cols: int, x_inputs: str) -> None:
    part, case = PARTS["layernorm_backward"], Case(rows=rows, cols=cols, inputs={"x": x_inputs})
    inputs = {name: tensor.double() for name, tensor in draw_inputs(part, case, 1).items()}
    x, gamma, beta = leaves(inputs["x"], inputs["gamma"], torch.zeros(cols, dtype=torch.float64))
    expected = torch.autograd.grad(layer_norm(x, [cols], gamma, beta, EPS), [x, gamma, beta], inputs["dy"])
    got = reference_results(part, case, {**inputs, **statistics(inputs["x"])})
    equal(got, dx=expected[0], dgamma=expected[1], dbeta=expected[2])


@pytest.mark.parametrize("out_features", [1, 9])
@pytest.mark.parametrize(("rows", "cols"), SIZES)
def test_linear_backward_is_autograd(rows: int, cols: int, out_features: int) -> None:
    part, case = PARTS["linear_backward"], Case(rows=rows, cols=cols, out_features=out_features)
    inputs = {name: tensor.double() for name, tensor in draw_inputs(part, case, 1).items()}
    entered, weights, bias = leaves(inputs["input"], inputs["W"], torch.zeros(out_features, dtype=torch.float64))
    expected = torch.autograd.grad(linear(entered, weights, bias), [entered, weights, bias], inputs["dy"])
    equal(reference_results(part, case, inputs), dinput=expected[0], dW=expected[1], dbias=expected[2])


@pytest.mark.parametrize("x_inputs", INPUTS)
@pytest.mark.parametrize(("rows", "cols"), SIZES)
def test_layernorm_linear_backward_is_autograd(rows: int, cols: int, x_inputs: str) -> None:
    part = PARTS["layernorm_linear_backward"]
    case = Case(rows=rows, cols=cols, out_features=9, inputs={"x": x_inputs})
    inputs = {name: tensor.double() for name, tensor in draw_inputs(part, case, 1).items()}
    parameters = leaves(*(inputs[name] for name in ("x", "gamma", "beta", "W")), torch.zeros(9, dtype=torch.float64))
    x, gamma, beta, weights, bias = parameters
    result = linear(layer_norm(x, [cols], gamma, beta, EPS), weights, bias)
    expected = torch.autograd.grad(result, parameters, inputs["dy"])
    names = ("dx", "dgamma", "dbeta", "dW", "dbias")
    got = reference_results(part, case, {**inputs, **statistics(inputs["x"])})
    equal(got, **dict(zip(names, expected, strict=True)))
