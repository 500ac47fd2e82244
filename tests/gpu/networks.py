"""Small networks on a GPU, each twice: as lists of our ops, and as PyTorch trains them. For tests/gpu/train_step.py."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.op import Step, op, part_list
from grader.op_record import OpNote

DTYPES = {"f32": torch.float32, "f16": torch.float16}
FORWARD = {1: 2, 2: 5}  # calls of the forward pass, by layers


@dataclass(frozen=True)
class Size:
    """One layer, [rows, features] · [features, outputs], or two with as many hidden numbers as there are features."""

    layers: int
    rows: int
    features: int
    outputs: int

    @property
    def name(self) -> str:
        return f"{self.layers} × {self.rows}×{self.features}×{self.outputs}"

    @property
    def lr(self) -> float:
        """A rate with which the loss falls, well below what the curvature allows."""
        return self.outputs / 32 if self.layers == 1 else 0.5


class Network:
    """Data, weights and scratch on the GPU; two of one size and type begin alike."""

    def __init__(self, size: Size, dtype: torch.dtype, device: str = "cuda") -> None:
        self.size, random = size, torch.Generator().manual_seed(7)

        def drawn(*shape: int, scale: float = 1.0) -> Tensor:
            return (torch.randn(shape, generator=random) * scale).to(dtype).to(device)

        rows, features, outputs = size.rows, size.features, size.outputs
        self.data = [drawn(rows, features), drawn(rows, outputs)]
        widths = [features, outputs] if size.layers == 1 else [features, features, outputs]
        self.weights: list[Tensor] = []
        for wide, to in itertools.pairwise(widths):
            self.weights += [drawn(wide, to, scale=wide**-0.5), drawn(to)]
        shapes = _scratch(rows, features, outputs, size.layers)
        self.scratch = [torch.empty(shape, dtype=dtype, device=device) for shape in shapes]

    def calls(self, lr: float) -> list[OpNote]:
        """One step as a list of ops."""
        if self.size.layers == 2:
            return part_list("train_step")(*self.data, *self.weights, *self.scratch, lr)
        (X, T), (W, b), (Y, *gradients) = self.data, self.weights, self.scratch  # noqa: N806
        forward = [op("Gemm", [X, W], [Y], trans_a=0, trans_b=0), op("BiasAdd", [Y, b], [Y])]
        return [*forward, *part_list("backward_linear")(X, T, W, b, Y, *gradients, lr)]

    def step(self) -> Step:
        return Step(self.calls, self.size.lr)

    def loss(self) -> float:
        """In float64."""
        weights = [weight.double() for weight in self.weights]
        return float(_loss([one.double() for one in self.data], weights).detach())


def _scratch(rows: int, features: int, outputs: int, layers: int) -> list[tuple[int, ...]]:
    y, weights = (rows, outputs), [(features, outputs), (outputs,)]
    if layers == 1:
        return [y, y, *weights]
    hidden = (rows, features)
    return [hidden, hidden, y, y, *weights, hidden, hidden, (features, features), (features,)]


def _loss(data: Sequence[Tensor], weights: Sequence[Tensor]) -> Tensor:
    X, T = data  # noqa: N806
    H = X if len(weights) == 2 else torch.relu(torch.addmm(weights[1], X, weights[0]))  # noqa: N806
    return torch.nn.functional.mse_loss(torch.addmm(weights[-1], H, weights[-2]), T)


def in_float64(network: Network, steps: int) -> list[Tensor]:
    """The weights after so many steps of autograd's."""
    data, weights = [one.double() for one in network.data], [one.double() for one in network.weights]
    for _ in range(steps):
        leaves = [weight.requires_grad_() for weight in weights]
        gradients = torch.autograd.grad(_loss(data, leaves), leaves)
        weights = [(w - network.size.lr * g).detach() for w, g in zip(leaves, gradients, strict=True)]
    return weights


def pytorch_step(network: Network) -> Callable[[], None]:
    """A step as PyTorch's users write it: loss, backward, torch.optim.SGD."""
    weights = [weight.requires_grad_() for weight in network.weights]
    optimizer = torch.optim.SGD(weights, lr=network.size.lr)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(_loss(network.data, weights))
        optimizer.step()

    return step


def pytorch_by_hand(network: Network) -> Callable[[], None] | None:
    """The step of one layer in as few of PyTorch's operators as there are; None for two layers."""
    if network.size.layers == 2:
        return None
    (X, T), (W, b), (Y, dY, dW, db) = network.data, network.weights, network.scratch  # noqa: N806
    scale, lr = 2 / Y.numel(), network.size.lr

    def step() -> None:
        torch.addmm(b, X, W, out=Y)
        torch.sub(Y, T, out=dY)
        dY.mul_(scale)
        torch.mm(X.T, dY, out=dW)
        torch.sum(dY, 0, out=db)
        W.sub_(dW, alpha=lr)
        b.sub_(db, alpha=lr)

    return step


def captured(step: Callable[[], None]) -> torch.cuda.CUDAGraph:
    """A graph of one step, made as PyTorch's page on graphs says: some steps on a stream of their own come first."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph
