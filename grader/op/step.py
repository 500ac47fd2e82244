"""A list of op calls on tensors as a step that is made over and over, call by call or as a captured graph.

    step = Step(lambda lr: part_list("backward_linear")(X, T, W, b, Y, dY, dW, db, lr), lr=0.1)
    step()                # on the CPU, or on PyTorch's current stream
    step.lr = 0.05        # from the next step on
    step.capture()        # CUDA: from now on a step is one replay of a graph

It is for one's own code on one's own machine. While a step is made or captured no operator of PyTorch may run, so that
all of it is done by our ops, and nothing is allocated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from grader.explain import sentence
from grader.op.errors import EntryMisused
from grader.op.op_call import PreparedCall, prepared
from grader.op_record import OpNote


class TorchRefused(RuntimeError):
    """An operator of PyTorch was about to run where only our ops may."""


class OurOpsAlone(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses every operator of PyTorch, views and copies as well."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Else PyTorch loads its compiler at the first step."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        raise TorchRefused(sentence("op", "step_torch", facts={"operator": str(func)}))


class Step:
    """Call it to make one step. `calls` takes the learning rate and returns the list.

    A list is made anew for each rate, and a graph is captured anew: a graph holds the numbers that its kernels were
    launched with, and would go on with an old rate without a word. Raises what `op_call` raises, TorchRefused where an
    operator of PyTorch runs inside.
    """

    def __init__(self, calls: Callable[[float], Sequence[OpNote]], lr: float) -> None:
        self._calls, self._lr = calls, lr
        self._prepared: list[PreparedCall] | None = None
        self._captured = False
        self._graph: torch.cuda.CUDAGraph | None = None

    @property
    def lr(self) -> float:
        """The learning rate of the next step."""
        return self._lr

    @lr.setter
    def lr(self, lr: float) -> None:
        if lr != self._lr:
            self._lr, self._prepared, self._graph = lr, None, None

    @property
    def graph(self) -> torch.cuda.CUDAGraph | None:
        """The graph that the next step will replay; None before it is captured."""
        return self._graph

    @property
    def calls(self) -> list[PreparedCall]:
        """The calls of a step at this rate, in their order."""
        if self._prepared is None:
            self._prepared = [_prepared(note) for note in self._calls(self._lr)]
        return self._prepared

    def __call__(self) -> None:
        if self._captured:
            (self._graph or self._capture()).replay()
            return
        calls = self.calls
        with OurOpsAlone():
            for call in calls:
                call()

    def capture(self) -> None:
        """From now on a step is a graph, captured when the first is due: CUDA tensors only.

        Before, the kernels have to have run once: make a step, or load them by any other call.
        """
        if any(call.device.type != "cuda" for call in self.calls):
            raise EntryMisused(sentence("op", "step_capture"))
        self._captured = True

    def _capture(self) -> torch.cuda.CUDAGraph:
        calls, graph = self.calls, torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph), OurOpsAlone():
            for call in calls:
                call()
        self._graph = graph
        return graph


def _prepared(note: OpNote) -> PreparedCall:
    return prepared(note.kind, note.inputs, note.outputs, **note.attrs)
