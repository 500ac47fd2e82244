"""Kernels in turn, each in a process of its own: A B C A B C, with the learner's first.

A contestant holds one kernel with its inputs. It is asked for one lap at a time, and nobody else works on the GPU
meanwhile; what a lap leaves in the results can be read until the next. All contestants of a round run on the same set
of inputs, which chance decides.

A round in which the sensors say that something holds the clocks down is thrown away and taken again after a pause, in
which the GPU can cool. If that does not help, the times stand, and `slowed` says what held them down.
"""

from __future__ import annotations

import functools
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from grader.closing import Closing
from grader.cuda.child import ReplayFailed
from grader.cuda.decision import compared
from grader.cuda.input_sets import InputSets
from grader.cuda.poison import poison_in
from grader.cuda.session import RealGPU
from grader.cuda.timing import Lap, median_interval
from grader.record.plan import Plan

__all__ = ["Contestant", "Lap", "Race", "ReplayContestant", "Rule", "SensorsLike", "race"]

_PAUSES = (0.5, 1.0, 2.0)  # seconds, one after the other, in a race


class Contestant(Protocol):
    """A kernel in a process of its own. Raises `ReplayFailed` (grader/cuda/child.py).

    `name` is "yours", "reference", "pytorch", "compiled" or "ceiling"; `what` says in words what runs.
    """

    name: str
    what: str

    def lap(self, inputs: int) -> Lap:
        """One run with a cold L2 on its set of inputs of this number, poisoned results, everything else as new."""

    def close(self) -> None:
        """Ends the process."""

    def __enter__(self) -> Contestant: ...

    def __exit__(self, *_: object) -> None: ...


class ReplayContestant(Closing):
    """A recorded plan on a GPU of its own, which is closed with it. Loads plan and inputs at the first lap."""

    def __init__(self, name: str, what: str, *, gpu: RealGPU, plan: Plan, cubin: Path, sets: InputSets) -> None:
        self.name = name
        self.what = what
        self.gpu = gpu
        self._plan = plan
        self._cubin = cubin
        self._sets = sets
        self._loaded = False

    def close(self) -> None:
        self.gpu.close()

    def lap(self, inputs: int) -> Lap:
        if not self._loaded:
            self.gpu.load(self._plan, self._cubin)
            for number, paths in enumerate(self._sets.paths):
                self.gpu.fill_from(paths, number)
            self._loaded = True
        return self.gpu.lap(poison_in(self._sets.part, self._sets.case, inputs), inputs)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When a race ends: after `least_rounds`, as soon as each kernel's median and each comparison is known to `narrow`
    on either side, or after `most_rounds`; and after `seconds` of laps, if there are `fewest_rounds`. Of these and what
    warms up before, each contestant has one lap a round.
    """

    warm_up: int = 3
    fewest_rounds: int = 5
    least_rounds: int = 20
    most_rounds: int = 200
    seconds: float = 5.0
    narrow: float = 0.0025


class SensorsLike(Protocol):
    """As in grader/cuda/sensors.py."""

    def read(self) -> dict[str, float | list[str]]: ...

    def held_down(self) -> list[str]: ...


@dataclass
class Race:
    """Laps by contestant, all paired by their places in the lists; `sets` has the set of inputs of each.

    `left_out` says of rivals in a sentence why they have no laps, `full` names those of them for which the GPU had no
    memory. `sensors` are the GPU's in the middle of it; `held_down_by` what held its clocks down and did not end, empty
    if the laps are the GPU's best.
    """

    laps: dict[str, list[Lap]] = field(default_factory=dict)
    sets: list[int] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    full: set[str] = field(default_factory=set)
    sensors: dict[str, float | list[str]] = field(default_factory=dict)
    held_down_by: list[str] = field(default_factory=list)

    def ms(self, name: str) -> list[float]:
        """The device's milliseconds of a contestant."""
        return [lap.ms for lap in self.laps[name]]


def race(
    contestants: Sequence[Contestant],
    *,
    sets: int,
    rule: Rule | None = None,
    sensors: SensorsLike | None = None,
    after_lap: Callable[[int, bool], None] = lambda _set, _last: None,
    progress: Callable[[int], None] = lambda _round: None,
    choose: Callable[[int], int] = secrets.randbelow,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Race:
    """Laps in turn. The first contestant is the learner's: what it raises is raised; a rival that fails is left out.

    `after_lap` is called with the set and whether this is the last round, when the learner's lap is over and its
    results can be read. `sets` is how many sets of inputs there are; `choose(n)` gives a number below n.
    """
    running = _Running(contestants, sets, rule or Rule(), sensors, after_lap, choose, clock, pause)
    return running.run(progress)


class _Running:
    """A race while it runs."""

    def __init__(
        self,
        contestants: Sequence[Contestant],
        sets: int,
        rule: Rule,
        sensors: SensorsLike | None,
        after_lap: Callable[[int, bool], None],
        choose: Callable[[int], int],
        clock: Callable[[], float],
        pause: Callable[[float], None],
    ) -> None:
        self._contestants = list(contestants)
        self._mine = self._contestants[0].name
        self._sets, self._rule, self._sensors = sets, rule, sensors
        self._after_lap, self._choose, self._clock, self._pause = after_lap, choose, clock, pause
        self._pauses = list(_PAUSES)
        self._end = 0.0
        self._race = Race(laps={contestant.name: [] for contestant in contestants})

    def run(self, progress: Callable[[int], None]) -> Race:
        self._load()
        for _ in range(self._rule.warm_up):
            self._round(self._choose(self._sets))
        self._end, last = self._clock() + self._rule.seconds, False
        while not last:
            last = self._is_over(self._clock() >= self._end)
            self._note(self._choose(self._sets), last)
            progress(len(self._race.sets))
        return self._race

    def _load(self) -> None:
        """A first lap of each, for which inputs come from the host: the learner's, which has to have room, then all
        others at once.
        """
        mine, *rivals = self._contestants
        mine.lap(0)
        with ThreadPoolExecutor(max_workers=max(len(rivals), 1)) as pool:
            running = [(rival, pool.submit(rival.lap, 0)) for rival in rivals]
        for rival, lap in running:
            self._lap_of(rival, lap.result)

    def _note(self, number: int, last: bool) -> None:
        """A round that counts."""
        laps = self._round(number, last=last, counts=True)
        while (held := self._held_down()) and self._pauses:
            self._pause(self._pauses.pop(0))
            laps = self._round(number, last=last, counts=True)
        self._race.held_down_by += [reason for reason in held if reason not in self._race.held_down_by]
        for name, lap in laps.items():
            self._race.laps[name].append(lap)
        self._race.sets.append(number)
        if self._sensors is not None and len(self._race.sets) == self._rule.fewest_rounds:
            self._race.sensors = self._sensors.read()

    def _round(self, number: int, *, last: bool = False, counts: bool = False) -> dict[str, Lap]:
        mine, *rivals = self._contestants
        laps = {mine.name: mine.lap(number)}
        if counts:
            begun = self._clock()
            self._after_lap(number, last)
            self._end += self._clock() - begun  # the seconds are for laps
        for rival in rivals:
            if lap := self._lap_of(rival, functools.partial(rival.lap, number)):
                laps[rival.name] = lap
        return laps

    def _lap_of(self, rival: Contestant, run: Callable[[], Lap]) -> Lap | None:
        """What `run` gives; a rival for which it fails is left out from now on."""
        try:
            return run()
        except ReplayFailed as failed:
            rival.close()
            self._contestants.remove(rival)
            del self._race.laps[rival.name]
            self._race.left_out[rival.name] = str(failed)
            self._race.full |= {rival.name} if failed.is_full else set()
            return None

    def _held_down(self) -> list[str]:
        return self._sensors.held_down() if self._sensors is not None else []

    def _is_over(self, late: bool) -> bool:
        """Whether the next round is the last."""
        rounds, rule = len(self._race.sets) + 1, self._rule
        if late or rounds >= rule.most_rounds:
            return rounds >= rule.fewest_rounds
        return rounds >= rule.least_rounds and all(self._is_narrow(name) for name in self._race.laps)

    def _is_narrow(self, name: str) -> bool:
        mine, theirs = self._race.ms(self._mine), self._race.ms(name)
        low, high = median_interval(theirs) if name == self._mine else compared(mine, theirs).interval
        return high - low <= (high + low) * self._rule.narrow
