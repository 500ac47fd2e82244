"""What a learner's kernel is timed in turn with: the course's own, PyTorch's, and what the GPU gives at best.

Each has a process of its own, which does nothing before its first lap, except that PyTorch is imported. One that cannot
be had then (no nvcc, no memory, an operator that this PyTorch lacks) says so, and the race goes on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from grader.build import BuildFailed
from grader.cache import ToolMissing
from grader.catalog import Located, UsageError
from grader.closing import Closing
from grader.cuda.ceilings import SOURCE, ceiling_of
from grader.cuda.child import ReplayFailed
from grader.cuda.contest import Contestant, ReplayContestant
from grader.cuda.driver import DeviceFacts
from grader.cuda.input_sets import InputSets
from grader.cuda.limits import bound_of, bytes_read, bytes_written
from grader.cuda.pytorch_rival import Process, ProductContestant, pytorch_of
from grader.cuda.session import RealGPU
from grader.cuda.timing import Lap
from grader.explain import sentence
from grader.inputs import TORCH_TYPES
from grader.prelude import Companion
from grader.puzzle import Case, Part, call_by_name, dtype_of
from grader.submission import used_sources
from grader.tools import Tools

_NOT_TO_BE_HAD = (BuildFailed, ToolMissing, UsageError, OSError)


def rivals_of(
    located: Located,
    case: Case,
    *,
    sets: InputSets,
    device: DeviceFacts,
    tools: Tools,
    compiled: bool = False,
    reference: bool = True,
    pytorch: Process | None = None,
) -> list[Contestant]:
    """Those of one case, in the order in which they are shown; `sets` are the inputs of all but the ceiling.

    `compiled` asks for torch.compile, which takes half a minute; `reference` is not wanted where it races itself.
    `pytorch` is what `pytorch_ahead` gave.
    """
    found: list[Contestant] = []
    if reference:
        found.append(solution_of(located, sets, tools))
    if located.part.in_pytorch is not None:
        found.append(pytorch_of(located, case, sets, child=pytorch))
    if located.part.in_pytorch is not None and compiled:
        found.append(pytorch_of(located, case, sets, compiled=True))
    return [*found, ceiling_beside(located.part, case, sets=len(sets), device=device, tools=tools)]


def solution_of(
    located: Located, sets: InputSets, tools: Tools, *, name: str = "reference", gpu: RealGPU | None = None
) -> Contestant:
    """The course's own, with the parts that it builds on, in a process of its own: that of `gpu`, or one that starts
    with the first lap.
    """
    what = sentence("rivals", "reference")

    def made() -> Contestant:
        started = gpu or RealGPU(located.part)
        return _replayed(name, what, started, located.part, located.solution_path, used_sources(located), sets, tools)

    return Later(name, what, made)


def ceiling_beside(
    part: Part, case: Case, *, sets: int, device: DeviceFacts, tools: Tools, child: Process | None = None
) -> Contestant:
    """The best that the GPU gives of what bounds the case: a streaming kernel, or PyTorch's product of matrices.

    For the product, `child` is a process of PyTorch that has started already.
    """
    if bound_of(part, case, device) == "compute":
        first = next(buffer for buffer in part.buffers if buffer.is_read)
        dtype = str(TORCH_TYPES[dtype_of(first, case.params).name]).removeprefix("torch.")
        return ProductContestant("ceiling", dtype, call_by_name(part.work, case.params).flops, child)
    ceiling = ceiling_of(part, case, device.multiprocessors)
    facts = {"read": _amount(bytes_read(part, case)), "written": _amount(bytes_written(part, case))}

    def made() -> Contestant:
        nothing = InputSets(ceiling.part, ceiling.case, [0] * sets)
        return _replayed("ceiling", what, RealGPU(ceiling.part), ceiling.part, SOURCE, (), nothing, tools)

    what = sentence("rivals", "stream", facts=facts)
    return Later("ceiling", what, made)


class Later(Closing):
    """A contestant that is `made` at its first lap; where that fails, this says why, as a contestant does."""

    def __init__(self, name: str, what: str, make: Callable[[], Contestant]) -> None:
        self.name = name
        self.what = what
        self._make = make
        self.made: Contestant | None = None

    def close(self) -> None:
        if self.made is not None:
            self.made.close()

    def lap(self, inputs: int) -> Lap:
        if self.made is None:
            try:
                self.made = self._make()
            except _NOT_TO_BE_HAD as error:
                raise ReplayFailed("unavailable", str(error)) from error
        return self.made.lap(inputs)


def _replayed(
    name: str,
    what: str,
    gpu: RealGPU,
    part: Part,
    source: Path,
    uses: Sequence[Companion],
    sets: InputSets,
    tools: Tools,
) -> Contestant:
    """The entry in `source`, recorded for this GPU, which is closed with it."""
    try:
        own = gpu.tools(tools)
        built = own.build(source, uses)
        plan = own.record(built, part, sets.case).plan
    except BaseException:
        gpu.close()
        raise
    return ReplayContestant(name, what, gpu=gpu, plan=plan, cubin=built.cubin, sets=sets)


def _amount(count: int) -> str:
    """Bytes as one reads them: 2.15 GB."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
