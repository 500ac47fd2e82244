"""A sweep from its beginning to its end: on a GPU with times, elsewhere without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from grader.cuda.contest import Rule
from grader.cuda.here import gpu_here
from grader.cuda.session import RealGPU
from grader.cuda.standing import slowed_by
from grader.explain import sentence
from grader.puzzle import Part
from grader.small_case import small_case
from grader.submission import Submission
from grader.sweep.choice import Choice
from grader.sweep.contest import RULE, Contest, Timed
from grader.sweep.shapes import Shape, Swept
from grader.sweep.trials import Bench
from grader.tools import Tools, TorchLoading, building_for

Progress = Callable[[str], None]


def sweep(
    submission: Submission,
    constant: str | None,
    *,
    seed: int,
    tools: Tools,
    loading: TorchLoading,
    progress: Progress,
    start: Callable[[Part], RealGPU] = RealGPU,
    rule: Rule = RULE,
) -> Swept:
    """The part's file with its block in other sizes; `constant` names the one to change. `progress` hears sentences,
    `start` gives a GPU, and `rule` says when a race between two shapes ends.

    Raises `NothingToSweep` where no constant makes the block, UsageError for a file that cannot be swept, ToolMissing
    where a tool is missing. Where the file as it is cannot be timed, there are no times, and `no_times` says why.
    """
    located = submission.located
    here = gpu_here(located.part, start)
    bench = Bench(submission, building_for(tools, here.target), loading, here.limits, seed)
    choice = bench.choice(constant)
    counting = _Counting(choice, progress)
    with TemporaryDirectory(prefix="grader-sweep-") as folder:
        tried = bench.all_tried(choice, Path(folder), counting.tried)
        if here.facts is None:
            timed = Timed(tried, no_times=here.missing)
        else:
            timed = Contest(located.part, here.facts, tools, start, rule).held(
                tried, choice.constant.value, counting.timed
            )
    return Swept(
        part=located.part.name,
        label=located.label,
        file=submission.shown,
        device=here.name,
        name=choice.constant.name,
        value=choice.constant.value,
        line=choice.constant.line,
        launch_line=choice.line,
        shapes=tuple(one.shape for one in timed.tried),
        checked=small_case(located.part)[1].params,
        others=choice.others,
        slowed=slowed_by(timed.held_down_by),
        no_times=sentence("sweep", "no_times", facts={"why": timed.no_times}) if timed.no_times is not None else None,
    )


class _Counting:
    """Tells how far it is."""

    def __init__(self, choice: Choice, progress: Progress) -> None:
        self._choice, self._progress = choice, progress
        self._done = {"trying": 0, "timing": 0}

    def tried(self, shape: Shape) -> None:
        self._tell("trying", shape)

    def timed(self, shape: Shape) -> None:
        self._tell("timing", shape)

    def _tell(self, step: str, shape: Shape) -> None:
        self._done[step] += 1
        facts = {"threads": shape.threads, "done": self._done[step], "all": len(self._choice.values)}
        self._progress(sentence("sweep", step, facts=facts))
