"""Looks at what the timed runs themselves compute, so that it can be judged when the race is over.

A kernel that skips its work in runs that nobody looks at is as good as one that is right only in those. So after every
lap some places of the results, drawn by chance once the lap is over, are read; and in some rounds, one for each set of
inputs and the last, all values are, and whatever the kernel may only read is compared with what it was. No value is
compared with what is expected before all processes that run on the GPU have ended: until then there is no such thing.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from grader.cuda.defences import ALL, Defences
from grader.cuda.input_sets import InputSets
from grader.cuda.pieces import Look
from grader.cuda.session import RealGPU
from grader.inputs import torch_type
from grader.puzzle import Buffer, element_count, shape_of

PLACES = 32  # of each result, after each lap


@dataclass
class Watch:
    """What was seen of a contestant's laps. `gpu` is where its results are read. `choose(n)` gives a number below n.

    From round `early` on, all `results` are kept of the next lap on each set, and of the last lap, by set; `looks` are
    those at single places, by set. `changed` names inputs that did not stay as they were.
    """

    sets: InputSets
    gpu: RealGPU
    early: int
    defences: Defences = ALL
    choose: Callable[[int], int] = secrets.randbelow
    results: dict[int, dict[str, torch.Tensor]] = field(default_factory=dict)
    looks: dict[int, list[Look]] = field(default_factory=lambda: defaultdict(list))
    changed: list[str] = field(default_factory=list)
    _rounds: int = 0

    def after_lap(self, number: int, last: bool) -> None:
        """Looks at what the lap that is just over has left, computed on the inputs of this set."""
        if self.defences.checked_laps:
            self.looks[number] += map(self._look, self.sets.part.results)
        if last or (self._rounds >= self.early and number not in self.results):
            self._keep(number)
            if self.defences.checked_inputs:
                self._compare_inputs(number, last)
        self._rounds += 1

    def _look(self, buffer: Buffer) -> Look:
        params = self.sets.case.params
        count, dtype = element_count(buffer, params), torch_type(buffer, params)
        places = [self.choose(count) for _ in range(min(PLACES, count))]
        raw = self.gpu.peek(buffer.name, places, dtype.itemsize)
        values = torch.frombuffer(bytearray(raw), dtype=dtype) if raw else torch.empty(0, dtype=dtype)
        return Look(buffer.name, torch.tensor(places, dtype=torch.int64), values)

    def _keep(self, number: int) -> None:
        params = self.sets.case.params
        self.results.pop(number, None)  # before there are two of them
        self.results[number] = {
            buffer.name: self.gpu.taken(buffer.name, torch_type(buffer, params), shape_of(buffer, params))
            for buffer in self.sets.part.results
        }

    def _compare_inputs(self, number: int, last: bool) -> None:
        """Those that were worked on, and, when all is over, the copies of all sets, with what they were at first."""
        inputs = [buffer for buffer in self.sets.part.buffers if buffer.is_read]
        asked = [(buffer.name, number, False) for buffer in inputs if buffer.role == "in"]
        asked += [(buffer.name, each, True) for buffer in inputs for each in range(len(self.sets) if last else 0)]
        changed = [name for name, each, kept in asked if not self.gpu.unchanged(name, each, kept=kept)]
        self.changed += [name for name in dict.fromkeys(changed) if name not in self.changed]
