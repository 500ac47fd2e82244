"""The drawings of the chapter on SGD."""

from __future__ import annotations

from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing

_LEFT, _RIGHT, _LEAST, _MOST = 20.0, 380.0, 0.9975, 1.0035


def halves() -> Drawing:
    """The halves around 1, a step that arrives and one that is rounded away."""
    sketch = Sketch("The halves around 1: half as far apart below as above")
    axis = 96.0
    sketch.line(_LEFT, axis, _RIGHT, axis)
    values = [1 - place * 2.0**-11 for place in range(1, 6)] + [1 + place * 2.0**-10 for place in range(4)]
    for value in values:
        sketch.line(_at(value), axis - 7, _at(value), axis + 7)
    for value, words in ((1.0, "1"), (1 + 2.0**-10, "1.00098"), (1 - 2.0**-10, "0.99902")):
        sketch.text(_at(value), axis + 24, words, kind="small", align="middle")
    middle = 1 + 2.0**-11
    sketch.line(_at(middle), axis - 22, _at(middle), axis + 8, dashed=True)
    sketch.text(_at(middle) + 4, axis - 12, "the middle between two", kind="small")
    sketch.arrow(_at(1), 30, _at(1 + 2.0**-10), 30)
    sketch.text(_at(1) - 8, 34, "a step of 0.001 arrives", kind="soft", align="end")
    sketch.arrow(_at(1), 66, _at(1.0001) + 6, 66)
    sketch.text(_at(1) - 8, 70, "0.0001 is rounded away", kind="soft", align="end")
    return sketch.drawing()


def pairs() -> Drawing:
    """Which pairs a thread of 9.3 takes."""
    sketch = Sketch("The pairs of a thread in 9.3, a block apart")
    painted = {(row, column): "load-past" for row in range(4) for column in range(12)}
    painted |= {(row, 0): "load" for row in range(4)} | {(row, 1): "store-past" for row in range(4)}
    words = {(row, 0): "0" for row in range(4)} | {(row, 1): "1" for row in range(4)}
    words |= {(row, 2): "2" for row in range(4)} | {(row, 11): "255" for row in range(4)}
    words |= {(row, column): "…" for row in range(4) for column in (6,)}
    sketch.cells(
        76,
        34,
        rows=4,
        columns=12,
        size=26,
        painted=painted,
        words=words,
        down=[f"pair {256 * row}" for row in range(4)],
    )
    sketch.text(76, 22, "256 pairs, and the thread that takes each", kind="soft")
    sketch.text(76, 160, "One block: 1,024 pairs, 2,048 halves", kind="soft")
    return sketch.drawing()


def _at(value: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (value - _LEAST) / (_MOST - _LEAST)
