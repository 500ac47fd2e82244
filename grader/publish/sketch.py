"""What diagrams made by hand are drawn with, so that they look alike: boxes, arrows, cells, words.

    from grader.publish.sketch import Sketch
    from grader.trace.svg import Drawing

    def a_warp() -> Drawing:
        sketch = Sketch("A warp loads 32 floats")
        sketch.cells(40, 30, rows=1, columns=32, size=10, painted={(0, lane): "load" for lane in range(32)})
        sketch.box(40, 80, 320, 34, "one cache line of 128 bytes", fill="load-past")
        sketch.arrow(200, 42, 200, 78, "asks")
        return sketch.drawing()

A drawing is 400 units wide (`WIDTH`), on a phone about as many pixels; its height is what it needs. y grows downwards.
Fills are those of the traces: "none", "empty" (grey), "load" and "load-past" (blue, pale blue), "store" and
"store-past" (orange), "waste" (yellow), "w0" (green) to "w6" (dark red), "good", "bad". They follow the reader's light
or dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import atan2, cos, pi, sin
from typing import Literal

from grader.catalog import UsageError
from grader.trace.svg import MARGIN, WIDTH, Drawing, escaped, lattice, number, tag

Align = Literal["start", "middle", "end"]
Kind = Literal["", "soft", "head", "small", "code", "good", "bad"]

_LINE = 16  # from one line of words to the next
_HEAD = 7  # of an arrow
_STRONG = ("load", "store", "good", "bad", "w0", "w3", "w4", "w5", "w6")  # fills on which words are in paper's colour
_FILLS = (
    "none",
    "empty",
    "load",
    "load-past",
    "store",
    "store-past",
    "waste",
    "good",
    "bad",
    *(f"w{n}" for n in range(7)),
)

# Beside the style of the traces: what these drawings have of their own.
STYLE = """
.sketch text { font-size: 13px; } .sketch .small { font-size: 11px; } .sketch .code { font-size: 11.5px; }
.sketch .none { fill: none; }
.sketch .outline { stroke: var(--rule); stroke-width: 1; vector-effect: non-scaling-stroke; }
.sketch .strong { fill: var(--paper); font-weight: 600; }
.sketch .way { stroke: var(--soft); stroke-width: 1.4; fill: none; } .sketch .tip { fill: var(--soft); }
.sketch .compiled { fill: none; stroke: var(--store); stroke-width: 2.5; }
.sketch .dashed { stroke-dasharray: 4 3; }
.sketch .curve { stroke-width: 2; fill: none; stroke: var(--load); }
.sketch .curve.load { fill: none; stroke: var(--load); } .sketch .curve.store { fill: none; stroke: var(--store); }
.sketch .curve.good { fill: none; stroke: var(--good); } .sketch .curve.bad { fill: none; stroke: var(--bad); }
.sketch .curve.soft { fill: none; stroke: var(--soft); }
"""


class Sketch:
    """A drawing in the making; `title` says what it shows to those who do not see it."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = []
        self._bottom = 0.0

    def drawing(self) -> Drawing:
        """What was drawn; raises `UsageError` where nothing was."""
        if not self._parts:
            raise UsageError(f"The drawing {self._title!r} has nothing in it.")
        return Drawing(self._title, self._bottom + MARGIN, tuple(self._parts))

    def put(self, element: str, bottom: float) -> None:
        """Any element, as SVG; `bottom` is how far down it reaches."""
        self._parts.append(element)
        self._bottom = max(self._bottom, bottom)

    def text(self, x: float, y: float, words: str, *, kind: Kind = "", align: Align = "start") -> None:
        """Words whose first line stands on `y`; a line feed begins another line."""
        for place, line in enumerate(words.split("\n")):
            self._word(x, y + place * _LINE, line, f"{kind} {align if align != 'start' else ''}")

    def box(self, x: float, y: float, width: float, height: float, words: str = "", *, fill: str = "empty") -> None:
        """A rectangle with words in its middle, on as many lines as they have."""
        self.put(tag("rect", x=x, y=y, width=width, height=height, rx=4, class_=f"{_fill(fill)} outline"), y + height)
        if words:
            lines = words.split("\n")
            first = y + height / 2 + 4.5 - _LINE / 2 * (len(lines) - 1)
            for place, line in enumerate(lines):
                self._word(x + width / 2, first + place * _LINE, line, "middle" + _on(fill))

    def line(self, x: float, y: float, to_x: float, to_y: float, *, dashed: bool = False) -> None:
        """A straight line."""
        self.put(tag("path", d=_straight(x, y, to_x, to_y), class_="way dashed" if dashed else "way"), max(y, to_y))

    def arrow(self, x: float, y: float, to_x: float, to_y: float, words: str = "", *, dashed: bool = False) -> None:
        """A straight arrow; words stand right of its middle, or above it where it lies level."""
        angle = atan2(to_y - y, to_x - x)
        self.line(x, y, to_x - _HEAD * cos(angle) * 0.8, to_y - _HEAD * sin(angle) * 0.8, dashed=dashed)
        wings = [(to_x - _HEAD * cos(angle + turn), to_y - _HEAD * sin(angle + turn)) for turn in (-pi / 7, pi / 7)]
        points = " ".join(f"{number(px)},{number(py)}" for px, py in [(to_x, to_y), *wings])
        self.put(tag("polygon", points=points, class_="tip"), max(y, to_y))
        if words:
            level = abs(to_y - y) < abs(to_x - x) / 2
            middle = ((x + to_x) / 2, (y + to_y) / 2)
            place = (middle[0], middle[1] - 6) if level else (middle[0] + 7, middle[1] + 4)
            self.text(*place, words, kind="soft", align="middle" if level else "start")

    def bracket(self, x: float, to_x: float, y: float, words: str, *, above: bool = False) -> None:
        """Names a stretch from `x` to `to_x`: below it at height `y`, or above it."""
        out = -5 if above else 5
        self.put(tag("path", d=f"M{number(x)} {number(y)}v{out}H{number(to_x)}v{-out}", class_="way"), y + max(out, 0))
        self.text((x + to_x) / 2, y - 10 if above else y + 19, words, kind="soft", align="middle")

    def cells(
        self,
        x: float,
        y: float,
        *,
        rows: int,
        columns: int,
        size: float,
        painted: Mapping[tuple[int, int], str] | None = None,
        words: Mapping[tuple[int, int], str] | None = None,
        across: Sequence[str] = (),
        down: Sequence[str] = (),
    ) -> None:
        """A grid of squares, each `size` wide. By (row, column): `painted` are fills, `words` what stands in a cell.

        `across` are the names of columns, above them, `down` those of rows, left of them; "" names none.
        """
        inside = tag("rect", width=columns, height=rows, class_="empty")
        for (row, column), fill in (painted or {}).items():
            inside += tag("rect", x=column, y=row, width=1, height=1, class_=_fill(fill))
        inside += tag("path", d=lattice(rows, columns), class_="grid")
        self.put(
            tag("g", inside, transform=f"translate({number(x)} {number(y)}) scale({number(size)})"), y + rows * size
        )
        for (row, column), written in (words or {}).items():
            on = _on((painted or {}).get((row, column), "empty"))
            self._word(x + (column + 0.5) * size, y + (row + 0.5) * size + 4, written, f"small middle{on}")
        for column, name in enumerate(across):
            self._word(x + (column + 0.5) * size, y - 5, name, "small soft middle")
        for row, name in enumerate(down):
            self._word(x - 5, y + (row + 0.5) * size + 4, name, "small soft end")

    def legend(self, x: float, y: float, meanings: Mapping[str, str]) -> None:
        """What fills mean, side by side, on lines below each other where they have no room."""
        at, line = x, y
        for fill, words in meanings.items():
            needs = 26 + 6.6 * len(words)
            if at > x and at + needs > WIDTH:
                at, line = x, line + _LINE + 2
            self.put(tag("rect", x=at, y=line - 10, width=11, height=11, class_=f"{_fill(fill)} outline"), line)
            self._word(at + 16, line, words, "soft small")
            at += needs

    def _word(self, x: float, y: float, line: str, class_: str) -> None:
        if line:
            self.put(tag("text", escaped(line), x=x, y=y, class_=" ".join(class_.split()) or None), y + 3)


def _fill(name: str) -> str:
    if name not in _FILLS:
        raise UsageError(f"{name!r} is no fill of a drawing; there are {', '.join(_FILLS)}.")
    return name


def _on(fill: str) -> str:
    return " strong" if fill in _STRONG else ""


def _straight(x: float, y: float, to_x: float, to_y: float) -> str:
    return f"M{number(float(x))} {number(float(y))}L{number(float(to_x))} {number(float(to_y))}"
