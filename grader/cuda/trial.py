"""One case on the real GPU, judged as on the software GPU: twice on fresh inputs, all values compared with PyTorch.

The second run replays the plan as a captured CUDA graph, on the device that the first left behind. Inputs are drawn
here, in the parent; results are compared here too, and the expected values never leave this process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch

from grader.cache import ToolMissing
from grader.compare import Comparison, compare
from grader.cuda.poison import poison_of, still_poisoned
from grader.cuda.session import RealGPU, ReplayFailed
from grader.explain import Observation
from grader.puzzle import Part
from grader.simt.software import NOBODY, RunResult
from grader.trial import Ran, Trial, launches_of
from grader.verdict import Stage

HOWS = ("stream", "graph")


@dataclass(frozen=True)
class CudaTrial(Trial):
    """A recorded case and the GPU that it was recorded for."""

    gpu: RealGPU = field(kw_only=True)

    def run_on_gpu(self) -> Ran:
        """Runs twice; stops after a run that shows something. Raises ToolMissing where the GPU is not to be had."""
        begun = time.perf_counter()
        ran = Ran(self.result(None))
        try:
            self.gpu.load(self.plan, self.build.cubin)
            for run, how in enumerate(HOWS):
                memory, inputs = self._memory(run)
                replayed(self.gpu, self.part, memory, how=how, run=run)
                self.judge_values(ran, memory, compare(self.part, self.case, inputs, memory), inputs, run)
                if ran.observations:
                    break
        except ReplayFailed as failed:
            self.blame(ran, failed)
        ran.result = replace(ran.result, device=self.gpu.name)
        ran.seconds = time.perf_counter() - begun
        return ran

    def judge_values(
        self,
        ran: Ran,
        memory: Mapping[str, torch.Tensor],
        comparison: Comparison,
        inputs: Mapping[str, torch.Tensor],
        run: int,
    ) -> None:
        """Puts into `ran` what the comparison says of the results in `memory`, on `inputs`."""
        unwritten = {buffer.name: still_poisoned(buffer, memory[buffer.name], run) for buffer in self.part.results}
        seen = RunResult(
            findings=[], count=dict, unwritten=unwritten, writer=lambda _buffer, _element: NOBODY, tells_writers=False
        )
        self._judge(ran, seen, comparison, inputs)

    def blame(self, ran: Ran, failed: ReplayFailed) -> None:
        """A fault or a hang is the kernel's; anything else says nothing about it."""
        if failed.kind == "unavailable":
            raise ToolMissing(str(failed)) from failed
        last = next(iter(launches_of(self.plan)[-1:]), None)
        kind, facts = "endless_loop", {"variant": "gpu", "reason": str(failed)}
        if failed.kind == "fault":
            kind = "device_trap"
        ran.stage = Stage.run
        ran.observations = [
            Observation(kind, line=last.line if last else None, kernel=last.kernel if last else None, facts=facts)
        ]
        ran.result = replace(ran.result, passed=False)


def replayed(gpu: RealGPU, part: Part, memory: Mapping[str, torch.Tensor], *, how: str, run: int = 0) -> None:
    """One replay of the loaded plan on `memory`, a contiguous CPU tensor per buffer, which then holds the results."""
    gpu.fill({buffer.name: memory[buffer.name] for buffer in part.buffers if buffer.is_read})
    gpu.run(how, poison_of(part, memory, run))
    gpu.read({buffer.name: memory[buffer.name] for buffer in part.buffers if buffer.role != "in"})
