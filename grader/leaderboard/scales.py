"""Axes of charts: values to pixels, and round numbers along the way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, count

from grader.leaderboard.shown import TimeUnit

_YEAR = 364  # whole weeks
_DAYS = (1, 2, 7, 14, 28, 91, 182, _YEAR)  # between two ticks
_LONG_STEP = 91  # days, from which on the year is told
_ROOM = 0.06  # of an axis, on either side of what it shows
_LEAST_RANGE = 1.02  # the ratio of an axis' ends
_LONG = 8  # the ratio of the ends from which on steps of one size would crowd at one of them
_MOST_STEPS = 100


@dataclass(frozen=True)
class Tick:
    """A number along an axis, in pixels, and what stands there."""

    at: float
    text: str


class LogScale:
    """Pixels for milliseconds: equal ratios are equal distances."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = min(values), max(values)
        room = max((high / low) ** _ROOM, _LEAST_RANGE)
        self._low, self._high = low / room, high * room
        self._start, self._length = start, end - start

    def __call__(self, ms: float) -> float:
        share = math.log(ms / self._low) / math.log(self._high / self._low)
        return round(self._start + share * self._length, 1)

    def ticks(self, unit: TimeUnit, most: int) -> tuple[Tick, ...]:
        """Round numbers of the unit: as many as there can be, but not more than `most`."""
        found = [multiples for multiples in self._candidates(unit) if len(multiples) <= most]
        chosen = max(found, key=len, default=[])
        return tuple(Tick(self(float(text) / unit.scaled(1)), text) for text in chosen)

    def _candidates(self, unit: TimeUnit) -> Iterator[list[str]]:
        """Multiples of 1, 2 and 5 times each power of ten; of a long axis these numbers themselves, over all powers."""
        low, high = unit.scaled(self._low), unit.scaled(self._high)
        powers = range(math.floor(math.log10(low)) - 2, math.ceil(math.log10(high)) + 1)
        if high / low > _LONG:
            for factors in ((1, 2, 5), (1, 3), (1,)):
                numbers = [(factor, power) for power in powers for factor in factors]
                yield [_decimal(factor, power) for factor, power in numbers if low <= factor * 10.0**power <= high]
            return
        for power, factor in ((power, factor) for power in powers for factor in (1, 2, 5)):
            first, last = math.ceil(low / factor / 10.0**power), math.floor(high / factor / 10.0**power)
            if last - first < _MOST_STEPS:
                yield [_decimal(number * factor, power) for number in range(max(first, 1), last + 1)]


class DayScale:
    """Pixels for points in time."""

    def __init__(self, times: Sequence[datetime], start: float, end: float) -> None:
        room = max((max(times) - min(times)) * 0.03, timedelta(hours=12))
        self._first, self._last = min(times) - room, max(times) + room
        self._start, self._length = start, end - start

    def __call__(self, time: datetime) -> float:
        share = (time - self._first) / (self._last - self._first)
        return round(self._start + share * self._length, 1)

    def ticks(self, most: int) -> tuple[Tick, ...]:
        """Days, as "2 Nov" or, of a long time, "Nov 2026": as many as there can be but not more than `most`."""
        begin = datetime(self._first.year, self._first.month, self._first.day, tzinfo=self._first.tzinfo)
        begin += timedelta(days=1)
        whole = (self._last - begin).days  # -1 if not even one begins
        step = next(step for step in chain(_DAYS, count(2 * _YEAR, _YEAR)) if whole // step < most)
        days = [begin + timedelta(days=day) for day in range(0, whole + 1, step)]
        return tuple(Tick(self(day), f"{day:%b %Y}" if step >= _LONG_STEP else f"{day.day} {day:%b}") for day in days)


def _decimal(number: int, power: int) -> str:
    """Number × 10**power, as people write it."""
    return f"{number * 10**power}" if power >= 0 else f"{number / 10**-power:.{-power}f}"
