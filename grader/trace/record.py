"""Runs a small case of a part on the software GPU and keeps what one block did to memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from grader.explain.names import kernel_name, variable_name
from grader.inputs import memory_for
from grader.prelude import Companion
from grader.puzzle import Case, Part, dtype_of, element_count, shape_of
from grader.shared_arrays import shared_place
from grader.simt.execution import WHOLE_BLOCK, Watch
from grader.simt.program import read_program
from grader.simt.software import SoftwareGPU, lowered_program
from grader.story.variables import DebugUnreadable, Variable, read_variables
from grader.trace.accesses import Array, Barrier, Trace, events_of
from grader.trial import launches_of

if TYPE_CHECKING:
    from grader.build import Build
    from grader.record.plan import Launch, Plan
    from grader.tools import Tools

MOST = 8_000  # entries of a trace
_MOST_CASES = 8  # that are looked at to find a typical one
_MOST_EVENTS = 20_000  # of them together: a few seconds
_MOST_ELEMENTS = 1 << 15  # of all buffers of such a case
_ENOUGH_THREADS = 0.9  # of those that are at work in the case where most are
_ENOUGH_ROUNDS = 4  # from barrier to barrier: two tiles of a loop


class NothingToDraw(Exception):
    """No block of the part touches memory as asked; the message is the sentence's key in the catalogue."""


@dataclass(frozen=True)
class Recorder:
    """Traces of one build of a part, case by case. `source` is the text of its file, `uses` what it is built with.

    Raises what recording and running raise.
    """

    part: Part
    built: Build
    tools: Tools
    seed: int
    source: str
    uses: Sequence[Companion] = ()

    @cached_property
    def _gpu(self) -> SoftwareGPU:
        return SoftwareGPU(self.built)

    def typical(self, block: Sequence[int] | None = None, line: int | None = None) -> Trace:
        """The block in the smallest case that shows what the part's other small ones do; as `trace` otherwise."""
        traces: list[Trace] = []
        reason = "nothing"
        for case in _small_cases(self.part):
            if sum(len(trace.events) for trace in traces) > _MOST_EVENTS:
                break
            try:
                traces.append(self.trace(case, block, line))
            except NothingToDraw as nothing:
                reason = str(nothing)
        if not traces:
            raise NothingToDraw(reason)
        return next((trace for trace in traces if _is_typical(trace, traces)), traces[-1])

    def trace(self, case: Case, block: Sequence[int] | None = None, line: int | None = None) -> Trace:
        """What a block of the first launch that touches memory did: on `line`, where one is given; block 0 by default.

        Raises NothingToDraw where there is no such launch or no such block.
        """
        recording = self.tools.record(self.built, self.part, case, inject=False)
        if recording.findings:
            raise NothingToDraw("not_recorded")
        launches, outside = launches_of(recording.plan), False
        for number, launch in enumerate(launches):
            at = tuple(block or (0, 0, 0))
            if any(place >= extent for place, extent in zip(at, launch.grid, strict=True)):
                outside = True
                continue
            found = self._traced(case, recording.plan, number, launch, at)
            if found.on(line) if line is not None else found.accesses:
                return found
        raise NothingToDraw("no_such_block" if outside else "nothing" if line is None else "nothing_there")

    def _traced(self, case: Case, plan: Plan, number: int, launch: Launch, at: tuple[int, ...]) -> Trace:
        watch = Watch(_linear(at, launch.grid), WHOLE_BLOCK, number, MOST)
        roles = {buffer.name: buffer.role for buffer in self.part.buffers}
        memory = memory_for(self.part, case, self.seed)
        result = self._gpu.run(plan, memory, roles=roles, seed=self.seed, trace=watch)
        arrays = [*self._shared(launch), *self._buffers(case, plan)]
        return Trace(
            kernel=kernel_name(launch.kernel),
            launch=number,
            grid=tuple(launch.grid),
            block=tuple(launch.block),
            at=at,
            sizes=case.params,
            events=list(events_of(result.trace, arrays)),
            source=self.source,
            cut=len(result.trace) >= MOST,
            faulty=bool(result.findings),
            arrays=arrays,
        )

    def _shared(self, launch: Launch) -> Iterator[Array]:
        """The arrays of a kernel in shared memory, by what the program says of their places."""
        functions = read_program(lowered_program(self.built)).functions
        for variable in next((one.shared for one in functions if one.name == launch.kernel), ()):
            size = variable.size or launch.shared  # what the launch asks for lies behind all others
            if size:
                yield self._shared_array(variable.name, variable.offset, size)

    def _shared_array(self, symbol: str, offset: int, size: int) -> Array:
        """With the shape that it is declared with, where that is known; else a row of words."""
        declared, name = self._declared.get(symbol), variable_name(symbol)
        if declared is not None and declared.type.bytes == size and declared.type.of and declared.type.of.bytes:
            return Array(name, "shared", offset, size, declared.type.of.bytes, declared.type.extents)
        place = shared_place(self.source, name, 0, size)
        element_bytes = size // place.elements if place.elements > 1 else 4
        return Array(name, "shared", offset, size, element_bytes, (size // element_bytes,))

    @cached_property
    def _declared(self) -> Mapping[str, Variable]:
        """What a build without optimisation says of variables; nothing where it cannot be read."""
        from grader.build import BuildFailed, build

        try:
            debug = build(self.built.source, debug=True, uses=self.uses)
            return read_variables(debug.ptx.read_text(encoding="utf-8", errors="replace")).symbols
        except (BuildFailed, DebugUnreadable):
            return {}

    def _buffers(self, case: Case, plan: Plan) -> Iterator[Array]:
        addresses = {buffer.name: buffer.address for buffer in plan.buffers}
        for buffer in self.part.buffers:
            element_bytes = dtype_of(buffer, case.params).bytes
            size = element_count(buffer, case.params) * element_bytes
            shape = tuple(shape_of(buffer, case.params))
            if buffer.name in addresses:
                yield Array(buffer.name, "global", addresses[buffer.name], size, element_bytes, shape)


def _small_cases(part: Part) -> list[Case]:
    """Cases of different sizes with something in every buffer, the smallest first; at most so many, evenly chosen."""
    different = {tuple(case.params.items()): case for case in reversed(list(part.cases())) if not case.offset}
    counts = [
        ([element_count(buffer, case.params) for buffer in part.buffers], number, case)
        for number, case in enumerate(different.values())
    ]
    small = sorted(
        (sum(each), number, case) for each, number, case in counts if all(each) and sum(each) <= _MOST_ELEMENTS
    )
    step = max(1, -(-len(small) // _MOST_CASES))
    return [case for _, _, case in small[::-step][::-1]]


def _is_typical(trace: Trace, others: Sequence[Trace]) -> bool:
    """Whether it shows what the others show: as many instructions, nearly as many threads, and several rounds."""
    alike = [other for other in others if _instructions(other) == max(map(_instructions, others))]
    return (
        _instructions(trace) == _instructions(alike[0])
        and _threads(trace) >= _ENOUGH_THREADS * max(map(_threads, alike))
        and _rounds(trace) >= min(max(map(_rounds, alike)), _ENOUGH_ROUNDS)
    )


def _instructions(trace: Trace) -> int:
    return len({access.instruction for access in trace.accesses})


def _threads(trace: Trace) -> int:
    """Threads that load or store something in global memory."""
    return len(
        {
            (access.warp, lane)
            for access in trace.accesses
            if access.space == "global"
            for lane, address in enumerate(access.lanes)
            if address is not None
        }
    )


def _rounds(trace: Trace) -> int:
    """Barriers that warp 0 comes to."""
    return sum(isinstance(event, Barrier) and event.warp == 0 for event in trace.events)


def _linear(at: Sequence[int], extent: Sequence[int]) -> int:
    return int(at[0] + extent[0] * (at[1] + extent[1] * at[2]))
