"""A training step on CPU tensors, on our ops alone: the lists of puzzle 10 as programs, and what a step may not do."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from grader.op import EntryMisused, Step, TorchRefused, op, part_list
from grader.op_record import OpNote

ROWS, FEATURES, HIDDEN, OUTPUTS = 16, 8, 12, 4
BOTH = pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["f32", "f16"])


class Network:
    """Two layers, their data and their scratch."""

    def __init__(self, dtype: torch.dtype, seed: int = 5) -> None:
        random = torch.Generator().manual_seed(seed)

        def drawn(*shape: int, scale: float = 1.0) -> Tensor:
            return (torch.randn(shape, generator=random) * scale).to(dtype)

        self.data = [drawn(ROWS, FEATURES), drawn(ROWS, OUTPUTS)]
        self.weights = [
            drawn(FEATURES, HIDDEN, scale=FEATURES**-0.5),
            drawn(HIDDEN),
            drawn(HIDDEN, OUTPUTS, scale=HIDDEN**-0.5),
            drawn(OUTPUTS),
        ]
        hidden, outputs = (ROWS, HIDDEN), (ROWS, OUTPUTS)
        gradients = [outputs, (HIDDEN, OUTPUTS), (OUTPUTS,), hidden, hidden, (FEATURES, HIDDEN), (HIDDEN,)]
        self.scratch = [torch.full(shape, torch.nan, dtype=dtype) for shape in (hidden, hidden, outputs, *gradients)]

    def calls(self, lr: float) -> list[OpNote]:
        return part_list("train_step")(*self.data, *self.weights, *self.scratch, lr)

    def in_float64(self) -> list[Tensor]:
        return [weight.double().requires_grad_() for weight in self.weights]

    def loss(self, weights: list[Tensor]) -> Tensor:
        X, T = (one.double() for one in self.data)  # noqa: N806
        return ((torch.relu(X @ weights[0] + weights[1]) @ weights[2] + weights[3] - T) ** 2).mean()


@BOTH
def test_ten_steps_end_where_autograd_in_float64_ends_and_the_loss_falls_at_each(dtype: torch.dtype) -> None:
    network = Network(dtype)
    step, exact = Step(network.calls, lr=0.05), network.in_float64()
    losses = []
    for _ in range(10):
        losses.append(float(network.loss([one.double() for one in network.weights])))
        step()
        gradients = torch.autograd.grad(network.loss(exact), exact)
        exact = [(weight - 0.05 * g).detach().requires_grad_() for weight, g in zip(exact, gradients, strict=True)]
    losses.append(float(network.loss([one.double() for one in network.weights])))
    print(f"loss before {losses[0]:.4f}, after {losses[-1]:.4f}, delta {losses[-1] - losses[0]:+.4f}, 10 steps")
    assert all(after < before for before, after in itertools.pairwise(losses))
    for ours, right in zip(network.weights, exact, strict=True):
        assert float((ours.double() - right.detach()).abs().max()) < (2.0**-7 if dtype is torch.float16 else 2.0**-20)


def test_a_new_rate_counts_from_the_next_step_on() -> None:
    one, other = Network(torch.float32), Network(torch.float32)
    changed, fresh = Step(one.calls, lr=0.05), Step(other.calls, lr=0.05)
    changed()
    fresh()
    changed.lr = 0.2
    changed()
    Step(other.calls, lr=0.2)()
    assert all(torch.equal(a, b) for a, b in zip(one.weights, other.weights, strict=True))


def test_a_step_is_the_same_whatever_was_done_before() -> None:
    one, other = Network(torch.float32), Network(torch.float32)
    Step(Network(torch.float32, seed=6).calls, lr=0.05)()
    Step(one.calls, lr=0.05)()
    Step(other.calls, lr=0.05)()
    assert all(torch.equal(a, b) for a, b in zip(one.weights, other.weights, strict=True))


def test_an_operator_of_pytorch_inside_a_step_is_refused() -> None:
    network = Network(torch.float32)
    step = Step(network.calls, lr=0.05)

    def computes() -> None:
        network.weights[0].mul_(0.5)

    step.calls.insert(3, computes)  # type: ignore[arg-type]
    with pytest.raises(TorchRefused, match=r"aten\.mul_"):
        step()


def test_a_step_on_cpu_tensors_is_not_captured() -> None:
    with pytest.raises(EntryMisused, match="graphs are CUDA's"):
        Step(Network(torch.float32).calls, lr=0.05).capture()


def test_a_step_may_be_any_list() -> None:
    x, y = torch.randn(5), torch.empty(5)
    Step(lambda lr: [op("EltwiseRelu", [x], [y]), op("SgdStep", [x, y], [x], lr=lr)], lr=0.5)()
    assert torch.equal(y, torch.relu(y))
