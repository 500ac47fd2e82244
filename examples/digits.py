"""Trains a network of two layers to read digits, on the ops of puzzle 10 alone, beside PyTorch.

    python examples/digits.py --steps 600 --plot digits.png

The 1,797 images of scikit-learn, 8 × 8 each, in batches of 64; every fifth is kept for the test. Each step is the list
of 10.8, on the GPU where there is one, as a captured graph, else on the software GPU. Of PyTorch there is only what
moves data: a batch is copied to where the step expects it, and the loss and the accuracy are read in float64. Your own
parts are used where they have passed, else the reference solutions.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from grader.op import Step, part_list

BATCH, FEATURES, HIDDEN, CLASSES = 64, 64, 32, 10
TYPES = {"f32": torch.float32, "f16": torch.float16}
RATE, EVERY = 2.0, 10  # the loss is a mean over 640 numbers, so its gradients are small


@dataclass(frozen=True)
class Digits:
    """Images [count, 64] from 0 to 1, their classes, and both for the test."""

    images: Tensor
    classes: Tensor
    test_images: Tensor
    test_classes: Tensor

    @classmethod
    def load(cls) -> Digits:
        from sklearn.datasets import load_digits

        found = load_digits()
        images, classes = torch.tensor(found.data / 16, dtype=torch.float32), torch.tensor(found.target)
        test = torch.arange(len(classes)) % 5 == 0
        return cls(images[~test], classes[~test], images[test], classes[test])

    def batches(self, steps: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Images and targets, which are 1 for the class and 0 for the others, in another order each time through."""
        random, place, order = torch.Generator().manual_seed(1), len(self.classes), torch.empty(0, dtype=torch.int64)
        for _ in range(steps):
            if place + BATCH > len(self.classes):
                order, place = torch.randperm(len(self.classes), generator=random), 0
            chosen = order[place : place + BATCH]
            place += BATCH
            yield self.images[chosen], torch.nn.functional.one_hot(self.classes[chosen], CLASSES).float()


@dataclass
class Training:
    """Losses by step, and the share of test images that are read rightly."""

    name: str
    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    accuracy: float = 0.0


def first_weights() -> list[Tensor]:
    """W1, b1, W2, b2."""
    random = torch.Generator().manual_seed(2)
    W1 = torch.randn(FEATURES, HIDDEN, generator=random) * FEATURES**-0.5  # noqa: N806
    W2 = torch.randn(HIDDEN, CLASSES, generator=random) * HIDDEN**-0.5  # noqa: N806
    return [W1, torch.zeros(HIDDEN), W2, torch.zeros(CLASSES)]


def output(images: Tensor, weights: Sequence[Tensor]) -> Tensor:
    W1, b1, W2, b2 = weights  # noqa: N806
    return torch.relu(images @ W1 + b1) @ W2 + b2


def looked_at(into: Training, step: int, batch: tuple[Tensor, Tensor], weights: Sequence[Tensor]) -> None:
    """Notes the loss of a batch, from outside, in float64."""
    weights = [weight.detach().double().cpu() for weight in weights]
    loss = float(((output(batch[0].double(), weights) - batch[1].double()) ** 2).mean())
    into.steps.append(step)
    into.losses.append(loss)


def accuracy(digits: Digits, weights: Sequence[Tensor]) -> float:
    read = output(digits.test_images.double(), [weight.detach().double().cpu() for weight in weights]).argmax(1)
    return float((read == digits.test_classes).double().mean())


def on_our_ops(digits: Digits, name: str, steps: int, device: str) -> Training:
    dtype = TYPES[name]
    X, T = (torch.empty(BATCH, wide, dtype=dtype, device=device) for wide in (FEATURES, CLASSES))  # noqa: N806
    weights = [weight.to(device, dtype) for weight in first_weights()]
    hidden, outputs = (BATCH, HIDDEN), (BATCH, CLASSES)
    gradients = [outputs, (HIDDEN, CLASSES), (CLASSES,), hidden, hidden, (FEATURES, HIDDEN), (HIDDEN,)]
    scratch = [torch.empty(shape, dtype=dtype, device=device) for shape in (hidden, hidden, outputs, *gradients)]
    train_step, done = part_list("train_step"), Training(f"our ops, {name}")
    step = Step(lambda lr: train_step(X, T, *weights, *scratch, lr), RATE)
    for number, batch in enumerate(digits.batches(steps)):
        if number % EVERY == 0:
            looked_at(done, number, batch, weights)
        X.copy_(batch[0])
        T.copy_(batch[1])
        step()
        if number == 0 and device == "cuda":
            step.capture()
    done.accuracy = accuracy(digits, weights)
    return done


def on_pytorch(digits: Digits, steps: int) -> Training:
    weights, done = [weight.requires_grad_() for weight in first_weights()], Training("PyTorch, f32")
    optimizer = torch.optim.SGD(weights, lr=RATE)
    for number, batch in enumerate(digits.batches(steps)):
        if number % EVERY == 0:
            looked_at(done, number, batch, weights)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(output(batch[0], weights), batch[1]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    done.accuracy = accuracy(digits, weights)
    return done


def plot(trainings: Sequence[Training], file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for one, style in zip(trainings, ("-", "--", ":"), strict=False):
        axes.plot(one.steps, one.losses, style, label=f"{one.name}: {100 * one.accuracy:.1f} % of the test")
    axes.set_xlabel("step")
    axes.set_ylabel("mean squared error of a batch")
    axes.set_yscale("log")
    axes.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--types", nargs="+", choices=TYPES, default=list(TYPES))
    parser.add_argument("--plot", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    digits, device = Digits.load(), "cuda" if torch.cuda.is_available() else "cpu"
    trainings = [on_our_ops(digits, name, chosen.steps, device) for name in chosen.types]
    trainings.append(on_pytorch(digits, chosen.steps))
    for one in trainings:
        before, after = one.losses[0], one.losses[-1]
        print(
            f"{one.name:<13} loss {before:.4f} → {after:.4f} ({after - before:+.4f}) in {chosen.steps} steps, "
            f"{100 * one.accuracy:.1f} % of the test images read rightly"
        )
    if chosen.plot is not None:
        plot(trainings, chosen.plot)


if __name__ == "__main__":
    main()
