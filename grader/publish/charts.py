"""Diagrams of a chapter: those drawn by hand in `book/figures/`, and bars of what was measured."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grader.catalog import UsageError, shown_path
from grader.publish.chapters import line_of
from grader.publish.figure import figure
from grader.publish.numbers import TIMINGS, rate_of, result
from grader.publish.quantities import milliseconds
from grader.publish.sketch import Sketch
from grader.trace.svg import MARGIN, WIDTH, Drawing, tag

if TYPE_CHECKING:
    from grader.publish.context import Book

_ROW, _BAR = 40, 13
_LONGEST = 1.1  # of the limit: as far as the axis goes
_RIVALS = ("pytorch", "compiled")


def functions(book: Book, chapter: str) -> dict[str, Callable[..., object]]:
    """What a chapter calls, by name."""

    def drawing(name: str, caption: str, alt: str) -> str:
        """What the function of this name in the chapter's module of `book/figures/` draws."""
        return figure(drawn(book, chapter, name), caption, alt)

    return {"drawing": drawing, "bars": lambda number, caption="": bars(book, number, caption)}


def drawn(book: Book, chapter: str, name: str) -> Drawing:
    """Calls that function; raises `UsageError` where there is none, or it draws nothing."""
    path = book.folder / "figures" / f"{chapter.replace('-', '_')}.py"
    file = shown_path(path)
    if not path.is_file():
        raise UsageError(f"There is no {file} that could draw {name!r}.")
    try:
        function = None if name.startswith("_") else runpy.run_path(str(path)).get(name)
        if not callable(function):
            raise UsageError(f"{file} has no function {name!r}.")
        made = function()
    except UsageError:
        raise
    except Exception as error:  # whatever an author's module throws is told with its line
        raise UsageError(f"{file}:{line_of(error, path)}: {type(error).__name__}: {error}") from error
    if not isinstance(made, Drawing):
        raise UsageError(f"{name} in {file} returns no Drawing.")
    return made


def bars(book: Book, number: int, caption: str = "") -> str:
    """How near each of a puzzle's solutions comes to the limit, and PyTorch beside it.

    Parts so short that only their launch is measured are left out; raises `UsageError` where no other is.
    """
    measured = result(book.root, TIMINGS)
    timings = [one for one in measured["parts"] if one["label"].partition(".")[0] == str(number)]
    timings = [timing for timing in timings if timing["bound"] != "launch"]
    if not timings:
        raise UsageError(f"Puzzle {number} has no times in results/{TIMINGS} that could be drawn.")
    facts = {"number": number, "device": measured["about"]["device"]}
    title = book.phrases["bars_title"].format(**facts)
    told = "; ".join(f"{one['label']} {_speeds(one)[''] * 100:.0f} %" for one in timings)
    return figure(
        _bars(book, timings, title), caption or book.phrases["bars_caption"].format(**facts), f"{title}: {told}"
    )


def _bars(book: Book, timings: Sequence[Mapping[str, Any]], title: str) -> Drawing:
    sketch = Sketch(title)
    scale = (WIDTH - 2 * MARGIN) / _LONGEST
    limit, bottom = MARGIN + scale, 18 + _ROW * len(timings)
    for place, timing in enumerate(timings):
        y = 18 + _ROW * place
        speeds = _speeds(timing)
        sketch.text(MARGIN, y + 9, f"{timing['label']} {timing['part']}", kind="code")
        took = f"{milliseconds(timing['ms'])}, {rate_of(timing)}"
        sketch.text(WIDTH - MARGIN, y + 9, took, kind="small", align="end")
        sketch.put(tag("rect", x=MARGIN, y=y + 15, width=scale * _LONGEST, height=_BAR, class_="empty"), y)
        sketch.put(tag("rect", x=MARGIN, y=y + 15, width=scale * speeds[""], height=_BAR, class_="load"), y + 15 + _BAR)
        sketch.line(limit, y + 13, limit, y + 17 + _BAR)
        for name in (one for one in _RIVALS if one in speeds):
            sketch.put(_mark(MARGIN + scale * min(speeds[name], _LONGEST), y + 15 + _BAR / 2, name), y)
    sketch.text(limit, 11, book.phrases["limit"], kind="small", align="middle")
    _legend(book, sketch, bottom + 14, [name for name in _RIVALS if any(name in _speeds(one) for one in timings)])
    return sketch.drawing()


def _speeds(timing: Mapping[str, Any]) -> dict[str, float]:
    """How fast the solution and its rivals are, in shares of the limit."""
    times = {rival["name"]: rival["times"] for rival in timing["rivals"]}
    own = float(times["ceiling"])
    return {"": own, **{name: own / times[name] for name in _RIVALS if name in times}}


def _mark(x: float, y: float, name: str) -> str:
    """A diamond for PyTorch, a ring for what torch.compile makes."""
    if name == "compiled":
        return tag("circle", cx=x, cy=y, r=4.5, class_="compiled")
    return tag("path", d=f"M{x - 6:.1f} {y:.1f}l6-6 6 6-6 6z", class_="store outline")


def _legend(book: Book, sketch: Sketch, y: float, rivals: Sequence[str]) -> None:
    x = float(MARGIN)
    sketch.put(tag("rect", x=x, y=y - 10, width=18, height=11, class_="load"), y)
    for name in ("", *rivals):
        if name:
            sketch.put(_mark(x + 9, y - 4.5, name), y)
        words = book.phrases[f"bars_{name or 'solution'}"]
        sketch.text(x + 23, y, words, kind="small")
        x += 40 + 6.2 * len(words)
