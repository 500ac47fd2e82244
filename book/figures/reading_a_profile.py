"""The drawing of the chapter on profiles; what it shows was counted and timed on an H200."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.publish.numbers import result
from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing

_ROOT = Path(__file__).parents[2]
_PARTS = ("3.2", "3.3", "3.4")
_SECTORS = ("memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal")
_WAVEFRONTS = ("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal")
_LEFT, _WIDE, _ROW = 140.0, 250.0, 22.0


def transposes() -> Drawing:
    """Sectors, wavefronts and time of three transposes: what is needed, and what is excess."""
    counted = result(_ROOT, "h200/solution_counts.json")
    timed = {part["label"]: part for part in result(_ROOT, "h200/timings.json")["parts"]}
    sketch = Sketch("Three transposes on an H200: sectors and wavefronts, needed and excess, and time")
    y = 30.0
    for name, pair in (("sectors", _SECTORS), ("wavefronts", _WAVEFRONTS)):
        y = _bars(sketch, y, name, [_of(counted, label, pair) for label in _PARTS])
    y = _bars(sketch, y, "time", [_times(timed[label]) for label in _PARTS])
    sketch.legend(_LEFT, y + 6, {"load": "needed, or the limit", "waste": "beyond it"})
    return sketch.drawing()


def _bars(sketch: Sketch, y: float, name: str, rows: Sequence[tuple[float, float]]) -> float:
    """A bar for each part: what there is and what would do, to the scale of the longest; returns where it ends."""
    longest = max(there for there, _ in rows)
    sketch.text(8, y + 15, name, kind="head")
    for label, (there, least) in zip(_PARTS, rows, strict=True):
        sketch.text(_LEFT - 8, y + 15, label, kind="small", align="end")
        if there == 0:
            sketch.text(_LEFT, y + 15, "none", kind="small")
        else:
            sketch.box(_LEFT, y + 2, _WIDE * there / longest, _ROW - 5, fill="waste")
            sketch.box(_LEFT, y + 2, _WIDE * least / longest, _ROW - 5, fill="load")
        y += _ROW
    return y + 14


def _of(counted: Mapping[str, Any], label: str, pair: tuple[str, str]) -> tuple[float, float]:
    part = next(part for part in counted["parts"] if part["label"] == label)
    numbers = part["launches"][0][1]
    there, least = (numbers[counted["metrics"].index(name)] for name in pair)
    return there, least


def _times(part: Mapping[str, Any]) -> tuple[float, float]:
    return part["ms"], next(rival["ms"] for rival in part["rivals"] if rival["name"] == "ceiling")
