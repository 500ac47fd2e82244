"""The case at full size, timed in turn with its rivals, and what the timed runs computed judged.

The learner's kernel is the first of each round; each contestant has a process, a context and memory of its own. Inputs
are drawn here from numbers that nobody knew before, whatever seed the check has, and compared with what is expected
once all of those processes have ended.
"""

from __future__ import annotations

import contextlib
import secrets
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
from grader.cuda.input_sets import InputSets, secret_seeds
from grader.cuda.pieces import Judged, judge
from grader.cuda.room import has_room_to_explain, sets_with_room
from grader.cuda.session import RealGPU, ReplayFailed
from grader.cuda.standing import MINE, Heat, timing_of
from grader.cuda.trial import CudaTrial
from grader.cuda.watch import Watch
from grader.explain import Observation, sentence
from grader.inputs import derived_seed
from grader.puzzle import Case, Part
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
    """A part's bench case; see `Bench.run`."""
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
        seeds = self._seeds()[: sets_with_room(self.part, self.case, device.memory_bytes)]
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
        """The race; and one more with each rival for which the GPU had no memory while the others were there."""
        sensors = self.gpu.sensors()
        mine = ReplayContestant(MINE, self.part.name, gpu=self.gpu, plan=self.plan, cubin=self.build.cubin, sets=sets)
        heats: list[Heat] = []
        wanted: list[set[str] | None] = [None]
        for names in wanted:
            with contextlib.ExitStack() as stack:
                others = [stack.enter_context(rival) for rival in rivals(sets)]
                racing = [mine, *(rival for rival in others if names is None or rival.name in names)]
                held = race(
                    racing,
                    sets=len(sets),
                    rule=self.rule,
                    sensors=sensors,
                    after_lap=watch.after_lap,
                    progress=lambda rounds: progress(sentence("timing", "round", facts={"round": rounds})),
                )
            heats.append(Heat(held, {contestant.name: contestant.what for contestant in racing}))
            if names is None:
                wanted += [{rival.name} for rival in others if rival.name in held.full]
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
        if has_room_to_explain(self.part, self.case):
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
