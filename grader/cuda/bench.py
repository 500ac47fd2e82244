"""The case at full size, timed in turn with its rivals, and what the timed runs computed judged.

The learner's kernel is the first of each round; each contestant has a process, a context and memory of its own. Inputs
are drawn here from numbers that nobody knew before, whatever seed the check has, and compared with what is expected
once all of those processes have ended.
"""

from __future__ import annotations

import contextlib
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from grader.cache import ToolMissing
from grader.compare import compare
from grader.cuda.contest import Contestant, ReplayContestant, Rule, race
from grader.cuda.defences import ALL, Defences
from grader.cuda.driver import DeviceFacts
from grader.cuda.input_sets import SETS, InputSets, secret_seeds
from grader.cuda.pieces import COMPARING, Judged, judge, memory_to_judge
from grader.cuda.session import RealGPU, ReplayFailed
from grader.cuda.standing import MINE, Heat, timing_of
from grader.cuda.trial import CudaTrial
from grader.cuda.watch import Watch
from grader.explain import Observation, sentence
from grader.inputs import derived_seed
from grader.puzzle import Case, Part, buffer_bytes
from grader.trial import Ran
from grader.verdict import BENCH_GROUP, CaseResult, Stage, Timing

if TYPE_CHECKING:
    import torch

    from grader.build import Build
    from grader.catalog import Located
    from grader.record import Recording
    from grader.record.plan import Plan

__all__ = ["MINE", "Bench", "HasCubin", "nobody", "time_part"]

Rivals = Callable[[InputSets], Sequence[Contestant]]
_BESIDE = 2  # contestants that are to have room on the GPU at once, or the inputs are one set
_CONTEXT_BYTES = 1 << 30  # what a process takes beside its arrays: its context, the flush


class HasCubin(Protocol):
    """A build, as far as this looks at it."""

    @property
    def cubin(self) -> Path: ...


def nobody(_sets: InputSets) -> Sequence[Contestant]:
    """No rivals."""
    return ()


def time_part(
    located: Located,
    build: HasCubin,
    recording: Recording,
    *,
    seed: int,
    gpu: RealGPU,
    rivals: Rivals = nobody,
    progress: Callable[[str], None] = lambda _words: None,
    rule: Rule | None = None,
    defences: Defences = ALL,
) -> tuple[Ran, Timing | None]:
    """A part's bench case; see `time_plan`."""
    part = located.part
    bench = Bench(part, part.bench, build, recording.plan, seed, gpu, rule or Rule(), defences)
    return bench.run(rivals, progress)


@dataclass(frozen=True)
class Bench:
    """One recorded case, and how it is timed.

    `seed` is what the inputs depend on where `defences` leave that open.
    """

    part: Part
    case: Case
    build: HasCubin
    plan: Plan
    seed: int
    gpu: RealGPU
    rule: Rule = field(default_factory=Rule)
    defences: Defences = ALL

    def run(
        self, rivals: Rivals = nobody, progress: Callable[[str], None] = lambda _words: None
    ) -> tuple[Ran, Timing | None]:
        """What became of the values, and the times: None where the kernel failed, or there is no room for the case.

        `rivals` makes the others once the inputs are drawn; `progress` is told now and then what is being done. Raises
        ToolMissing where the GPU is not to be had.
        """
        ran = Ran(self._trial.result(None))
        begun = time.perf_counter()
        try:
            device = self.gpu.device
        except ReplayFailed as failed:
            raise ToolMissing(str(failed)) from failed
        seeds = self._seeds()[: sets_with_room(self.part, self.case, device)]
        timing = self._on(seeds, ran, device, rivals, progress) if seeds else None
        ran.result = replace(ran.result, device=device.name)
        ran.seconds = time.perf_counter() - begun
        return ran, timing

    @property
    def _trial(self) -> CudaTrial:
        build = cast("Build", self.build)
        return CudaTrial(self.part, BENCH_GROUP, self.case, build, self.plan, self.seed, gpu=self.gpu)

    def _seeds(self) -> list[int]:
        seeds = secret_seeds()
        if not self.defences.unknown_seed:
            seeds = [derived_seed(self.seed, run) if run else self.seed for run in range(len(seeds))]
        return seeds if self.defences.fresh_inputs else seeds[:1]

    def _on(
        self, seeds: Sequence[int], ran: Ran, device: DeviceFacts, rivals: Rivals, progress: Callable[[str], None]
    ) -> Timing | None:
        """The race on inputs of these seeds, and all that is said of it."""
        progress(sentence("timing", "drawing"))
        with InputSets(self.part, self.case, seeds) as sets:
            watch = Watch(sets, self.gpu, secrets.randbelow(self.rule.fewest_rounds), self.defences)
            try:
                heats = self._heats(sets, rivals, watch, progress)
            except ReplayFailed as failed:
                self._trial.blame(ran, failed)
                return None
            finally:
                self.gpu.close()
            progress(sentence("timing", "judging"))
            self._judge(ran, sets, watch)
        return timing_of(self.part, self.case, device, heats, self.defences)

    def _heats(self, sets: InputSets, rivals: Rivals, watch: Watch, progress: Callable[[str], None]) -> list[Heat]:
        """The race; and again with rivals for which the GPU had no memory, now that the others are gone."""
        sensors = self.gpu.sensors()
        mine = ReplayContestant(MINE, self.part.name, gpu=self.gpu, plan=self.plan, cubin=self.build.cubin, sets=sets)
        heats: list[Heat] = []
        waiting: set[str] | None = None
        while waiting is None or waiting:
            with contextlib.ExitStack() as stack:
                others = [stack.enter_context(rival) for rival in rivals(sets)]
                racing = [mine, *(rival for rival in others if waiting is None or rival.name in waiting)]
                held = race(
                    racing,
                    sets=len(sets),
                    rule=self.rule,
                    sensors=sensors,
                    after_lap=watch.after_lap,
                    progress=lambda rounds: progress(sentence("timing", "round", facts={"round": rounds})),
                )
            heats.append(Heat(held, {contestant.name: contestant.what for contestant in racing}))
            waiting = held.full if len(held.laps) > 1 else set()  # nobody else was there: it has no room at all
        return heats

    # ---- the values -------------------------------------------------------------------------------------------------

    def _judge(self, ran: Ran, sets: InputSets, watch: Watch) -> None:
        """What is wrong in the results that were kept, then in those that were looked at in passing."""
        wrong = looks = 0
        for number, results in watch.results.items():
            judged = judge(self.part, self.case, sets[number], results, watch.looks[number])
            if judged.wrong and self.defences.checked_results:
                self._explain(ran, sets, number, results, judged)
                return
            ran.result = _with(self._trial.result(None, passed=True), judged)
            wrong, looks = wrong + len(judged.wrong_looks), looks + len(watch.looks[number])
        if wrong:
            self._blame(ran, Observation("non_deterministic", facts={"variant": "lap", "wrong": wrong, "laps": looks}))
        elif watch.changed:
            self._blame(ran, Observation("read_only_violation", buffer=watch.changed[0], facts={"variant": "lap"}))

    def _explain(
        self, ran: Ran, sets: InputSets, number: int, results: Mapping[str, torch.Tensor], judged: Judged
    ) -> None:
        """Wrong values, with whatever explains them where there is room for that."""
        if _free_bytes() >= COMPARING * sum(buffer_bytes(buffer, self.case.params) for buffer in self.part.buffers):
            comparison = compare(self.part, self.case, sets[number], results)
            self._trial.judge_values(ran, results, comparison, sets[number], number)
            return
        assert judged.first is not None  # something is wrong
        buffer, index, expected, got = judged.first
        facts = {"variant": "first", "wrong": judged.wrong, "checked": judged.checked}
        facts |= {"got": f"{got:.7g}", "expected": f"{expected:.7g}"}
        ran.result = _with(ran.result, judged)
        self._blame(ran, Observation("wrong_values", buffer=buffer.name, index=index, count=judged.wrong, facts=facts))

    def _blame(self, ran: Ran, seen: Observation) -> None:
        ran.observations, ran.stage = [seen], Stage.compare
        ran.result = replace(ran.result, passed=False)


def _with(result: CaseResult, judged: Judged) -> CaseResult:
    """A case with what was compared of it."""
    return replace(
        result,
        checked=judged.checked,
        wrong=judged.wrong,
        max_abs_error=judged.max_abs_error,
        max_rel_error=judged.max_rel_error,
        of_tolerance=judged.of_tolerance,
    )


def sets_with_room(part: Part, case: Case, device: DeviceFacts) -> int:
    """How many sets of inputs the host and the GPU have room for, 0 where not even one fits."""
    inputs = sum(buffer_bytes(buffer, case.params) for buffer in part.buffers if buffer.is_read)
    results = sum(buffer_bytes(buffer, case.params) for buffer in part.results)
    working = sum(buffer_bytes(buffer, case.params) for buffer in part.buffers)
    judging = results + memory_to_judge(part, case)
    for sets in (SETS, 1):
        on_host = sets * (inputs + results) + judging
        on_gpu = _BESIDE * (working + sets * inputs + _CONTEXT_BYTES)
        if on_host <= _free_bytes() and (on_gpu <= device.memory_bytes or sets == 1):
            return sets
    return 0


def _free_bytes() -> int:
    """The host's free memory; where nobody can say, we hope."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, ValueError, StopIteration):
        return sys.maxsize
