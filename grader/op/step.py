"""A list of op calls on tensors as a step that is made over and over, call by call or as a captured graph.

    step = Step(lambda lr: part_list("backward_linear")(X, T, W, b, Y, dY, dW, db, lr), lr=0.1)
    step()                # on the CPU, or on PyTorch's current stream
    step.lr = 0.05        # from the next step on
    step.capture()        # CUDA: from now on a step is one replay of a graph

It is for one's own code on one's own machine. While a step is made or captured no operator of PyTorch may run, so that
all of it is done by our ops, and nothing is allocated. The list may be made of views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader.explain import sentence
from grader.op.numbers import finite
from grader.op.op_call import PreparedCall, prepared
from grader.op.operands import misused
from grader.op.tensors import Form, form_of, written
from grader.op_record import OpNote


class TorchRefused(RuntimeError):
    """An operator of PyTorch was about to run where only our ops may."""


class OurOpsAlone(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses every operator of PyTorch, views and copies as well; with `views`, all but those that give views."""

    def __init__(self, *, views: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._views = views

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Else PyTorch loads its compiler at the first step."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if not self._views or not func.is_view:
            raise TorchRefused(sentence("op", "step_torch", facts={"operator": str(func)}))
        with self:  # `reshape` and its like call themselves views, and are made of others that may copy
            made = func.decompose(*args, **kwargs or {})
        return func(*args, **kwargs or {}) if made is NotImplemented else made


class Step:
    """Call it to make one step. `calls` takes the learning rate and returns the list.

    A list is made anew for each rate, and a graph is captured anew: a graph holds the numbers that its kernels were
    launched with, and would go on with an old rate without a word. It holds addresses as well, so it is also captured
    anew where a tensor has been given other memory. Raises what `op_call` raises, TorchRefused where an operator of
    PyTorch runs inside, or, other than a view, while the list is made: it would run once and not at every step.
    """

    def __init__(self, calls: Callable[[float], Iterable[OpNote]], lr: float) -> None:
        if not callable(calls):
            raise misused("step_calls", type=type(calls).__name__)
        self._calls, self._lr = calls, _rate(lr)
        self._prepared: list[PreparedCall] | None = None
        self._captured = False
        self._graph: torch.cuda.CUDAGraph | None = None
        self._tensors: list[Tensor] = []  # of the graph, each once
        self._forms: list[Form] = []  # that they had when it was captured

    @property
    def lr(self) -> float:
        """The learning rate of the next step."""
        return self._lr

    @lr.setter
    def lr(self, lr: float) -> None:
        rate = _rate(lr)
        if rate != self._lr:
            self._lr, self._prepared, self._graph = rate, None, None

    @property
    def graph(self) -> torch.cuda.CUDAGraph | None:
        """The graph that the next step will replay; None before it is captured, or where it has to be anew."""
        if self._graph is not None and [form_of(tensor) for tensor in self._tensors] != self._forms:
            self._graph = None
        return self._graph

    @property
    def calls(self) -> list[PreparedCall]:
        """The calls of a step at this rate, in their order."""
        if self._prepared is None:
            with OurOpsAlone(views=True):
                notes = _listed(self._calls(self._lr))
            self._prepared = [prepared(note.kind, note.inputs, note.outputs, **note.attrs) for note in notes]
        return self._prepared

    def __call__(self) -> None:
        if self._captured:
            (self.graph or self._capture()).replay()
            for call in self.calls:
                written(call.outputs)
            return
        calls = self.calls
        with OurOpsAlone():
            for call in calls:
                call()

    def capture(self) -> None:
        """From now on a step is a graph, captured when the first is due: CUDA tensors only.

        Before, the kernels have to have run once: make a step, or load them by any other call.
        """
        self._capturable()
        self._captured = True

    def _capturable(self) -> list[PreparedCall]:
        """The calls, described as their tensors are now; raises EntryMisused where they make no graph."""
        calls = self.calls
        for call in calls:
            call.look_again()
        if not calls:
            raise misused("step_empty")
        if any(call.device.type != "cuda" for call in calls):
            raise misused("step_capture")
        return calls

    def _capture(self) -> torch.cuda.CUDAGraph:
        calls, graph = self._capturable(), torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph), OurOpsAlone():
            for call in calls:
                call()
        self._tensors = list({id(tensor): tensor for call in calls for tensor in call.tensors}.values())
        self._graph, self._forms = graph, [form_of(tensor) for tensor in self._tensors]
        return graph


def _rate(lr: Any) -> float:
    try:
        return finite(lr)
    except ValueError as why:
        raise misused("step_rate", got=why) from None


def _listed(notes: Any) -> list[OpNote]:
    if not isinstance(notes, Iterable):
        raise misused("step_list", type=type(notes).__name__)
    listed = list(notes)
    for number, note in enumerate(listed, 1):
        if not isinstance(note, OpNote):
            raise misused("step_entry", number=number, type=type(note).__name__)
    return listed
