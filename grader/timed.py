"""How fast a right part is on a GPU: the race with its rivals, and what there is to say of it.

The race itself is `grader/cuda/bench.py`; here it gets its rivals, its medal, its identity, and in the end what was
counted that holds the kernel back.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grader.bottleneck import Counted, bottleneck
from grader.cache import ToolMissing
from grader.catalog import UsageError
from grader.evidence import CaseEvidence, Evidence
from grader.explain import sentence
from grader.medals import medal_beside
from grader.submission import Submission
from grader.verdict import BENCH_GROUP, Bottleneck, Timing

if TYPE_CHECKING:
    from grader.build import Build
    from grader.cuda.child import Child
    from grader.cuda.contest import Contestant
    from grader.cuda.input_sets import InputSets
    from grader.cuda.session import RealGPU
    from grader.record import Recording
    from grader.tools import Tools
    from grader.trial import Ran

Progress = Callable[[str], None]

_UNKNOWN = "unknown"  # the driver, where nobody tells its version
_NEAR_THE_LIMIT = 0.9  # of it: from here on, that nothing stands out needs no word


@dataclass(frozen=True)
class TimedPart:
    """A built file whose bench case is recorded, ready to be timed; `tools` build and record for this GPU.

    `compiled` asks for `torch.compile` among the rivals. `progress` is told in short sentences what is being done.
    `nvcc` is the release that made the cubin, where that was not this machine's.
    """

    submission: Submission
    build: Build
    recording: Recording
    gpu: RealGPU
    tools: Tools
    compiled: bool
    progress: Progress
    nvcc: str | None = None

    def run(self, seed: int) -> tuple[Ran, Timing | None]:
        """What came of the case, and its time; None where it failed, or does not fit. Raises ToolMissing."""
        from grader.cuda.bench import time_part
        from grader.cuda.pytorch_rival import pytorch_ahead
        from grader.cuda.session import ReplayFailed
        from grader.identity import identity

        try:
            device, driver = self.gpu.device, self.gpu.driver  # the race ends this process
        except ReplayFailed as failed:
            raise ToolMissing(str(failed)) from failed
        located = self.submission.located
        with contextlib.ExitStack() as stack:
            ahead = pytorch_ahead(located)
            started = [] if ahead is None else [stack.enter_context(contextlib.closing(ahead))]
            ran, timing = time_part(
                located,
                self.build,
                self.recording,
                seed=seed,
                gpu=self.gpu,
                rivals=functools.partial(self._rivals, started),
                progress=self.progress,
            )
        if timing is None:
            return ran, None
        try:
            cubin = self.build.cubin
            hashes = identity(self.submission, cubin, device=device.name, driver=driver or _UNKNOWN, nvcc=self.nvcc)
        except UsageError:  # no solutions here: a time to look at, and none to rank
            hashes = {}
        medal = None if timing.refused else medal_beside(timing.rivals)
        return ran, replace(timing, medal=medal, hashes=hashes, target=device.target)

    def _rivals(self, started: list[Child], sets: InputSets) -> Sequence[Contestant]:
        """The reference is no rival of itself; for the first race PyTorch's process has `started`."""
        from grader.cuda.rivals import rivals_of

        located = self.submission.located
        return rivals_of(
            located,
            located.part.bench,
            sets=sets,
            device=self.gpu.device,
            tools=self.tools,
            compiled=self.compiled,
            reference=not self.submission.is_solution,
            pytorch=started.pop() if started else None,
        )


def explained(timing: Timing, evidence: Evidence, shown: CaseEvidence, multiprocessors: int, label: str) -> Timing:
    """The timing with what holds the kernel back; `shown` is the case whose counters stand beside the reference's, and
    `label` the part's.
    """
    timed = next(judged for judged in evidence.cases if judged.group == BENCH_GROUP)
    counted = Counted(
        timed.launches,
        evidence.kernels,
        multiprocessors,
        shown.counters,
        shown.reference_counters,
        timed.sample_counters,
    )
    held = bottleneck(timing, counted)
    if held is None and timing.of_limit is not None and timing.of_limit < _NEAR_THE_LIMIT and timing.medal != "gold":
        seen, advice = (sentence("bottleneck", "unknown", key, facts={"label": label}) for key in ("seen", "advice"))
        held = Bottleneck("unknown", seen, advice)
    return replace(timing, bottleneck=held)
