"""Kernels in turn, each in a process of its own: A B C A B C, with the learner's first.

A contestant holds one kernel with its inputs. It is asked for one lap at a time, and nobody else works on the GPU
meanwhile; what a lap leaves in the results can be read until the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol


@dataclass(frozen=True)
class Lap:
    """One timed run in milliseconds: between two events on the device, and by the host's clock around it."""

    ms: float
    host_ms: float


class Contestant(Protocol):
    """A kernel in a process of its own. Raises `ReplayFailed` (grader/cuda/session.py).

    `name` is "yours", "reference", "pytorch", "compiled" or "ceiling"; `what` says in words what runs.
    """

    name: str
    what: str

    def lap(self, inputs: int) -> Lap:
        """One run with a cold L2 on its set of inputs of this number, poisoned results, everything else as new."""

    def close(self) -> None:
        """Ends the process."""

    def __enter__(self) -> Contestant: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
