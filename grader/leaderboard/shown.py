"""Numbers of a board as text: times in one unit, with as many digits as their intervals give a meaning to."""

from __future__ import annotations

import math
from collections.abc import Sequence

from grader.explain import sentence
from grader.leaderboard.entry import Entry
from grader.verdict import Rival, Timing

MICROSECONDS_BELOW = 0.1  # milliseconds


class TimeUnit:
    """The unit of a board's times, ms or µs, and their decimals: four digits that count, of the fastest of them."""

    def __init__(self, times: Sequence[float]) -> None:
        fastest = min(times, default=1.0)
        self.name, self._factor = ("µs", 1e3) if fastest < MICROSECONDS_BELOW else ("ms", 1.0)
        self._decimals = _decimals(fastest * self._factor, 4)

    def text(self, ms: float) -> str:
        """Without the unit: "0.9361"."""
        return f"{self.scaled(ms):,.{self._decimals}f}"

    def half_width(self, ms: float, interval: tuple[float, float]) -> str:
        """The larger side of the interval: "0.0009"."""
        return self.text(max(ms - interval[0], interval[1] - ms))

    def with_interval(self, ms: float, interval: tuple[float, float]) -> str:
        """Time, half its interval, unit: "0.9361 ± 0.0009 ms"."""
        return f"{self.text(ms)} ± {self.half_width(ms, interval)} {self.name}"

    def scaled(self, ms: float) -> float:
        """In this unit."""
        return ms * self._factor


def digits(value: float, count: int) -> str:
    """`value` with `count` digits that count, and no exponent: "3441", "51.38", "0.9361"."""
    if value <= 0 or not math.isfinite(value):
        return f"{value:.0f}"
    return f"{value:,.{_decimals(value, count)}f}"


def _decimals(value: float, count: int) -> int:
    return max(count - 1 - math.floor(math.log10(value)), 0)


def rate(timing: Timing) -> str:
    """What the part's limit is made of: "3441 GB/s" or "51.4 TFLOP/s"; nothing where neither says anything."""
    return rate_of(timing, timing.ms)


def rate_of(timing: Timing, ms: float) -> str:
    """The same work, done in another time."""
    share = timing.ms / ms
    if timing.bound == "compute" and timing.tflop_per_s:
        return f"{digits(timing.tflop_per_s * share, 3)} TFLOP/s"
    return f"{digits(timing.gb_per_s * share, 4)} GB/s" if timing.gb_per_s else ""


def percent(share: float | None) -> str:
    """A share of the limit: "78.8 %"."""
    return "" if share is None else f"{100 * share:.1f} %"


def rival_name(rival: Rival) -> str:
    """As `grader check` calls it too: "PyTorch"."""
    return sentence("timing", rival.name)


def times(rival: Rival | None) -> str:
    """How many times as fast as the rival: "1.02"."""
    return "" if rival is None else f"{rival.times:.2f}"


def date(entry: Entry) -> str:
    """The day: "2026-11-30"."""
    return entry.when[:10]
