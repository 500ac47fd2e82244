"""A training step on CPU tensors, on our ops alone: the lists of puzzle 10 as programs, and what a step may not do."""

from __future__ import annotations

import contextlib
import itertools
import math
import timeit
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from grader.op import EntryMisused, Step, TorchRefused, op, part_list
from grader.op.op_call import PreparedCall
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


@pytest.mark.parametrize("inference", [False, True], ids=["usual", "inference mode"])
def test_what_pytorch_computes_while_the_list_is_made_is_refused_since_it_would_be_done_once(inference: bool) -> None:
    with torch.inference_mode(inference):
        w, x = torch.zeros(4, 4), torch.ones(4, 4)
        computed = {
            r"aten\.mul": lambda: x * 2,
            r"aten\.clone": x.T.contiguous,
            r"aten\.(clone|_unsafe)": lambda: x.T.reshape(16),
            r"aten\._to_copy": x.half,
            r"aten\.t_": x.t_,
            r"aten\.(_local_scalar_dense|item)": lambda: x[: int(x[0, 0])],
        }
        for operator, gradient in computed.items():
            step = Step(lambda lr, gradient=gradient: [op("SgdStep", [w, gradient()], [w], lr=lr)], lr=1.0)  # type: ignore[misc]
            with pytest.raises(TorchRefused, match=operator):
                step()


@pytest.mark.parametrize("inference", [False, True], ids=["usual", "inference mode"])
def test_the_list_may_be_made_of_views(inference: bool) -> None:
    with torch.inference_mode(inference):
        w, x = torch.zeros(6), torch.arange(24.0).reshape(4, 6)

        def views() -> list[Tensor]:
            rows = x.view(4, 6).chunk(2)[1]
            return [x[1], x.reshape(24)[6:12], rows[0], x.T.t()[2], x.unbind()[3], x.detach()[0], x[1:, None][0, 0]]

        right = -torch.stack(views()).sum(0)
        Step(lambda lr: [op("SgdStep", [w, view], [w], lr=lr) for view in views()], lr=1.0)()
        assert torch.equal(w, right)


def sgd(w: Tensor, g: Tensor) -> Step:
    return Step(lambda lr: [op("SgdStep", [w, g], [w], lr=lr)], lr=1.0)


def test_a_tensor_that_was_given_other_memory_is_written_there() -> None:
    w, g = torch.zeros(4), torch.ones(4)
    step, before = sgd(w, g), w.detach()
    step()
    w.data = torch.full((4,), 7.0)
    step()
    assert torch.equal(before, torch.full((4,), -1.0))
    assert torch.equal(w, torch.full((4,), 6.0))


def test_a_step_goes_by_the_sizes_and_types_that_its_tensors_have_now() -> None:
    w, g = torch.zeros(4), torch.ones(4)
    step = sgd(w, g)
    step()
    w.resize_(100_000).zero_()
    with pytest.raises(EntryMisused, match="do not fit SgdStep"):
        step()
    g.resize_(100_000).fill_(2.0)
    step()
    assert torch.equal(w, torch.full((100_000,), -2.0))
    layer = torch.nn.Linear(3, 3, bias=False)
    step = sgd(layer.weight, torch.ones(3, 3))
    step()
    layer.double()
    for _ in range(2):
        with pytest.raises(EntryMisused, match="of type float64"):
            step()
    layer.float()
    right = layer.weight.detach() - 1
    step()
    assert torch.equal(layer.weight.detach(), right)


@pytest.mark.parametrize("left", [0, 15, 31], ids=["all", "all of its own", "its last byte"])
def test_a_tensor_whose_memory_was_taken_away_is_refused(left: int) -> None:
    w, g = torch.zeros(8)[4:], torch.ones(4)
    step = sgd(w, g)
    step()
    w.untyped_storage().resize_(left)
    for _ in range(2):
        with pytest.raises(EntryMisused, match="whose memory has been cut"):
            step()


def test_looking_at_the_tensors_again_takes_microseconds() -> None:
    w, g = torch.zeros(4), torch.ones(4)
    (call,) = sgd(w, g).calls
    assert min(timeit.repeat(call.look_again, number=100, repeat=20)) / 100 < 20e-6


def test_a_step_tells_autograd_what_it_wrote() -> None:
    w, leaf = torch.zeros(4), torch.ones(4, requires_grad=True)
    loss = (w * leaf).sum()
    sgd(w, torch.ones(4))()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()  # type: ignore[no-untyped-call]


MISUSED: dict[str, tuple[Any, Any, str]] = {
    "no function": (None, 1.0, "made of a function .* and not of a NoneType"),
    "no list": (lambda lr: None, 1.0, "returns a NoneType, and it should return a list"),
    "no call": (lambda lr: [print], 1.0, "Entry 1 of a step's list is a builtin_function_or_method"),
    "no inputs": (lambda lr: [op("EltwiseRelu", cast(Any, None), [])], 1.0, "wants a list of tensors for its inputs"),
    "a rate as text": (lambda lr: [], "0.1", "rate of a step is a finite number, and not a str"),
    "a rate as tensor": (lambda lr: [], torch.tensor(1.0), "and not a Tensor"),
    "a rate that is no number": (lambda lr: [], math.nan, "and not nan"),
    "a rate beyond all": (lambda lr: [], 10**400, "and not one beyond the range of a float"),
}


@pytest.mark.parametrize("name", MISUSED)
def test_what_is_no_step_is_refused_in_words(name: str) -> None:
    calls, lr, words = MISUSED[name]
    with pytest.raises(EntryMisused, match=words):
        Step(calls, lr)()


def test_a_rate_that_is_none_is_refused_and_the_old_one_stays() -> None:
    step = Step(lambda lr: [], 1.0)
    with pytest.raises(EntryMisused, match="and not inf"):
        step.lr = math.inf
    assert step.lr == 1.0


def test_a_step_without_calls_is_not_captured() -> None:
    with pytest.raises(EntryMisused, match="without calls cannot be captured"):
        Step(lambda lr: [], 1.0).capture()


class Replayed:
    """In the place of a graph: counts its replays."""

    def __init__(self) -> None:
        self.count = 0

    def replay(self) -> None:
        self.count += 1


def test_a_graph_is_replayed_only_while_its_tensors_are_where_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a graph holds are addresses; with a stand-in for CUDA's graphs, which need a GPU."""
    graphs: list[Replayed] = []

    def graph() -> Replayed:
        graphs.append(Replayed())
        return graphs[-1]

    monkeypatch.setattr(torch.cuda, "CUDAGraph", graph)
    monkeypatch.setattr(torch.cuda, "graph", lambda graph: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(PreparedCall, "device", torch.device("cuda"))
    w, g = torch.zeros(4), torch.ones(4)
    step = sgd(w, g)
    step.capture()
    version = w._version
    for _ in range(3):
        step()
    assert [graph.count for graph in graphs] == [3]
    assert w._version >= version + 3
    w.data = torch.full((4,), 7.0)
    step()
    step()
    assert [graph.count for graph in graphs] == [3, 2]
    assert torch.equal(w, torch.full((4,), 6.0))  # the capture, which here computes, went by the new address
    w.data = torch.zeros(4, dtype=torch.float64)
    with pytest.raises(EntryMisused, match="of type float64"):
        step()


def test_a_step_on_cpu_tensors_is_not_captured() -> None:
    with pytest.raises(EntryMisused, match="graphs are CUDA's"):
        Step(Network(torch.float32).calls, lr=0.05).capture()


def test_a_step_may_be_any_list() -> None:
    x, y = torch.randn(5), torch.empty(5)
    Step(lambda lr: [op("EltwiseRelu", [x], [y]), op("SgdStep", [x, y], [x], lr=lr)], lr=0.5)()
    assert torch.equal(y, torch.relu(y))
