"""Times of the shapes that are right: each in turn with the file as it is, at full size, on inputs that nobody knew.

Two processes at a time hold the GPU's memory, so that what fits twice fits here; and each shape is compared with the
file as it is and with nothing else, since only kernels that take turns can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from grader.cache import ToolMissing
from grader.cuda.contest import Race, ReplayContestant, Rule, race
from grader.cuda.decision import compared
from grader.cuda.driver import DeviceFacts
from grader.cuda.input_sets import InputSets, secret_seeds
from grader.cuda.room import sets_with_room
from grader.cuda.session import RealGPU, ReplayFailed
from grader.cuda.timing import median_interval
from grader.explain import sentence
from grader.puzzle import Part
from grader.sweep.shapes import Shape, Time
from grader.sweep.trials import Tried
from grader.tools import Tools

RULE = Rule(most_rounds=100, seconds=1.5)
_OWN, _OTHER = "yours", "other"


@dataclass
class Timed:
    """Shapes with their times, where there are any; else `no_times` says why. `held_down_by` names what slowed them."""

    tried: Sequence[Tried]
    held_down_by: Sequence[str] = ()
    no_times: str | None = None


@dataclass
class Contest:
    """The races of one sweep on `device`; `start` gives a GPU of its own to each contestant."""

    part: Part
    device: DeviceFacts
    tools: Tools
    start: Callable[[Part], RealGPU]
    rule: Rule
    _own_ms: list[float] = field(default_factory=list, init=False)
    _held_down_by: list[str] = field(default_factory=list, init=False)

    def held(self, tried: Sequence[Tried], own: int, done: Callable[[Shape], None]) -> Timed:
        """The shapes that are right, timed; `own` is the value that the file has. `done` hears of each."""
        seeds = secret_seeds()[: sets_with_room(self.part, self.part.bench, self.device.memory_bytes)]
        if not seeds:
            return Timed(tried, no_times=sentence("sweep", "no_room"))
        mine = next(one for one in tried if one.shape.value == own)
        try:
            with InputSets(self.part, self.part.bench, seeds) as sets, self._contestant(_OWN, mine, sets) as first:
                found = {one.shape.value: self._beside(first, one, sets) for one in self._told(tried, own, done)}
                if not self._own_ms:
                    self._race([first], sets)
        except (ReplayFailed, ToolMissing) as failed:
            return Timed(tried, no_times=str(failed))
        except OSError:  # the inputs are drawn into memory that is shared
            return Timed(tried, no_times=sentence("sweep", "no_room"))
        found[own] = _with_time(mine, Time(median(self._own_ms), median_interval(self._own_ms)))
        return Timed([found.get(one.shape.value, one) for one in tried], self._held_down_by)

    def _told(self, tried: Sequence[Tried], own: int, done: Callable[[Shape], None]) -> Iterator[Tried]:
        """The others that are right; `done` hears of each when the next is asked for."""
        for one in tried:
            if one.shape.value != own and one.shape.right:
                yield one
                done(one.shape)

    def _beside(self, first: ReplayContestant, other: Tried, sets: InputSets) -> Tried:
        try:
            second = self._contestant(_OTHER, other, sets)
        except (ReplayFailed, ToolMissing) as failed:  # no memory for another process, mostly
            return _untimed(other, str(failed))
        with second:
            held = self._race([first, second], sets)
        if _OTHER in held.left_out:
            return _untimed(other, held.left_out[_OTHER])
        mine, theirs = held.ms(_OWN), held.ms(_OTHER)
        paired = compared(theirs, mine)
        return _with_time(
            other, Time(median(theirs), median_interval(theirs), paired.times, paired.interval, paired.decision)
        )

    def _race(self, contestants: Sequence[ReplayContestant], sets: InputSets) -> Race:
        held = race(contestants, sets=len(sets), rule=self.rule, sensors=contestants[0].gpu.sensors())
        self._own_ms += held.ms(_OWN)
        self._held_down_by += held.held_down_by
        return held

    def _contestant(self, name: str, tried: Tried, sets: InputSets) -> ReplayContestant:
        assert tried.build is not None
        gpu = self.start(self.part)
        try:
            plan = gpu.tools(self.tools).record(tried.build, self.part, self.part.bench).plan
        except BaseException:
            gpu.close()
            raise
        what = str(tried.shape.value)
        return ReplayContestant(name, what, gpu=gpu, plan=plan, cubin=tried.build.cubin, sets=sets)


def _with_time(tried: Tried, time: Time) -> Tried:
    return replace(tried, shape=replace(tried.shape, time=time))


def _untimed(tried: Tried, why: str) -> Tried:
    return replace(tried, shape=replace(tried.shape, untimed=why))
