"""A kernel timed alone, lap after lap, until its median is known: for scripts that compare nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from grader.cuda.session import RealGPU
from grader.cuda.timing import median_interval

LEAST_RUNS = 30
MOST_RUNS = 300
NARROW = 0.002  # of the median: an interval this wide is enough
_WARM_UP = 5
_SECONDS = 5.0


@dataclass(frozen=True)
class Times:
    """Milliseconds of each replay, in order, and what the GPU's sensors said meanwhile, empty where there are none."""

    ms: tuple[float, ...]
    sensors: dict[str, float | list[str]]

    @property
    def median(self) -> float:
        return median(self.ms)

    @property
    def interval(self) -> tuple[float, float]:
        return median_interval(self.ms)


def times_of(gpu: RealGPU, how: str, poison: Mapping[str, str]) -> Times:
    """Many laps of what is loaded and filled, nothing beside it."""
    sensors = gpu.sensors()
    said: dict[str, float | list[str]] = {}

    def lap(number: int) -> float:
        if number == LEAST_RUNS // 2:
            said.update(sensors.read())
        return gpu.lap(poison, how=how).ms

    return Times(tuple(until_enough(lap)), said)


def until_enough(lap: Callable[[int], float]) -> list[float]:
    """Milliseconds of laps, which are told their number, those that warm up not counted."""
    for _ in range(_WARM_UP):
        lap(-1)
    taken: list[float] = []
    end = time.monotonic() + _SECONDS
    while not enough(taken) and (len(taken) < LEAST_RUNS or time.monotonic() < end):
        taken.append(lap(len(taken)))
    return taken


def enough(values: Sequence[float]) -> bool:
    """Whether the interval is narrow, or there are as many values as anybody waits for."""
    if len(values) < LEAST_RUNS:
        return False
    low, high = median_interval(values)
    return len(values) >= MOST_RUNS or high - low <= NARROW * median(values)
