"""Runs a failing case once more, watches the thread that matters, and makes its story.

The file is compiled a second time without optimisation, so that each variable can be followed by name; where that
version cannot be read, or does not fail, the story is told of the ordinary build, by lines and memory alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from grader.compare import compare
from grader.explain import Observation
from grader.facts import launch_facts
from grader.findings import Place
from grader.prelude import Companion
from grader.puzzle import Case, Part, buffer_bytes, dtype_of, element_count, shape_of
from grader.simt.execution import Watch
from grader.simt.lower import lower
from grader.simt.machine import MachineError
from grader.simt.program import Program, write_program
from grader.simt.ptx import PtxError
from grader.simt.software import NOBODY, RunResult, SoftwareGPU
from grader.story.events import SHARED, Event, Names, events, shown_value
from grader.story.probes import Instrumented, Probe, instrument
from grader.story.steps import Item, steps
from grader.story.variables import Debugged, DebugUnreadable, read_variables
from grader.trial import ORDERS, Trial, from_device, launches_of

if TYPE_CHECKING:
    from grader.build import Build
    from grader.record.plan import Launch
    from grader.tools import Tools

MOST = 20_000  # entries of a trace
_ACCESSES = ("read", "write", "atomic")
_AT_ONCE = ("out_of_bounds_read", "out_of_bounds_write", "misaligned_access", "read_only_violation")


@dataclass(frozen=True)
class Element:
    """An element of a result: what should stand there, and what does."""

    buffer: str
    index: int
    expected: float
    got: float


@dataclass(frozen=True)
class Story:
    """What a thread of a launch did. `element` is the one that it stored wrongly, `found` what was found instead, in
    words. If nobody stored the element, this thread stored `beside`, the nearest that anybody did. `arguments` are
    those of the kernel, as shown. `named` is whether variables are followed, `cut` whether the thread did more than is
    told.
    """

    case: Case
    launch: Launch
    arguments: str
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    items: Sequence[Item]
    element: Element | None = None
    found: str = ""
    beside: int | None = None
    named: bool = True
    cut: bool = False


@dataclass(frozen=True)
class _Failure:
    """What a run showed, and which thread of which launch to look at."""

    run: int
    observation: Observation | None
    element: Element | None
    block: int
    thread: int
    beside: int | None = None
    place: tuple[str, int] | None = None  # buffer and byte of what the thread stored: the element, or the one beside it
    met: tuple[str, int] | None = None  # buffer and byte of what the observation is about, where it is memory


@dataclass(frozen=True)
class StoryTrial(Trial):
    """A recorded case of a build, and how its PTX becomes the program that is run."""

    words: Place = field(kw_only=True)
    program: Path = field(kw_only=True)
    lowered: Program = field(kw_only=True)
    probes: Sequence[Probe] = field(kw_only=True)
    debugged: Debugged = field(kw_only=True)

    def story(self) -> Story | None:
        """The story of the first thing that is wrong; None where nothing is, or nobody can be watched."""
        failure = self._fail()
        if failure is None:
            return None
        launches = launches_of(self.plan)
        for number in reversed(range(len(launches))):
            told = self._watched(failure, number)
            if told and (failure.place is None or any(_stores(event, failure) for event in told)):
                return self._story(failure, launches[number], told)
        return None

    # ---- the failing run ----

    def _fail(self) -> _Failure | None:
        gpu = SoftwareGPU(self.build, program=self.program)
        for run in range(len(ORDERS)):
            memory, inputs = self._memory(run)
            result = self._once(gpu, run, memory, None)
            failure = self._failure(run, result, memory, inputs)
            if failure is not None:
                return failure
        return None

    def _once(self, gpu: SoftwareGPU, run: int, memory: Mapping[str, torch.Tensor], watch: Watch | None) -> RunResult:
        return gpu.run(
            self.plan,
            memory,
            roles=self._roles(),
            order=ORDERS[run],
            seed=self._seed(run),
            trace=watch,
            **self._budgets(),
        )

    def _failure(
        self, run: int, result: RunResult, memory: Mapping[str, torch.Tensor], inputs: Mapping[str, torch.Tensor]
    ) -> _Failure | None:
        if result.findings:
            found = from_device(result.findings[0])
            launch = next((one for one in launches_of(self.plan) if one.kernel == found.kernel), None)
            if launch is None or found.block is None or found.thread is None:
                return None
            at = _linear(found.block, launch.grid), _linear(found.thread, launch.block)
            return _Failure(run, found, None, *at, met=self._met(found))
        wrong = compare(self.part, self.case, inputs, memory).first_wrong()
        if wrong is None:
            return None
        name, index = wrong.buffer.name, _telling(wrong.wrong.flatten(), shape_of(wrong.buffer, self.case.params))
        element = Element(name, index, float(wrong.expected[index]), float(wrong.got[index]))
        stored, block, thread = self._nearest_writer(result, name, index)
        if block is None or thread is None:
            return None
        place = (name, stored * dtype_of(wrong.buffer, self.case.params).bytes)
        return _Failure(run, None, element, block, thread, None if stored == index else stored, place)

    def _met(self, seen: Observation) -> tuple[str, int] | None:
        """Buffer and byte of the memory that was found to be used wrongly."""
        if seen.facts.get("space") == "shared":
            return SHARED, int(seen.facts["address"])
        buffer = next((one for one in self.part.buffers if one.name == seen.buffer), None)
        if buffer is None or seen.index is None:
            return None
        return buffer.name, seen.index * dtype_of(buffer, self.case.params).bytes

    def _nearest_writer(self, result: RunResult, name: str, index: int) -> tuple[int, int | None, int | None]:
        """The element, or the nearest one that anybody wrote, with block and thread of who did."""
        count = next(element_count(buffer, self.case.params) for buffer in self.part.results if buffer.name == name)
        for distance in range(count):
            for near in (index - distance, index + distance):
                _, writer_block, writer_thread = result.writer(name, near) if 0 <= near < count else NOBODY
                if writer_block is not None:
                    return near, writer_block, writer_thread
        return index, None, None

    # ---- the watched run ----

    def _watched(self, failure: _Failure, launch: int) -> list[Event]:
        """What the thread did in a launch; empty where the launch has no such thread."""
        gpu = SoftwareGPU(self.build, program=self.program)
        trace: list[dict[str, Any]] = []
        for run in range(failure.run + 1):
            memory, _ = self._memory(run)
            watch = Watch(failure.block, failure.thread, launch, MOST) if run == failure.run else None
            trace = self._once(gpu, run, memory, watch).trace
        return list(events(trace, self.probes, self._names(launches_of(self.plan)[launch].kernel)))

    def _names(self, kernel: str) -> Names:
        params = self.case.params
        sizes = {buffer.name: buffer_bytes(buffer, params) for buffer in self.part.buffers}
        shared = next((function.shared for function in self.lowered.functions if function.name == kernel), ())
        return Names(
            buffers={buffer.name: dtype_of(buffer, params).name for buffer in self.part.buffers},
            addresses={buffer.name: (buffer.address, sizes[buffer.name]) for buffer in self.plan.buffers},
            shared=[(variable.name, variable.offset, variable.size) for variable in shared],
            variables=self.debugged.variables,
            symbols=self.debugged.symbols,
        )

    def _story(self, failure: _Failure, launch: Launch, told: list[Event]) -> Story:
        cut = len(told) >= MOST
        told = told[: _end(told, failure) + 1]
        return Story(
            case=self.case,
            launch=launch,
            arguments=self._arguments(launch),
            block=_coordinates(failure.block, launch.grid),
            thread=_coordinates(failure.thread, launch.block),
            items=steps(told),
            element=failure.element,
            found=self._in_words(failure.observation),
            beside=failure.beside,
            named=bool(self.probes),
            cut=cut,
        )

    def _arguments(self, launch: Launch) -> str:
        """The kernel's parameters with their values: "A, B, C, M = 17"; a pointer that has its buffer's name alone."""
        names, shown = self._names(launch.kernel), []
        offsets = self.build.kernels[launch.kernel].parameter_offsets if launch.kernel in self.build.kernels else ()
        for offset, (name, kind) in zip(offsets, self.debugged.parameters.get(launch.kernel, ()), strict=False):
            value = shown_value(launch.parameters[offset : offset + max(kind.bytes, 1)], kind, names)
            shown.append(name if value == name else f"{name} = {value}")
        return ", ".join(shown)

    def _in_words(self, seen: Observation | None) -> str:
        if seen is None:
            return ""
        return replace(self.words, case=self.case, launches=launch_facts(self.plan)).finding(seen).message


def tell(
    words: Place, part: Part, case: Case, source: Path, seed: int, tools: Tools, uses: Sequence[Companion] = ()
) -> Story | None:
    """The story of a case that fails; None where no thread of a kernel is to blame, or none can be watched.

    Raises BuildFailed and ToolMissing as building does.
    """
    from grader.build import build

    for made in (lambda: build(source, debug=True, uses=uses), lambda: tools.build(source, uses)):
        story = _told_of(made, words, part, case, seed, tools)
        if story is not None:
            return story
    return None


def _told_of(made: Callable[[], Build], words: Place, part: Part, case: Case, seed: int, tools: Tools) -> Story | None:
    built = made()
    recording = tools.record(built, part, case, inject=False)
    if recording.findings:
        return None
    with tempfile.TemporaryDirectory(prefix="grader-story-") as folder:
        program = Path(folder) / "program.simt"
        try:
            debugged, instrumented = _followed(built)
            lowered = lower(instrumented.text, built.source_name)
            write_program(lowered, program)
            return StoryTrial(
                part,
                "debug",
                case,
                built,
                recording.plan,
                seed,
                words=words,
                program=program,
                lowered=lowered,
                probes=instrumented.probes,
                debugged=debugged,
            ).story()
        except (PtxError, MachineError):
            return None


def _followed(built: Build) -> tuple[Debugged, Instrumented]:
    """The variables and the probes of a build; none of both where it does not say where variables live."""
    text = built.ptx.read_text(encoding="utf-8", errors="replace")
    try:
        debugged = read_variables(text)
    except DebugUnreadable:
        return Debugged({}), Instrumented(text)
    return debugged, instrument(text, debugged, built.source_name) if debugged.variables else Instrumented(text)


def _end(told: Sequence[Event], failure: _Failure) -> int:
    """The event with which the story ends: the store of the element, or the last thing done on the faulty line, in the
    round of a loop that used the memory in question.
    """
    places = [place for place, event in enumerate(told) if _stores(event, failure)]
    seen = failure.observation
    if seen is not None:
        there = [place for place, event in enumerate(told) if event.line == seen.line]
        accesses = [place for place in there if told[place].kind in _ACCESSES]
        meeting = [place for place in accesses if failure.met is not None and _touches(told[place], failure.met)]
        if accesses and (meeting or seen.kind in _AT_ONCE):
            first = meeting[-1] if meeting else accesses[0]
            there = [place for place in range(first, len(told)) if _same_line(told[first : place + 1])]
        places = there
    return max(places, default=len(told) - 1)


def _same_line(told: Sequence[Event]) -> bool:
    return len({event.line for event in told}) == 1


def _stores(event: Event, failure: _Failure) -> bool:
    """Whether it stores the element that the failure is about, alone or as a part of a wider access."""
    return failure.place is not None and event.kind != "read" and _touches(event, failure.place)


def _touches(event: Event, place: tuple[str, int]) -> bool:
    if event.place is None:
        return False
    buffer, at = event.place
    return buffer == place[0] and at <= place[1] < at + event.bytes


def _telling(wrong: torch.Tensor, shape: Sequence[int]) -> int:
    """A wrong element to tell of: of a matrix, one off the diagonal, where row and column are not taken for another."""
    places = wrong.nonzero().flatten()
    if len(shape) == 2 and shape[1]:
        apart = places[places // shape[1] != places % shape[1]]
        places = apart if len(apart) else places
    return int(places[0])


def _linear(at: Sequence[int], extent: Sequence[int]) -> int:
    return at[0] + extent[0] * (at[1] + extent[1] * at[2])


def _coordinates(linear: int, extent: Sequence[int]) -> tuple[int, int, int]:
    return linear % extent[0], linear // extent[0] % extent[1], linear // extent[0] // extent[1]
