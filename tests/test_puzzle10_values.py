"""Puzzle 10: references are autograd's gradients, PyTorch's results are right, and usual mistakes are told by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
import torch

from grader.catalog import Located, load_catalog
from grader.compare import compare, reference_results
from grader.inputs import draw_inputs, torch_type
from grader.puzzle import Case, scalar_value
from tests.conftest import SEED
from tests.judging import ROOT, Judge, shown

PARTS = {part.part.name: part for part in load_catalog(ROOT).resolve("puzzle_10")[0].parts}
SEEDS = range(SEED, SEED + 3)

Tensors = Mapping[str, torch.Tensor]


def updated(inputs: Tensors, case: Case) -> torch.Tensor:
    w = inputs["w"].clone()
    w[:, :1] = (w[:, :1].float() - torch.tensor(case.params["lr"]) * inputs["g"][:, :1].float()).to(w.dtype)
    return w


def error_gradient(inputs: Tensors, case: Case) -> torch.Tensor:
    y, target = (inputs[name].float() for name in ("y", "target"))
    return 2 * (y - target) / max(y.numel(), 1)


PYTORCH: dict[str, Callable[[Tensors, Case], tuple[torch.Tensor, ...]]] = {
    "mse_grad": lambda inputs, case: (error_gradient(inputs, case),),
    "relu_bwd": lambda inputs, _: (torch.ops.aten.threshold_backward(inputs["dy"], inputs["x"], 0),),
    "bias_grad": lambda inputs, _: (inputs["x"] + inputs["bias"], inputs["dy"].float().sum(0)),
    "sgd_supported": lambda inputs, case: (updated(inputs, case),),
}


@pytest.mark.parametrize("name", PYTORCH)
def test_what_pytorch_gives_in_float_is_right_in_every_case(name: str) -> None:
    part = PARTS[name].part
    for case in part.cases():
        for seed in SEEDS:
            inputs = draw_inputs(part, case, seed)
            results = PYTORCH[name](inputs, case)
            stored = {
                buffer.name: result.to(torch_type(buffer, case.params))
                for buffer, result in zip(part.results, results, strict=True)
            }
            compared = compare(part, case, inputs, stored)
            assert compared.wrong == 0, (name, case, compared.of_tolerance)


def reference(name: str, case: Case, inputs: Tensors) -> list[torch.Tensor]:
    return list(reference_results(PARTS[name].part, case, inputs).values())


def test_the_gradient_of_the_error_is_that_of_autograd() -> None:
    case = Case(rows=5, cols=7, dtype=0)
    inputs = draw_inputs(PARTS["mse_grad"].part, case, SEED)
    y = inputs["y"].double().requires_grad_()
    torch.nn.functional.mse_loss(y, inputs["target"].double()).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(reference("mse_grad", case, inputs)[0], y.grad)


def test_the_gradient_through_the_relu_is_that_of_autograd_at_0_too() -> None:
    case = Case(n=200, dtype=0, inputs={"x": "integers"})
    inputs = draw_inputs(PARTS["relu_bwd"].part, case, SEED)
    x = inputs["x"].double().requires_grad_()
    x.relu().backward(inputs["dy"].double())  # type: ignore[no-untyped-call]
    assert (x == 0).any()
    torch.testing.assert_close(reference("relu_bwd", case, inputs)[0], x.grad)


def test_the_gradient_of_the_bias_is_that_of_autograd() -> None:
    case = Case(rows=5, cols=7, dtype=0)
    inputs = draw_inputs(PARTS["bias_grad"].part, case, SEED)
    bias = inputs["bias"].double().requires_grad_()
    y = inputs["x"].double() + bias
    y.backward(inputs["dy"].double())  # type: ignore[no-untyped-call]
    torch.testing.assert_close(reference("bias_grad", case, inputs), [y.detach(), bias.grad])


def test_adamw_is_that_of_pytorch_from_the_first_step_on() -> None:
    part = PARTS["adamw_step"].part
    numbers = {"lr": 0.02, "beta1": 0.9, "beta2": 0.99, "eps": 1e-6, "weight_decay": 0.1}
    torch.manual_seed(SEED)
    kept = {name: torch.zeros(50, dtype=torch.float64) for name in ("m", "v")} | {"w": torch.randn(50).double()}
    weight = kept["w"].clone().requires_grad_()
    rounded = {scalar.name: scalar_value(scalar, numbers) for scalar in part.scalars if scalar.name in numbers}
    optimizer = torch.optim.AdamW(
        [weight],
        lr=rounded["lr"],
        betas=(rounded["beta1"], rounded["beta2"]),
        eps=rounded["eps"],
        weight_decay=rounded["weight_decay"],
    )
    for step in range(1, 5):
        weight.grad = torch.randn(50).double()
        case = Case.of({**numbers, "step": step, "n": 50, "dtype": 0})
        kept |= reference_results(part, case, {**kept, "g": weight.grad})
        optimizer.step()
        torch.testing.assert_close(kept["w"], weight.detach())


WRONG = ROOT / "tests" / "wrong" / "puzzle_10_train_step"
TOLD = {
    "error_not_averaged": ("mse_grad", "the loss had been a sum, not a mean"),
    "error_up_the_loss": ("mse_grad", "target and prediction had changed places"),
    "relu_open_at_zero": ("relu_bwd", "0 counted as positive"),
    "relu_by_its_gradient": ("relu_bwd", "the sign of dy decided, not that of x"),
    "adamw_decay_through_the_gradient": ("adamw_step", "the decay went through the gradient"),
    "adamw_not_corrected": ("adamw_step", "the means had not been corrected"),
    "bias_mean_of_the_gradient": ("bias_grad", "the sum of the gradient were its mean"),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_usual_mistake_is_told_by_what_it_looks_like(name: str, judge: Judge) -> None:
    part, words = TOLD[name]
    located: Located = PARTS[part]
    verdict = judge(located, WRONG / f"{name}.cu")
    assert any(words in (case.pattern or "") for case in verdict.cases), shown(verdict)
