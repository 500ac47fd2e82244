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
from statistics import median
from typing import TYPE_CHECKING, Protocol, cast

from grader.cuda.contest import Contestant, Race, ReplayContestant, Rule, race
from grader.cuda.decision import compared
from grader.cuda.defences import ALL, Defences
from grader.cuda.driver import DeviceFacts
from grader.cuda.input_sets import InputSets, secret_seeds
from grader.cuda.limits import bound_of, past_the_peak
from grader.cuda.session import RealGPU, ReplayFailed
from grader.cuda.timing import clocks_disagree, gigabytes_per_second, median_interval, teraflops_per_second
from grader.cuda.trial import CudaTrial, fits
from grader.cuda.watch import Watch, compared_anywhere
from grader.explain import Observation, sentence
from grader.inputs import derived_seed
from grader.medals import medal_beside
from grader.puzzle import Case, Part, Work, call_by_name
from grader.trial import Ran
from grader.verdict import BENCH_GROUP, Rival, Stage, Timing

if TYPE_CHECKING:
    from grader.build import Build
    from grader.catalog import Located
    from grader.record import Recording
    from grader.record.plan import Plan

Rivals = Callable[[InputSets], Sequence[Contestant]]
MINE = "yours"


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
        """What became of the values, and the times: None where the kernel failed, or this machine has no room for it.

        `rivals` makes the others once the inputs are drawn; `progress` is told now and then what is being done. Raises
        ToolMissing where the GPU is not to be had.
        """
        ran = Ran(self._trial.result(None))
        if not fits(self.part, self.case):
            return ran, None
        begun = time.perf_counter()
        progress(sentence("timing", "drawing"))
        with InputSets(self.part, self.case, self._seeds()) as sets:
            timing = self._timed(ran, sets, rivals, progress)
        ran.result = replace(ran.result, device=self.gpu.name)
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

    def _timed(self, ran: Ran, sets: InputSets, rivals: Rivals, progress: Callable[[str], None]) -> Timing | None:
        watch = Watch(sets, self.gpu, secrets.randbelow(self.rule.fewest_rounds), self.defences)
        device = self.gpu.device
        try:
            held, names = self._race(sets, rivals, watch, progress)
        except ReplayFailed as failed:
            self._trial.blame(ran, failed)
            return None
        finally:
            self.gpu.close()
        progress(sentence("timing", "judging"))
        self._judge(ran, sets, watch)
        return self._timing(held, names, device)

    def _race(
        self, sets: InputSets, rivals: Rivals, watch: Watch, progress: Callable[[str], None]
    ) -> tuple[Race, Mapping[str, str]]:
        """The race, and what each contestant is in words."""
        cubin, sensors = self.build.cubin, self.gpu.sensors()
        with contextlib.ExitStack() as stack:
            mine = ReplayContestant(MINE, self.part.name, gpu=self.gpu, plan=self.plan, cubin=cubin, sets=sets)
            contestants = [mine, *map(stack.enter_context, rivals(sets))]
            held = race(
                contestants,
                sets=len(sets),
                rule=self.rule,
                sensors=sensors,
                after_lap=watch.after_lap,
                progress=lambda rounds: progress(sentence("timing", "round", facts={"round": rounds})),
            )
        return held, {contestant.name: contestant.what for contestant in contestants}

    # ---- the values -------------------------------------------------------------------------------------------------

    def _judge(self, ran: Ran, sets: InputSets, watch: Watch) -> None:
        """What is wrong in the results that were kept, then in those that were looked at in passing."""
        wrong, looks = 0, 0
        for number in range(len(sets)):
            for kept in watch.of(number):
                comparison = compared_anywhere(sets, number, kept.results)
                if comparison.wrong and self.defences.checked_results:
                    self._trial.judge_values(ran, kept.results, comparison, sets[number], number)
                    return
                ran.result = self._trial.result(comparison, passed=True)
                wrong, looks = wrong + watch.wrong_looks(number, comparison), looks + watch.looks(number)
        if wrong:
            self._blame(ran, Observation("non_deterministic", facts={"variant": "lap", "wrong": wrong, "laps": looks}))
        elif watch.changed:
            self._blame(ran, Observation("read_only_violation", buffer=watch.changed[0], facts={"variant": "lap"}))

    def _blame(self, ran: Ran, seen: Observation) -> None:
        ran.observations, ran.stage = [seen], Stage.compare
        ran.result = replace(ran.result, passed=False)

    # ---- the times --------------------------------------------------------------------------------------------------

    def _timing(self, held: Race, whats: Mapping[str, str], device: DeviceFacts) -> Timing:
        mine = held.ms(MINE)
        ms, work = median(mine), self._work()
        rivals = tuple(_rival(name, what, mine, held.ms(name)) for name, what in whats.items() if name in _others(held))
        limit = next((rival.times for rival in rivals if rival.name == "ceiling"), None)
        return Timing(
            device=device.name,
            ms=ms,
            interval_ms=median_interval(mine),
            gb_per_s=gigabytes_per_second(work.bytes, ms),
            runs=len(mine),
            cold_l2=self.defences.cold_l2,
            tflop_per_s=teraflops_per_second(work.flops, ms),
            bound=bound_of(self.part, self.case, device),
            of_limit=limit,
            medal=medal_beside(rivals),
            rivals=rivals,
            left_out=held.left_out,
            sensors=held.sensors,
            slowed=slowed_by(held.held_down_by),
            refused=self._refused(held, ms, device),
        )

    def _work(self) -> Work:
        work: Work = call_by_name(self.part.work, self.case.params)
        return work

    def _refused(self, held: Race, ms: float, device: DeviceFacts) -> str | None:
        if self.defences.host_clock and clocks_disagree(held.laps[MINE]):
            host = median(lap.host_ms for lap in held.laps[MINE])
            return sentence("timing", "clocks_disagree", facts={"device": f"{ms:.4g}", "host": f"{host:.4g}"})
        return past_the_peak(self.part, self.case, ms, device)


def _others(held: Race) -> Sequence[str]:
    return [name for name in held.laps if name != MINE]


def _rival(name: str, what: str, mine: Sequence[float], theirs: Sequence[float]) -> Rival:
    paired = compared(mine, theirs)
    return Rival(
        name=name,
        what=what,
        ms=median(theirs),
        interval_ms=median_interval(theirs),
        times=paired.times,
        times_interval=paired.interval,
        decision=paired.decision,
    )


def slowed_by(reasons: Sequence[str]) -> str | None:
    """What held the GPU's clocks down, in a sentence; None for nothing."""
    if not reasons:
        return None
    return sentence("timing", "slowed", facts={"reasons": ", ".join(sentence("held_down", each) for each in reasons)})
