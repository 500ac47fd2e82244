"""The geometry of a board's charts, in pixels: the best time so far, and each player's interval.

A template draws them as SVG, once for wide and once for narrow screens, so that letters keep their size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from grader.leaderboard.entry import Entry
from grader.leaderboard.ranking import Board, Row, is_noisy, time_interval
from grader.leaderboard.scales import DayScale, LogScale, Tick
from grader.leaderboard.shown import TimeUnit, rival_name
from grader.verdict import Rival

NARROW = 500  # pixels: below, names stand above their intervals, and there are fewer ticks
_MOST_ROWS = 14
_LETTER = 6.4  # pixels of width, at the charts' size of letters
_LINE = 14  # pixels from one line of letters to the next
_FAR = 1.7  # times the slowest or the fastest player: a rival beyond is not in the picture


@dataclass(frozen=True)
class Level:
    """The time of a rival at `at`, and where its label stands, along the axis and in lines away from it."""

    name: str
    text: str
    at: float
    label: float
    line: int = 0


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    text: str
    own: bool


@dataclass(frozen=True)
class Span:
    """A player's interval from `low` over the median to `high`, at the height `y`."""

    y: float
    low: float
    middle: float
    high: float
    name: str
    text: str
    own: bool


@dataclass(frozen=True)
class Frame:
    """The size of a picture, and the rectangle in it that its axes span."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float

    @property
    def is_narrow(self) -> bool:
        return self.width < NARROW


@dataclass(frozen=True)
class History:
    """Each result as a dot, and the best so far as a path, noisy ones aside."""

    frame: Frame
    unit: str
    days: Sequence[Tick]
    times: Sequence[Tick]
    levels: Sequence[Level]
    dots: Sequence[Dot]
    path: str


@dataclass(frozen=True)
class Intervals:
    """The interval of each player, the fastest first; `hidden` players are too many for the picture."""

    frame: Frame
    unit: str
    times: Sequence[Tick]
    levels: Sequence[Level]
    spans: Sequence[Span]
    hidden: int


def history(board: Board, width: float, height: float = 250) -> History:
    """How the best time came down."""
    unit, rivals = TimeUnit([line.ms for line in board.lines]), _near(board)
    own = {row.entry.player.id for row in board.rows if row.kept.own}
    times = [one.ms for one in rivals] + [entry.timing.ms for entry in board.history]
    frame = Frame(width, height, left=44, right=width - 88, top=12, bottom=height - 28)
    place = DayScale([entry.time for entry in board.history], frame.left, frame.right)
    up = LogScale(times, frame.bottom, frame.top)
    dots = [
        Dot(place(entry.time), up(entry.timing.ms), _told(entry, unit), entry.player.id in own)
        for entry in board.history
    ]
    steady = [dot for dot, entry in zip(dots, board.history, strict=True) if not is_noisy(entry)]
    return History(
        frame=frame,
        unit=unit.name,
        days=place.ticks(most=3 if frame.is_narrow else 5),
        times=up.ticks(unit, most=6),
        levels=_one_below_another([_level(one, up(one.ms)) for one in rivals]),
        dots=dots,
        path=_descending(steady, frame.right),
    )


def intervals(board: Board, width: float) -> Intervals:
    """How far the players are apart."""
    unit, rivals = TimeUnit([line.ms for line in board.lines]), _near(board)
    rows, narrow = board.rows[:_MOST_ROWS], width < NARROW
    step = 34 if narrow else 22
    left, right = (12, width - 12) if narrow else (158, width - 16)
    values = [value for row in rows for value in time_interval(row.entry)] + [one.ms for one in rivals]
    across = LogScale(values, left, right)
    levels = _in_lines([_level(one, across(one.ms)) for one in rivals], left, right)
    top = 8 + _LINE * (1 + max((level.line for level in levels), default=-1))
    frame = Frame(width, top + step * len(rows) + 30, left, right, top, top + step * len(rows) + 4)
    spans = [_span(row, across, unit, top + step * number + (25 if narrow else 14)) for number, row in enumerate(rows)]
    ticks = across.ticks(unit, most=4 if narrow else 6)
    return Intervals(frame, unit.name, ticks, levels, spans, hidden=len(board.rows) - len(rows))


def _near(board: Board) -> list[Rival]:
    """The rivals that are worth a line: those not far from the players."""
    times = [row.ms for row in board.rows]
    return [one for one in board.rivals if min(times) / _FAR < one.ms < max(times) * _FAR]


def _told(entry: Entry, unit: TimeUnit) -> str:
    time = unit.with_interval(entry.timing.ms, entry.timing.interval_ms)
    return f"{entry.player.name}, {entry.when[:10]}: {time}"


def _level(rival: Rival, at: float) -> Level:
    return Level(rival.name, rival_name(rival), at, at)


def _one_below_another(levels: Sequence[Level]) -> list[Level]:
    """Labels beside horizontal lines, a line of letters apart."""
    placed: list[Level] = []
    for level in sorted(levels, key=lambda one: one.at):
        least = placed[-1].label + _LINE if placed else level.at
        placed.append(replace(level, label=max(level.at, least)))
    return placed


def _in_lines(levels: Sequence[Level], left: float, right: float) -> list[Level]:
    """Labels above vertical lines, inside the picture, in the lowest line where they touch no other."""
    ends: list[float] = []
    placed: list[Level] = []
    for level in sorted(levels, key=lambda one: one.at):
        half = len(level.text) * _LETTER / 2
        middle = min(max(level.at, left + half), right - half)
        line = next((number for number, end in enumerate(ends) if end < middle - half), len(ends))
        ends[line : line + 1] = [middle + half + _LETTER]
        placed.append(replace(level, label=middle, line=line))
    return placed


def _span(row: Row, across: LogScale, unit: TimeUnit, y: float) -> Span:
    low, middle, high = map(across, time_interval(row.entry))
    return Span(y, low, middle, high, row.entry.player.name, _told(row.entry, unit), row.kept.own)


def _descending(dots: Sequence[Dot], right: float) -> str:
    """A step down, that is, to a larger y, wherever a dot lies below all before it; "" without dots."""
    best: list[Dot] = []
    for dot in dots:
        if not best or dot.y > best[-1].y:
            best.append(dot)
    steps = "".join(f" H{later.x} V{later.y}" for _, later in pairwise(best))
    return f"M{best[0].x} {best[0].y}{steps} H{right}" if best else ""
