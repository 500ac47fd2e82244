"""Numbers in a chapter, always from what was measured and committed: `results/`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.catalog import UsageError
from grader.facts import listed
from grader.publish.markup import directive, table
from grader.publish.quantities import milliseconds, percent, si, sig, thousands, us
from grader.publish.sources import part_of

if TYPE_CHECKING:
    from grader.publish.context import Book

TIMINGS = "h200/timings.json"
_NOTHING = "–"


def functions(book: Book) -> dict[str, Callable[..., object]]:
    """What a chapter calls, by name."""

    def timed(label: str) -> Mapping[str, Any]:
        return timing_of(book, label)

    def ms(label: str, of: str = "") -> str:
        """How long the solution takes, or a rival: "pytorch", "compiled", "ceiling"."""
        return milliseconds(_rival(timed(label), of)["ms"] if of else timed(label)["ms"])

    def ratio(slow: str, fast: str) -> str:
        """How many times as long the first takes."""
        return _times(book, timed(slow)["ms"] / timed(fast)["ms"])

    return {
        "timings_table": lambda number: timings_table(book, number),
        "ms": ms,
        "rate": lambda label: _rate_or_fault(timed(label)),
        "of_limit": lambda label: percent(_of_limit(timed(label))),
        "times_pytorch": lambda label: _times(book, _rival(timed(label), "pytorch")["times"]),
        "times_compiled": lambda label: _times(book, _rival(timed(label), "compiled")["times"]),
        "ratio": ratio,
        "sizes": lambda label: listed(timed(label)["params"]),
        "result": lambda name: result(book.root, name),
    }


def filters() -> dict[str, Callable[..., object]]:
    """What can stand behind a number and a bar."""
    return {"sig": sig, "percent": percent, "thousands": thousands, "us": us, "si": si, "ms": milliseconds}


def result(root: Path, name: str) -> Any:
    """A file of results/, as data; raises `UsageError` where there is none of that name."""
    path = (root / "results" / name).resolve()
    if not path.is_relative_to((root / "results").resolve()) or path.suffix != ".json" or not path.is_file():
        raise UsageError(f"There is no results/{name}.")
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, _changed: int) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def timing_of(book: Book, label: str) -> Mapping[str, Any]:
    """What was measured of a part's solution; raises `UsageError` for a part that is not timed."""
    name = part_of(book, label).label
    for timing in result(book.root, TIMINGS)["parts"]:
        if timing["label"] == name:
            found: Mapping[str, Any] = timing
            return found
    raise UsageError(f"Part {label} has no time in results/{TIMINGS}.")


def timings_table(book: Book, number: int) -> str:
    """The solutions of a puzzle: ms, what they move or compute a second, of the limit, and how long PyTorch takes."""
    measured = result(book.root, TIMINGS)
    timings = [timing for timing in measured["parts"] if timing["label"].partition(".")[0] == str(number)]
    if not timings:
        raise UsageError(f"Puzzle {number} has no times in results/{TIMINGS}.")
    rivals = [name for name in ("pytorch", "compiled") if any(_find(timing, name) for timing in timings)]
    keys = ("part", "ms", "rate", "of_limit", *(f"takes_{name}" for name in rivals))
    rows = [_row(book, timing, rivals) for timing in timings]
    caption = book.phrases["timings_caption"].format(number=number, device=measured["about"]["device"])
    body = table([book.phrases[key] for key in keys], rows, numbers_from=1)
    return directive("table", caption, body, {"class": "timings"})


def _row(book: Book, timing: Mapping[str, Any], rivals: Sequence[str]) -> list[str]:
    label = timing["label"]
    link = f"[{label}](#part-{label.replace('.', '-')}) `{timing['part']}`"
    limit = percent(_of_limit(timing)) if timing["bound"] != "launch" else _NOTHING
    cells = [link, sig(timing["ms"]), rate_of(timing) or _NOTHING, limit]
    return cells + [_beside(book, _find(timing, name)) for name in rivals]


def _beside(book: Book, rival: Mapping[str, Any] | None) -> str:
    if rival is None:
        return _NOTHING
    return book.phrases["tie"] if rival["decision"] == "tie" else f"{rival['times']:.2f}\N{NO-BREAK SPACE}×"


def rate_of(timing: Mapping[str, Any]) -> str:
    """What counts: bytes a second where memory bounds, operations where arithmetic does; else nothing."""
    if timing["bound"] == "compute":
        return f"{sig(timing['tflop_per_s'])}\N{NO-BREAK SPACE}TFLOP/s"
    return f"{thousands(timing['gb_per_s'])}\N{NO-BREAK SPACE}GB/s" if timing["bound"] == "memory" else ""


def _rate_or_fault(timing: Mapping[str, Any]) -> str:
    rate = rate_of(timing)
    if not rate:
        raise UsageError(f"Part {timing['label']} is so short that only its launch is measured, and it has no rate.")
    return rate


def _of_limit(timing: Mapping[str, Any]) -> float:
    return float(_rival(timing, "ceiling")["times"])


def _times(book: Book, times: float) -> str:
    return book.phrases["times"].format(number=sig(times))


def _rival(timing: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = _find(timing, name)
    if found is None:
        raise UsageError(f"Part {timing['label']} was not timed beside {name!r}; results/{TIMINGS} has no such rival.")
    return found


def _find(timing: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    return next((rival for rival in timing["rivals"] if rival["name"] == name), None)
