"""The bench case without a GPU: a sample of its blocks, on inputs that can be computed at any index.

What only a large case shows is found here: an index that wraps past 2**31 or is rounded past 2**24, a grid that stops
growing, a last block that is wrong. Of what the sampled blocks wrote, some elements are compared with the reference,
which is given the inputs that these elements are made of (`Part.sampled`). That elements are never written follows by
counting: if no block writes more than the busiest of the sample, and all of them together too little.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from grader.compare import ValueComparison, compare_values
from grader.explain import Observation
from grader.indexed import Inputs, Values
from grader.inputs import buffer_seed, torch_type
from grader.puzzle import (
    Buffer,
    Case,
    DType,
    Part,
    PuzzleError,
    call_by_name,
    dtype_of,
    element_count,
    scalar_value,
    shape_of,
)
from grader.simt.machine import ELEMENT_TYPES
from grader.simt.remote import SparseBuffer
from grader.simt.sampled_values import values_at
from grader.trial import DEVICE, Ran, from_device, launches_of
from grader.verdict import BENCH_GROUP, CaseResult, FirstWrong, Sampled, Stage

if TYPE_CHECKING:
    from grader.build import Build
    from grader.record.plan import Launch, Plan
    from grader.simt.software import SampleResult
    from grader.tools import Tools

_MOST_ELEMENTS = 192  # compared of one result
_MOST_VALUES = 1 << 22  # of inputs, computed for the expected ones


@dataclass(frozen=True)
class FullSize:
    """The recorded bench case of a part, ready to be sampled."""

    part: Part
    case: Case
    build: Build
    plan: Plan
    seed: int

    def run(self, tools: Tools) -> Ran | None:
        """What the sample showed; None where it showed nothing, because a sample says nothing about such a plan.

        A sample that came to no end is a result with none of the blocks.
        """
        if any(self._dtype(buffer).name not in ELEMENT_TYPES for buffer in self.part.buffers):
            return None
        begun = time.perf_counter()
        seen = tools.software_gpu(self.build).run_sample(
            self.plan,
            {buffer.name: self._sparse(buffer) for buffer in self.part.buffers},
            roles={buffer.name: buffer.role for buffer in self.part.buffers},
            sizes={buffer.name: self._dtype(buffer).bytes for buffer in self.part.buffers},
            elements=max(element_count(buffer, self.case.params) for buffer in self.part.results),
            seed=self.seed,
        )
        if not seen.execution.launches:
            return None
        if seen.execution.cut:
            return Ran(replace(self._result(seen, None, passed=True), sampled=Sampled(0, self._blocks())))
        ran = self._judged(seen)
        ran.counters, ran.printed = seen.counters, seen.printed
        ran.seconds = time.perf_counter() - begun
        return ran

    def _blocks(self) -> int:
        return sum(_volume(operation) for operation in launches_of(self.plan))

    def _sparse(self, buffer: Buffer) -> SparseBuffer:
        return SparseBuffer(self._dtype(buffer).name, self._seed(buffer) if buffer.is_read else None)

    def _dtype(self, buffer: Buffer) -> DType:
        return dtype_of(buffer, self.case.params)

    def _seed(self, buffer: Buffer) -> int:
        return buffer_seed(self.seed, buffer.name, self.case)

    def _judged(self, seen: SampleResult) -> Ran:
        found = [from_device(replace(finding, facts={**finding.facts, "full_size": True})) for finding in seen.findings]
        if found:
            found += [replace(seen, kind="integer_overflow", other_line=None) for seen in found if _has_wrapped(seen)]
            return Ran(self._result(seen, None, passed=False), found, Stage.run)
        if not seen.execution.is_conclusive:
            return Ran(self._result(seen, None, passed=True))
        compared = self._compared(seen)
        wrong = [self._wrong(compared, seen)] if compared is not None and compared.count else []
        observations = [*wrong, *self._never_written(seen)]
        result = self._result(seen, compared, passed=not observations)
        return Ran(result, observations, Stage.compare if observations else Stage.done)

    # ---- values -----------------------------------------------------------------------------------------------------

    def _compared(self, seen: SampleResult) -> ValueComparison | None:
        """Some elements of the first result that the sample wrote, against the reference; None where the part does not
        say how.
        """
        if self.part.sampled is None:
            return None
        buffer = self.part.results[0]
        chosen = _chosen_elements(seen.execution.written[buffer.name].ranges, self.seed)
        expected, scale = self._expected(buffer, chosen)
        chosen = chosen[: len(expected)]
        raw = bytearray(seen.values(buffer.name, chosen))
        got = torch.frombuffer(raw, dtype=torch_type(buffer, self.case.params)) if raw else torch.empty(0)
        return compare_values(self.part, self.case, buffer, chosen, got.double(), expected, scale)

    def _expected(self, buffer: Buffer, chosen: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """What the reference gives for these elements, or the first of them; and what the tolerance goes by."""
        at = Inputs(self.part, self.case, self._values)
        shape = shape_of(buffer, self.case.params)
        scale_of = self.part.tolerance.scale
        expected: list[float] = []
        scale: list[float] = []
        for element in chosen:
            if at.computed > _MOST_VALUES:
                break
            place = np.unravel_index([element], shape)
            made_of = self._made_of(at, place)
            expected.append(value_at(call_by_name(self.part.reference, made_of), shape, place))
            scale.append(expected[-1] if scale_of is None else value_at(call_by_name(scale_of, made_of), shape, place))
        return torch.tensor(expected, dtype=torch.float64), torch.tensor(scale, dtype=torch.float64)

    def _made_of(self, at: Inputs, index: Sequence[NDArray[np.intp]]) -> dict[str, Any]:
        """What reference and scale are called with, by name, for one element."""
        assert self.part.sampled is not None  # or nothing is compared
        given = self.part.sampled(at, *index)
        names = [buffer.name for buffer in self.part.buffers if buffer.is_read]
        inputs = given if isinstance(given, tuple) else (given,)
        if len(inputs) != len(names):
            raise PuzzleError(f"{self.part.name}: `sampled` gives {len(inputs)} inputs; there are {len(names)}.")
        scalars = {scalar.name: scalar_value(scalar, self.case.params) for scalar in self.part.scalars}
        return {**dict(zip(names, inputs, strict=True)), **scalars}

    def _values(self, buffer: Buffer) -> Values:
        dtype, seed = self._dtype(buffer), self._seed(buffer)
        return lambda index: values_at(dtype.name, seed, index)

    # ---- words ------------------------------------------------------------------------------------------------------

    def _wrong(self, compared: ValueComparison, seen: SampleResult) -> Observation:
        first = compared.first
        nan = bool(compared.got[first].isnan())
        return Observation(
            "not_a_number" if nan else "wrong_values",
            line=seen.writer(compared.buffer.name, compared.elements[first])[0],
            buffer=compared.buffer.name,
            index=compared.elements[first],
            count=compared.count,
            facts={
                "variant": "sampled",
                "wrong": compared.count,
                "checked": len(compared.elements),
                "got": f"{float(compared.got[first]):.7g}",
                "expected": f"{float(compared.expected[first]):.7g}",
            },
        )

    def _never_written(self, seen: SampleResult) -> Iterator[Observation]:
        for buffer in self.part.results:
            elements = element_count(buffer, self.case.params)
            coverage = seen.execution.coverage(buffer.name, self._dtype(buffer).bytes)
            missing = elements - (coverage.most - coverage.again)
            if buffer.role != "out" or missing <= 0:
                continue
            launch = seen.execution.launches[-1].launch
            few = coverage.most < elements
            facts: dict[str, Any] = {"variant": "few" if few else "again", "why": "few" if few else "again"}
            facts |= {"mark": facts["variant"], "each": coverage.each, "most": coverage.most, "again": coverage.again}
            if not coverage.most:
                facts = {"variant": "none_sampled", "mark": "none"}
            line = launch.line if few else coverage.line
            yield Observation("never_written", line, launch.kernel, buffer=buffer.name, count=missing, facts=facts)

    def _result(self, seen: SampleResult, compared: ValueComparison | None, *, passed: bool) -> CaseResult:
        launches = seen.execution.launches
        blocks, of = sum(sample.blocks for sample in launches), sum(_volume(sample.launch) for sample in launches)
        return CaseResult(
            device=DEVICE,
            group=BENCH_GROUP,
            params=self.case.params,
            passed=passed,
            checked=len(compared.elements) if compared is not None else 0,
            wrong=compared.count if compared is not None else 0,
            max_abs_error=compared.max_abs_error if compared is not None else 0.0,
            max_rel_error=compared.max_rel_error if compared is not None else 0.0,
            of_tolerance=compared.of_tolerance if compared is not None else 0.0,
            first_wrong=self._first_wrong(compared) if compared is not None and compared.count else None,
            offset=self.case.offset,
            sampled=Sampled(blocks, of) if blocks < of else None,
        )

    def _first_wrong(self, compared: ValueComparison) -> FirstWrong:
        first = compared.first
        index = np.unravel_index(compared.elements[first], shape_of(compared.buffer, self.case.params))
        place = tuple(int(one) for one in index)
        return FirstWrong(compared.buffer.name, place, float(compared.expected[first]), float(compared.got[first]))


def _has_wrapped(seen: Observation) -> bool:
    """Whether an index is negative: small cases are right, so it was past 2**31 in an `int`."""
    return seen.kind.startswith("out_of_bounds") and seen.index is not None and seen.index < 0


def _chosen_elements(written: Sequence[tuple[int, int]], seed: int) -> list[int]:
    """The ends of ranges that were written, and others by chance; ascending."""
    ends = [end for written_range in written for end in written_range]
    chance = random.Random(seed)  # noqa: S311 - nothing secret depends on it
    others = [chance.randint(*chance.choice(written)) for _ in range(_MOST_ELEMENTS - len(ends))] if written else []
    return sorted({*ends, *others})


def value_at(result: Any, shape: Sequence[int], place: Sequence[NDArray[np.intp]]) -> float:
    """The only element of what a reference gives; in a dimension that it gives all of, the one at `place`."""
    given: torch.Tensor = result[0] if isinstance(result, tuple) else result
    if given.numel() == 1:
        return float(given.reshape(()))
    return float(given[tuple(int(at[0]) if given.shape[axis] == shape[axis] else 0 for axis, at in enumerate(place))])


def _volume(launch: Launch) -> int:
    x, y, z = launch.grid
    return x * y * z
