"""Times of many replays: their median, how sure it is, and when there are enough of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

LEAST_RUNS = 30
MOST_RUNS = 300
NARROW = 0.002  # of the median: an interval this wide is enough
_TAIL = 0.025  # on either side of a 95 % interval


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


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median, from order statistics; nothing is assumed of the distribution.

    The number of values below the true median is binomial with p = 1/2. The interval reaches from the k-th smallest to
    the k-th largest value, with the largest k whose tail P(X < k) is 2.5 % at most (Conover, Practical Nonparametric
    Statistics, 3.2). Below 6 values there is no such k, and the whole range is given.
    """
    ordered, count = sorted(values), len(values)
    below, rank = 0, 0
    while (below := below + math.comb(count, rank)) <= _TAIL * 2**count:
        rank += 1
    rank = max(rank, 1)
    return ordered[rank - 1], ordered[count - rank]


def enough(values: Sequence[float]) -> bool:
    """Whether the interval is narrow, or there are as many values as anybody waits for."""
    if len(values) < LEAST_RUNS:
        return False
    low, high = median_interval(values)
    return len(values) >= MOST_RUNS or high - low <= NARROW * median(values)


def gigabytes_per_second(moved: int, ms: float) -> float:
    """`moved` bytes in `ms` milliseconds, in 10**9 bytes a second; 0 for no bytes."""
    return moved / ms / 1e6 if moved else 0.0
