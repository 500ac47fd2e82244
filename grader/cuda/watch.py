"""Looks at what the timed runs themselves compute, and judges it when the race is over.

A kernel that skips its work in runs that nobody looks at is as good as one that is right only in those. So after every
lap some places of the results, drawn by chance once the lap is over, are read; and in some rounds, one for each set of
inputs and the last, all values are, and whatever the kernel may only read is compared with what it was. No value is
compared with what is expected before all processes that run on the GPU have ended: until then there is no such thing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from grader.compare import BufferComparison, Comparison, compare
from grader.cuda.defences import ALL, Defences
from grader.cuda.input_sets import InputSets
from grader.cuda.session import RealGPU
from grader.inputs import torch_type
from grader.puzzle import Buffer, element_count, shape_of

PLACES = 32  # of each result, after each lap


@dataclass(frozen=True)
class _Look:
    """Some elements of a result after a lap on the inputs of a set."""

    number: int
    buffer: Buffer
    places: list[int]
    values: torch.Tensor


@dataclass(frozen=True)
class Kept:
    """All results of a lap on the inputs of a set."""

    number: int
    results: dict[str, torch.Tensor]


@dataclass
class Watch:
    """What was seen of a contestant's laps. `gpu` is where its results are read. From round `early` on, all values are
    kept of the next lap on each set, and of the last lap. `choose(n)` gives a number below n.
    """

    sets: InputSets
    gpu: RealGPU
    early: int
    defences: Defences = ALL
    choose: Callable[[int], int] = secrets.randbelow
    kept: list[Kept] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    _looks: list[_Look] = field(default_factory=list)
    _rounds: int = 0

    def after_lap(self, number: int, last: bool) -> None:
        """Looks at what the lap that is just over has left, computed on the inputs of this set."""
        if self.defences.checked_laps:
            self._looks += [look for buffer in self.sets.part.results if (look := self._look(buffer, number))]
        if last or (self._rounds >= self.early and not self.of(number)):
            self._keep(number, last)
        self._rounds += 1

    def of(self, number: int) -> list[Kept]:
        """The results that were kept of laps on this set."""
        return [kept for kept in self.kept if kept.number == number]

    def looks(self, number: int) -> int:
        """How many looks there were at laps on this set."""
        return sum(look.number == number for look in self._looks)

    def wrong_looks(self, number: int, comparison: Comparison) -> int:
        """In how many of them a value was wrong, by what the comparison of such a lap's results expects."""
        buffers = {compared.buffer.name: compared for compared in comparison.buffers}
        looks = (look for look in self._looks if look.number == number)
        return sum(_is_wrong(look, buffers[look.buffer.name]) for look in looks)

    def _look(self, buffer: Buffer, number: int) -> _Look | None:
        params = self.sets.case.params
        count, dtype = element_count(buffer, params), torch_type(buffer, params)
        if not count:
            return None
        places = [self.choose(count) for _ in range(min(PLACES, count))]
        raw = bytearray(self.gpu.peek(buffer.name, places, dtype.itemsize))
        return _Look(number, buffer, places, torch.frombuffer(raw, dtype=dtype))

    def _keep(self, number: int, last: bool) -> None:
        part, params = self.sets.part, self.sets.case.params
        shaped = ((buffer.name, shape_of(buffer, params), torch_type(buffer, params)) for buffer in part.results)
        results = {name: torch.empty(shape, dtype=dtype) for name, shape, dtype in shaped}
        self.gpu.read(results)
        self.kept.append(Kept(number, results))
        if self.defences.checked_inputs:
            paths = self.sets.paths[number]
            read_only = [buffer.name for buffer in part.buffers if buffer.role == "in"]
            self._note([name for name in read_only if not self.gpu.same(name, paths[name])])
        if self.defences.checked_inputs and last:
            for each, paths in enumerate(self.sets.paths):
                self._note([name for name, path in paths.items() if not self.gpu.same(name, path, each)])

    def _note(self, changed: list[str]) -> None:
        self.changed += [name for name in changed if name not in self.changed]


def compared_anywhere(sets: InputSets, number: int, results: Mapping[str, torch.Tensor]) -> Comparison:
    """The comparison of all results with what is expected on a set; on PyTorch's GPU where it has one with room.

    Where something is wrong it is made again on the CPU, where whatever explains it looks at it.
    """
    part, case, inputs = sets.part, sets.case, sets[number]
    if torch.cuda.is_available():
        try:
            there = compare(part, case, _on_gpu(inputs), _on_gpu(results))
            if not there.wrong:
                return there
        except RuntimeError:  # no room, or a reference that knows the CPU only
            pass
        finally:
            torch.cuda.empty_cache()
    return compare(part, case, inputs, results)


def _on_gpu(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.cuda() for name, tensor in tensors.items()}


def _is_wrong(look: _Look, compared: BufferComparison) -> bool:
    places = torch.tensor(look.places, device=compared.expected.device)
    got, expected = look.values.to(places.device).double(), compared.expected[places]
    same = (got == expected) | (got.isnan() & expected.isnan())
    return not bool((same | ((got - expected).abs() <= compared.allowed[places])).all())
