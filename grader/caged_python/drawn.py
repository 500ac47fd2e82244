"""The tensors of one call of a part in Python, and what PyTorch makes of them in float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from grader.inputs import memory_for
from grader.puzzle import Buffer, Case, InOut, Part, call_by_name, scalar_value
from grader.python_part import Call, PythonPart


@dataclass(frozen=True)
class Expected:
    """The result, and by name the gradient of each tensor that wants one."""

    result: torch.Tensor
    gradients: Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Drawn:
    """A call with the values that this seed gives it, by the generators that all inputs come from."""

    part: PythonPart
    call: Call
    seed: int

    @cached_property
    def numbers(self) -> dict[str, float | int]:
        """The scalars of the call, as the entry gets them."""
        return {scalar.name: scalar_value(scalar, self.call.params) for scalar in self.part.scalars}

    @cached_property
    def tensors(self) -> dict[str, torch.Tensor]:
        """What the entry is given, by name, in its order."""
        return self._drawn(self.part.tensors)

    def like_the_result(self, name: str) -> torch.Tensor:
        """Another tensor, of the shape of the result."""
        further = InOut(name, self.part.tensors[0].dtype, *self._result(_doubled(self.tensors)).shape)
        return self._drawn([*self.part.tensors, further])[name]

    def expected(self, needs: Sequence[str], dy: torch.Tensor) -> Expected:
        """What comes of the call where `dy` flows back into its result."""
        leaves = {name: tensor.double().requires_grad_(name in needs) for name, tensor in self.tensors.items()}
        result = self._result(leaves)
        wanted = [leaves[name] for name in needs]
        gradients = torch.autograd.grad((result * dy.double()).sum(), wanted) if wanted else ()
        return Expected(result.detach(), dict(zip(needs, gradients, strict=True)))

    def losses(self, target: torch.Tensor) -> Iterator[float]:
        """Of each step of gradient descent before it is made; the first tensor is the data, and stays."""
        values = _doubled(self.tensors)
        moved = list(values)[1:]
        for _ in range(self.call.steps):
            leaves = {name: value.detach().requires_grad_(name in moved) for name, value in values.items()}
            loss = ((self._result(leaves) - target.double()) ** 2).mean()
            yield loss.item()
            gradients = torch.autograd.grad(loss, [leaves[name] for name in moved])
            for name, gradient in zip(moved, gradients, strict=True):
                values[name] = leaves[name].detach() - self.call.rate * gradient

    def _result(self, tensors: Mapping[str, torch.Tensor]) -> Any:
        return call_by_name(self.part.reference, {**tensors, **self.numbers})

    def _drawn(self, buffers: Sequence[Buffer]) -> dict[str, torch.Tensor]:
        """By way of a part whose buffers these are."""
        sizes = Case.of(self.call.params)
        holder = Part(
            self.part.entry,
            params=[*self.part.scalars, *buffers],
            reference=lambda: None,
            groups={"all": [sizes]},
            bench=sizes,
            work=self.part.work,
            tolerance=self.part.tolerance,
            lesson=self.part.lesson,
            default_inputs=self.part.default_inputs,
        )
        case = Case(inputs=self.call.inputs)
        object.__setattr__(case, "params", dict(self.call.params))
        return memory_for(holder, case, self.seed)


def _doubled(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.double() for name, tensor in tensors.items()}
