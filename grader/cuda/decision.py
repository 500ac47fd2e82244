"""Whether one kernel is faster than another: the one rule that medals, tables and the leaderboard go by.

Two kernels take turns, and each pair of neighbouring turns gives a ratio of times: whatever changes slowly, as a clock
or a temperature, changes both and leaves the ratio alone. The median of the ratios does not see a lap that the host or
another process disturbed, and its interval comes from order statistics, so that nothing is assumed of the noise.

The interval's level is 99.9 %. A race ends when its interval is narrow, that is, it is looked at many times; at 95 %
one of twenty such intervals misses by itself, and more when looked at again and again. Fewer than 11 turns, of which
only a kernel of seconds has to be content, know no such interval: there all ratios have to lie beyond the margin.

A narrow interval is no proof of a difference, however: the same kernel in two processes has its buffers in other
physical memory, and each process keeps its own small advantage for as long as it lives, up to some 0.5 % on an H200.
No number of laps takes that away. So kernels are a tie unless the whole interval lies beyond a margin of 1 %: that is
twice what was seen between equals, and leaves 2 % of room to kernels that differ by 3 %. Of kernels below 50
microseconds the margin is wider: CUDA promises a resolution of half a microsecond for its events, and the same launch
of 3.7 µs was seen to take 0.22 µs less in one process than in the other, lap after lap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from grader.cuda.timing import median_interval

LEVEL = 0.999
MARGIN = 0.01
_RESOLUTION_MS = 5e-4  # of events (CUDA Driver API, cuEventElapsedTime)


@dataclass(frozen=True)
class Paired:
    """The other's time over mine: the median over neighbouring turns, its interval, and what is decided of mine:
    "faster", "slower" or "tie".
    """

    times: float
    interval: tuple[float, float]
    decision: str


def margin_at(ms: float) -> float:
    """The share by which a kernel of this time has to differ from another."""
    return max(MARGIN, _RESOLUTION_MS / ms)


def decide(low: float, high: float, margin: float = MARGIN) -> str:
    """What an interval of the other's time over mine says of mine: "faster", "slower" or "tie"."""
    if low > 1 + margin:
        return "faster"
    return "slower" if high < 1 / (1 + margin) else "tie"


def compared(mine: Sequence[float], others: Sequence[float]) -> Paired:
    """Milliseconds of turns, paired by their places, all above 0. Raises ValueError where there are no pairs."""
    ratios = [other / own for own, other in zip(mine, others, strict=True)]
    if not ratios:
        raise ValueError("no turns to compare")
    low, high = median_interval(ratios, LEVEL)
    return Paired(median(ratios), (low, high), decide(low, high, margin_at(median(mine))))
