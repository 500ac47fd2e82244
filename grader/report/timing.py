"""How fast a part is, in the terminal: bars to the limit, the medal, what bounds it, and what to try.

Pure functions of a `Timing`; nothing here asks a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from grader.explain import sentence
from grader.medals import BRONZE, SILVER
from grader.verdict import Rival, Timing, rival_among

MEDAL_STYLES = {"gold": "bold yellow", "silver": "bold white", "bronze": "bold dark_orange3"}
_ORDER = ("reference", "pytorch", "compiled", "ceiling")
_STYLES = {"yours": "bold cyan", "ceiling": "green"}
_MARGIN = 4
_LEAST_BAR, _LONGEST_BAR = 10, 40
_EIGHTHS = " ▏▎▍▌▋▊▉"
_NEXT_MEDAL = {None: BRONZE, "bronze": SILVER}
_ROUND = 1000  # of a speed: from here on no digits behind the point
_SMALL = 0.1  # ms: below, times are told in microseconds


def _say(key: str, **facts: object) -> str:
    return sentence("timing", key, facts=facts)


@dataclass(frozen=True)
class Row:
    """One kernel that was timed: its key and name, its time in ms, its share of the limit's speed, and how its time
    stands to the learner's.
    """

    key: str
    name: str
    ms: float
    share: float
    beside: str = ""


def rows(timing: Timing, *, is_solution: bool = False) -> list[Row]:
    """The learner's kernel first, the limit last. Where no limit was measured, shares are of the fastest."""
    rivals = sorted(
        (rival for rival in timing.rivals if rival.name in _ORDER), key=lambda rival: _ORDER.index(rival.name)
    )
    share = timing.of_limit or 1 / max([1.0, *(1 / rival.times for rival in rivals)])
    own = Row("yours", _say("solution" if is_solution else "yours"), timing.ms, share)
    return [own, *(Row(one.name, _say(one.name), one.ms, share / one.times, _beside(one)) for one in rivals)]


def _beside(rival: Rival) -> str:
    if rival.name == "ceiling":
        return ""
    return _say("tie") if rival.decision == "tie" else _say("ratio", ratio=f"{rival.times:.2f}")


def bars(timing: Timing, width: int, *, is_solution: bool = False) -> Iterator[Text]:
    """A line for each kernel: its name, time, speed, a bar to the limit, the share of it, and how it stands to yours.

    What does not fit into `width` columns is left out: first the speed, then how it stands, then the bar.
    """
    shown = rows(timing, is_solution=is_solution)
    columns = _Columns.of(timing, shown, width)
    longest = max(row.share for row in shown)
    for row in shown:
        yield columns.line(row, longest)


@dataclass(frozen=True)
class _Columns:
    """What each row has in each column, by its key; a column that has no room is empty. `bar` is its width."""

    times: dict[str, str]
    speeds: dict[str, str]
    shares: dict[str, str]
    besides: dict[str, str]
    bar: int
    name: int

    @classmethod
    def of(cls, timing: Timing, shown: Sequence[Row], width: int) -> _Columns:
        times = _aligned(shown, _times([row.ms for row in shown]))
        speeds = _aligned(shown, [_speed(timing, row.ms) for row in shown])
        shares = _aligned(shown, [f"{100 * row.share:.0f} %" for row in shown] if timing.of_limit else [])
        besides = {row.key: row.beside for row in shown}
        name = max(len(row.name) for row in shown)
        for columns in ((speeds, besides), ({}, besides), ({}, {})):
            taken = [name, *(max(map(len, cells.values()), default=0) for cells in (times, *columns, shares))]
            free = width - _MARGIN - sum(taken) - 2 * sum(map(bool, taken[1:])) - 2
            if free >= _LEAST_BAR:
                return cls(times, columns[0], shares, columns[1], min(free, _LONGEST_BAR), name)
        return cls(times, {}, shares, {}, 0, name)

    def line(self, row: Row, longest: float) -> Text:
        style = _STYLES.get(row.key, "")
        line = Text(" " * _MARGIN)
        line.append(f"{row.name:<{self.name}}  {self.times[row.key]}", style=style)
        if self.speeds:
            line.append(f"  {self.speeds[row.key]}", style=style)
        if self.bar:
            line.append(f"  {_bar(row.share / longest, self.bar):<{self.bar}}", style=style or "dim")
        if self.shares:
            line.append(f"  {self.shares[row.key]}", style=style)
        if self.besides and row.beside:
            line.append(f"  {self.besides[row.key]}", style="dim")
        line.rstrip()
        return line


def _aligned(shown: Sequence[Row], cells: Sequence[str]) -> dict[str, str]:
    """Cells by the key of their row, right-aligned; none where there are no cells, or all of them are empty."""
    widest = max(map(len, cells), default=0)
    return {row.key: f"{cell:>{widest}}" for row, cell in zip(shown, cells, strict=True)} if widest else {}


def _bar(share: float, width: int) -> str:
    eighths = max(1, round(8 * share * width))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _times(ms: Sequence[float]) -> list[str]:
    """Times in one unit, the smallest with four digits."""
    least = min(ms)
    unit, scale = ("µs", 1000.0) if least < _SMALL else ("ms", 1.0)
    digits = max(0, 3 - math.floor(math.log10(least * scale)))
    return [f"{time * scale:,.{digits}f} {unit}" for time in ms]


def _speed(timing: Timing, ms: float) -> str:
    """What the case has to move or to compute, over the time; "" where starting is most of it."""
    if timing.bound == "launch":
        return ""
    rate, unit = (timing.tflop_per_s, "TFLOP/s") if timing.bound == "compute" else (timing.gb_per_s, "GB/s")
    speed = rate * timing.ms / ms
    return f"{speed:,.0f} {unit}" if speed >= _ROUND else f"{speed:.3g} {unit}"


# ---- sentences ------------------------------------------------------------------------------------------------------


def medians(timing: Timing) -> str:
    """How the times were taken, between what the learner's is, what else ran, what slowed the GPU, and who could not be
    timed.
    """
    low, high = _times(timing.interval_ms)
    whats = {rival.name: rival.what for rival in timing.rivals}
    pytorch = ", ".join(whats[name] for name in ("pytorch", "compiled") if name in whats)
    told = [
        _say("medians", runs=timing.runs, low=low, high=high),
        _say("pytorch_is", whats=pytorch) if pytorch else "",
        _say("ceiling_is", what=whats["ceiling"]) if "ceiling" in whats else "",
        timing.slowed or "",
        *(_say("left_out", name=_say(name), reason=reason) for name, reason in timing.left_out.items()),
    ]
    return " ".join(filter(None, told))


def medal_told(timing: Timing) -> str:
    """The medal, and what it takes to get the next; "" where the reference was not timed."""
    reference = rival_among(timing.rivals, "reference")
    if reference is None:
        return ""
    low, high = reference.times_interval
    key = f"gold_{reference.decision}" if timing.medal == "gold" else timing.medal or "none"
    facts = {"times": f"{reference.times:.2f}", "low": f"{low:.3f}", "high": f"{high:.3f}"}
    return _say(key, **facts, next=_NEXT_MEDAL.get(timing.medal, ""))


def bound_told(timing: Timing) -> str:
    """What the limit is made of, and how much of its speed is reached; "" where none was measured."""
    if timing.bound == "launch":
        return _say("bound_launch")
    if timing.of_limit is None:
        return ""
    rate, unit = (1e9 * timing.tflop_per_s, "FLOP") if timing.bound == "compute" else (1e6 * timing.gb_per_s, "B")
    work = _amount(rate * timing.ms, unit)
    limit = _times([timing.ms * timing.of_limit])[0]
    return _say(f"bound_{timing.bound}", work=work, limit=limit, share=f"{100 * timing.of_limit:.0f} %")


def _amount(count: float, unit: str) -> str:
    """Bytes or operations as one reads them: 3.22 GB."""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if count >= size:
            return f"{count / size:.3g} {prefix}{unit}"
    return f"{count / 1e3:.3g} k{unit}"
