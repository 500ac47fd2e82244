"""Axes on a sketch, straight or logarithmic, with curves and dots: rooflines, times by size.

sketch = Sketch("Roofline of an H200")
plot = Plot(sketch, across=(0.1, 1000), up=(0.1, 100), log=True, x_title="FLOP per byte", y_title="TFLOP/s")
plot.curve([(0.1, 0.48), (10, 48), (1000, 48)], "load")
plot.dot(21, 38, "2.5")
return sketch.drawing()
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.catalog import UsageError
from grader.publish.sketch import Sketch
from grader.trace.svg import MARGIN, WIDTH, number, tag

Curve = Literal["load", "store", "good", "bad", "soft"]
_MOST_TICKS = 6


@dataclass(frozen=True)
class Plot:
    """A frame of axes: `across` and `up` are the least and the largest number that it shows. What lies outside is cut
    at its edge in curves, and refused as a dot.
    """

    sketch: Sketch
    across: tuple[float, float]
    up: tuple[float, float]
    log: bool = False
    x_title: str = ""
    y_title: str = ""
    left: float = 48
    top: float = 26
    width: float = WIDTH - 48 - 2 * MARGIN  # the last number across stands out by half
    height: float = 200

    def __post_init__(self) -> None:
        if self.log and min(self.across[0], self.up[0]) <= 0:
            raise UsageError("A logarithmic axis begins above 0.")
        bottom = self.top + self.height
        frame = tag("rect", x=self.left, y=self.top, width=self.width, height=self.height, class_="none outline")
        self.sketch.put(frame, bottom)
        for value in _ticks(*self.across, log=self.log):
            self.sketch.line(self.x(value), bottom, self.x(value), bottom + 4)
            self.sketch.text(self.x(value), bottom + 17, _written(value), kind="small", align="middle")
        for value in _ticks(*self.up, log=self.log):
            self.sketch.line(self.left - 4, self.y(value), self.left, self.y(value))
            self.sketch.text(self.left - 7, self.y(value) + 4, _written(value), kind="small", align="end")
        self.sketch.text(self.left + self.width, bottom + 34, self.x_title, kind="soft", align="end")
        self.sketch.text(MARGIN, self.top - 10, self.y_title, kind="soft")

    def x(self, value: float) -> float:
        """Where a number stands along the horizontal axis."""
        return self.left + self.width * _share(value, self.across, log=self.log)

    def y(self, value: float) -> float:
        """Where a number stands along the vertical one."""
        return self.top + self.height * (1 - _share(value, self.up, log=self.log))

    def curve(self, points: Sequence[tuple[float, float]], kind: Curve = "load", *, dashed: bool = False) -> None:
        """Straight from point to point."""
        held = [(self.x(_within(x, self.across)), self.y(_within(y, self.up))) for x, y in points]
        path = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in held)
        self.sketch.put(tag("path", d=path, class_=f"curve {kind}" + (" dashed" if dashed else "")), self.top)

    def dot(self, x: float, y: float, words: str = "", kind: str = "store", *, left: bool = False) -> None:
        """A dot, with words right of it, or left."""
        if (x, y) != (_within(x, self.across), _within(y, self.up)):
            raise UsageError(f"The dot ({x:g}, {y:g}) lies outside the axes.")
        self.sketch.put(tag("circle", cx=self.x(x), cy=self.y(y), r=4, class_=kind), self.y(y))
        place = self.x(x) - 8 if left else self.x(x) + 8
        self.sketch.text(place, self.y(y) + 4, words, kind="small", align="end" if left else "start")


def _share(value: float, ends: tuple[float, float], *, log: bool) -> float:
    low, high = ends
    return math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)


def _within(value: float, ends: tuple[float, float]) -> float:
    return min(max(value, ends[0]), ends[1])


def _ticks(low: float, high: float, *, log: bool) -> Iterator[float]:
    """Round numbers between the ends: powers of ten, or steps of 1, 2 or 5 times one."""
    if log:
        powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        yield from (10.0**power for power in powers[:: -(-len(powers) // _MOST_TICKS)])
        return
    step = next(
        factor * 10.0**power
        for power in range(math.floor(math.log10(high - low)) - 1, 99)
        for factor in (1, 2, 5)
        if (high - low) / (factor * 10.0**power) <= _MOST_TICKS
    )
    for place in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
        yield place * step


def _written(value: float) -> str:
    """A round number, a large one with a prefix: 0.1, 20, 1,000, 20 k."""
    for least, factor, prefix in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= least:
            return f"{value / factor:g} {prefix}"
    return f"{value:,.10g}"
