"""Times of many replays: how sure their median is, whether two clocks agree on them, and rates."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_LOOKING_MS, _APART = 0.02, 0.02  # what lies between an event and the host's look at it; how far clocks run apart


@dataclass(frozen=True)
class Lap:
    """One timed run in milliseconds: between two events on the device, and by the host's clock around it."""

    ms: float
    host_ms: float


def median_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """The confidence interval of the median, from order statistics; nothing is assumed of the distribution.

    The number of values below the true median is binomial with p = 1/2. The interval reaches from the k-th smallest to
    the k-th largest value, with the largest k whose tail P(X < k) is half of what the level leaves at most (Conover,
    Practical Nonparametric Statistics, 3.2). Where there is no such k, as below 6 values at 95 %, the whole range is
    given.
    """
    ordered, rank = sorted(values), _rank(len(values), level)
    return ordered[rank - 1], ordered[len(values) - rank]


@functools.cache
def _rank(count: int, level: float) -> int:
    tail, below, rank = (1 - level) / 2, 0, 0
    while (below := below + math.comb(count, rank)) <= tail * 2**count:
        rank += 1
    return max(rank, 1)


def clocks_disagree(laps: Sequence[Lap]) -> bool:
    """Whether device and host saw other times pass, in most of the laps, and by more than the host's looks take."""
    beyond = [abs(lap.ms - lap.host_ms) - _LOOKING_MS - _APART * max(lap.ms, lap.host_ms) for lap in laps]
    return bool(beyond) and median(beyond) > 0


def gigabytes_per_second(moved: int, ms: float) -> float:
    """`moved` bytes in `ms` milliseconds, in 10**9 bytes a second; 0 for no bytes."""
    return moved / ms / 1e6 if moved else 0.0


def teraflops_per_second(flops: int, ms: float) -> float:
    """`flops` operations in `ms` milliseconds, in 10**12 a second; 0 for none."""
    return flops / ms / 1e9 if flops else 0.0
