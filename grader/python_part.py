"""The vocabulary of parts that are written in Python, beside that of puzzle.py: no torch, nothing of ours below it.

    PythonPart(
        "autograd",
        entry="fused_layernorm_linear",
        uses=["layernorm_linear", "layernorm_linear_backward"],
        params=[Scalar("rows", i32), Scalar("cols", i32), Scalar("eps", f32)],
        tensors=[In("x", f32, "rows", "cols"), In("weight", f32, "cols")],
        reference=lambda x, weight, eps: ...,
        result=Source("layernorm_linear", "y"),
        gradients={"x": Source("layernorm_linear_backward", "dx"), ...},
        groups={"forward": [Call(rows=2, cols=8, eps=1e-5, needs=())], ...},
    )

The entry is a Python function: it takes the tensors and then the scalars that `numbers` names, and returns one tensor,
through which PyTorch's autograd goes back. What it computes has to come from the entries of the parts that it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.puzzle import Buffer, Case, Number, Part, PuzzleError, Work, shape_of


@dataclass(frozen=True)
class Source:
    """Where a value has to come from: a buffer, by name, of another part's entry."""

    entry: str
    buffer: str


class Call(Case):
    """One call: `needs` names the tensors that want a gradient, None for all of them; `strided` those that are not
    contiguous, where "dy" is what flows back into the result. `steps` of gradient descent, with rate `rate`, on the
    mean squared distance from a target that is drawn, make it a training.
    """

    needs: tuple[str, ...] | None
    strided: tuple[str, ...]
    steps: int
    rate: float

    def __init__(
        self,
        *,
        needs: Sequence[str] | None = None,
        strided: Sequence[str] = (),
        steps: int = 0,
        rate: float = 0.0,
        inputs: Mapping[str, str] | None = None,
        **params: Number,
    ) -> None:
        super().__init__(inputs=inputs)
        object.__setattr__(self, "params", dict(params))
        object.__setattr__(self, "needs", None if needs is None else tuple(needs))
        object.__setattr__(self, "strided", tuple(strided))
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "rate", rate)

    @classmethod
    def like(cls, case: Case) -> Call:
        """`case` itself, or a call of its sizes in which every tensor wants a gradient."""
        if isinstance(case, Call):
            return case
        call = cls(inputs=case.inputs)
        object.__setattr__(call, "params", dict(case.params))
        return call


@dataclass(frozen=True)
class PythonPart(Part):
    """A part whose file is Python: `N_name.py`. `entry` is the function in it, and another name for the part.

    `params` are the scalars of a case, `tensors` what the entry is given, `numbers` those scalars that it takes behind
    them. `reference` takes tensors and numbers by name, in float64, and autograd goes back through it. `result` and
    `gradients` say where the values have to come from. A value is right within `tolerance` times the largest of its
    tensor.
    """

    entry: str = field(kw_only=True)
    tensors: Sequence[Buffer] = field(kw_only=True)
    numbers: Sequence[str] = field(default=(), kw_only=True)
    result: Source = field(kw_only=True)
    gradients: Mapping[str, Source] = field(kw_only=True)
    bench: Case = field(default_factory=Case, kw_only=True)
    work: Callable[..., Work] = field(default=lambda: Work(0, 0), kw_only=True)

    @property
    def is_host(self) -> bool:
        """Whether the entry is host code alone: it starts no kernel but through the parts that it uses."""
        return True

    def __post_init__(self) -> None:
        if set(self.gradients) != {tensor.name for tensor in self.tensors}:
            raise PuzzleError(f"{self.name}: `gradients` names each of its tensors, and nothing else.")
        if unused := {source.entry for source in (self.result, *self.gradients.values())} - set(self.uses):
            raise PuzzleError(f"{self.name}: {min(unused)} is no part that it uses.")
        for case in self.cases():
            self._check_call(Call.like(case))

    def _check_call(self, call: Call) -> None:
        names = {tensor.name for tensor in self.tensors}
        if set(call.params) != {scalar.name for scalar in self.scalars}:
            raise PuzzleError(f"{self.name}: a call gives {sorted(call.params)}, which are not its scalars.")
        if unknown := {*(call.needs or ()), *call.strided, *call.inputs} - names - {"dy", "target"}:
            raise PuzzleError(f"{self.name}: a call speaks of {min(unknown)}, which is no tensor.")
        for tensor in self.tensors:
            shape_of(tensor, call.params)

    def needs_of(self, call: Call) -> tuple[str, ...]:
        """The tensors that want a gradient."""
        return tuple(tensor.name for tensor in self.tensors) if call.needs is None else call.needs
