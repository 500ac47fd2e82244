"""A sweep from its beginning to its end: on a GPU with times, elsewhere without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from grader.build import DEFAULT_TARGET, build
from grader.cuda.presence import has_device, why_not
from grader.cuda.session import RealGPU, ReplayFailed
from grader.explain import sentence
from grader.prelude import Companion
from grader.record.device import DEVICES, Device
from grader.submission import Submission
from grader.sweep.choice import Choice
from grader.sweep.shapes import Shape, Swept
from grader.sweep.trials import Bench, small_case
from grader.tools import Tools, TorchLoading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.build import Build
    from grader.puzzle import Part

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Machine:
    """What is swept for: a GPU, or where `no_times` says why there is none, the usual target's own."""

    name: str
    target: int
    limits: Device | None
    no_times: str | None = None


def machine_for(part: Part) -> Machine:
    """This machine's GPU, if it has one that works."""
    why = why_not() if has_device() else sentence("sweep", "no_gpu")
    if why is None:
        try:
            with RealGPU(part) as gpu:
                return Machine(gpu.device.name, gpu.device.target, DEVICES.get(gpu.device.target))
        except ReplayFailed as failed:
            why = str(failed)
    usual = DEVICES[DEFAULT_TARGET]
    return Machine(usual.name, DEFAULT_TARGET, usual, why)


def sweep(
    submission: Submission,
    constant: str | None,
    *,
    seed: int,
    tools: Tools,
    loading: TorchLoading,
    progress: Progress,
) -> Swept:
    """The part's file with its block in other sizes; `constant` names the one to change. `progress` hears sentences.

    Raises `NothingToSweep` where no constant makes the block, UsageError for a file that cannot be swept, ToolMissing
    where a tool is missing or the GPU is lost.
    """
    located = submission.located
    machine = machine_for(located.part)
    bench = Bench(submission, _for_target(tools, machine.target), loading, machine.limits, seed)
    choice = bench.choice(constant)
    counting = _Counting(choice, progress)
    with TemporaryDirectory(prefix="grader-sweep-") as folder:
        tried = bench.all_tried(choice, Path(folder), counting.tried)
    return Swept(
        part=located.part.name,
        label=located.label,
        file=submission.shown,
        device=machine.name,
        name=choice.constant.name,
        value=choice.constant.value,
        line=choice.constant.line,
        launch_line=choice.line,
        shapes=tuple(one.shape for one in tried),
        checked=small_case(located.part)[1].params,
        others=choice.others,
        no_times=machine.no_times,
    )


def _for_target(tools: Tools, target: int) -> Tools:
    if target == DEFAULT_TARGET:
        return tools

    def built(source: Path, uses: Sequence[Companion] = ()) -> Build:
        return build(source, target=target, uses=uses)

    return replace(tools, build=built)


class _Counting:
    """Tells how far it is."""

    def __init__(self, choice: Choice, progress: Progress) -> None:
        self._choice, self._progress = choice, progress
        self._done = 0

    def tried(self, shape: Shape) -> None:
        self._done += 1
        facts = {"value": shape.value, "name": self._choice.constant.name, "done": self._done}
        self._progress(sentence("sweep", "trying", facts={**facts, "all": len(self._choice.values)}))
