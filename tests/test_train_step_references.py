"""What is right in 10.6 to 10.8 is what autograd gives; how far off a value may be holds for arithmetic in its type."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from grader.catalog import load_catalog
from grader.compare import compare, reference_results
from grader.inputs import draw_inputs, torch_type
from grader.list_part import ListPart
from grader.puzzle import Case
from tests.judging import ROOT, Judge, shown
from tests.sampling import sampled

SEEDS = range(3)


def part_of(name: str) -> ListPart:
    located = load_catalog(ROOT).resolve("10", name)[1]
    assert located is not None
    assert isinstance(located.part, ListPart)
    return located.part


def cases(part: ListPart, dtype: int) -> list[Case]:
    """Those that have something to do."""
    found = [case for case in part.cases() if case.params["dtype"] == dtype]
    return [case for case in found if 0 not in [value for name, value in case.params.items() if name != "dtype"]]


def doubles(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.double() for name, tensor in inputs.items()}


def loss(one: dict[str, Tensor], W: list[Tensor]) -> Tensor:  # noqa: N803
    """Of one layer or two, of weights and biases in their order."""
    H = one["X"] if len(W) == 2 else torch.relu(one["X"] @ W[0] + W[1])  # noqa: N806
    return ((H @ W[-2] + W[-1] - one["T"]) ** 2).mean()


def stepped(one: dict[str, Tensor], weights: list[Tensor], lr: float, steps: int = 1) -> tuple[Any, list[Tensor]]:
    """The gradients of the last step, and the weights after it, by autograd."""
    gradients: Any = ()
    for _ in range(steps):
        leaves = [weight.detach().requires_grad_() for weight in weights]
        gradients = torch.autograd.grad(loss(one, leaves), leaves)
        weights = [w.detach() - lr * g for w, g in zip(leaves, gradients, strict=True)]
    return gradients, weights


@pytest.mark.parametrize("seed", SEEDS)
def test_the_way_back_through_one_layer_is_autograds(seed: int) -> None:
    part = part_of("backward_linear")
    for case in cases(part, dtype=0):
        one = doubles(draw_inputs(part, case, seed))
        one["Y"] = one["X"] @ one["W"] + one["b"]
        (dW, db), (W, b) = stepped(one, [one["W"], one["b"]], case.params["lr"])  # noqa: N806
        got = reference_results(part, case, one)
        for name, right in {"dW": dW, "db": db, "W": W, "b": b}.items():
            torch.testing.assert_close(got[name], right)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_way_back_through_two_layers_is_autograds(seed: int) -> None:
    part = part_of("backward_mlp")
    for case in cases(part, dtype=0):
        one = doubles(draw_inputs(part, case, seed))
        one["Z1"] = one["X"] @ one["W1"] + one["b1"]
        one["H"] = torch.relu(one["Z1"])
        one["Y"] = one["H"] @ one["W2"] + one["b2"]
        names = ("W1", "b1", "W2", "b2")
        gradients, weights = stepped(one, [one[name] for name in names], case.params["lr"])
        got = reference_results(part, case, one)
        for name, gradient, weight in zip(names, gradients, weights, strict=True):
            torch.testing.assert_close(got[f"d{name}"], gradient)
            torch.testing.assert_close(got[name], weight)


@pytest.mark.parametrize("seed", SEEDS)
def test_ten_steps_are_autograds_and_a_torch_optimizers(seed: int) -> None:
    part = part_of("train_step")
    for case in cases(part, dtype=0):
        one, lr, steps = doubles(draw_inputs(part, case, seed)), case.params["lr"], int(case.params["steps"])
        weights = [one[name] for name in ("W1", "b1", "W2", "b2")]
        _, right = stepped(one, weights, lr, steps)
        theirs = [weight.clone().requires_grad_() for weight in weights]
        optimizer = torch.optim.SGD(theirs, lr=lr)
        for _ in range(steps):
            optimizer.zero_grad()
            torch.autograd.backward(loss(one, theirs))
            optimizer.step()
        got = list(reference_results(part, case, one).values())
        torch.testing.assert_close(got, right)
        torch.testing.assert_close(got, [weight.detach() for weight in theirs])


@pytest.mark.parametrize("dtype", [0, 1], ids=["f32", "f16"])
def test_ten_steps_in_the_type_itself_are_near_enough_and_no_step_at_all_is_not(dtype: int) -> None:
    part = part_of("train_step")
    for case in cases(part, dtype):
        inputs = draw_inputs(part, case, seed=5)
        weights = [inputs[name] for name in ("W1", "b1", "W2", "b2")]
        stored = torch_type(part.results[0], case.params)
        data, moved = {name: inputs[name].float() for name in ("X", "T")}, [weight.float() for weight in weights]
        for _ in range(int(case.params["steps"])):
            _, moved = stepped(data, moved, case.params["lr"])
            moved = [weight.to(stored).float() for weight in moved]
        results = dict(zip(("W1", "b1", "W2", "b2"), (one.to(stored) for one in moved), strict=True))
        compared = compare(part, case, inputs, results)
        assert compared.wrong == 0
        assert compared.of_tolerance <= 0.25
        assert compare(part, case, inputs, dict(zip(results, weights, strict=True))).wrong > 0


@pytest.mark.parametrize("name", ["backward_linear", "backward_mlp", "train_step"])
def test_what_begins_with_halves_goes_four_tolerances_past_those_of_floats(name: str) -> None:
    part = part_of(name)
    for case in cases(part, dtype=0):
        inputs = draw_inputs(part, case, seed=5)
        rounded = {key: tensor.half().double() for key, tensor in inputs.items()}
        results = {key: value.float() for key, value in reference_results(part, case, rounded).items()}
        assert compare(part, case, inputs, results).of_tolerance >= 4


WRONG = ROOT / "tests" / "wrong" / "puzzle_10_train_step"


MISTAKES = [
    ("linear_target_minus_y", "T and Y had changed places"),
    ("linear_rate_frozen", "the learning rate were 0.5, whatever it is"),
    ("linear_updated_twice", "the weights had gone two steps"),
    ("mlp_relu_exchanged", "Z1 and dH had changed places in ReluBwd"),
    ("mlp_no_relu", "there were no ReLU on the way back"),
    ("mlp_updated_before_read", "W2 had gone its step before dH was made of it"),
]


@pytest.mark.parametrize(("file", "words"), sampled(MISTAKES, 3))  # each is compiled; an ordinary run takes two
def test_a_usual_mistake_is_told_by_what_it_looks_like(file: str, words: str, judge: Judge) -> None:
    located = load_catalog(ROOT).resolve("10", "backward_linear" if file.startswith("linear") else "backward_mlp")[1]
    assert located is not None
    verdict = judge(located, WRONG / f"{file}.py")
    assert any(words in (case.pattern or "") for case in verdict.cases), shown(verdict)
