"""Diagrams of the chapter on reductions."""

from __future__ import annotations

from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing, tag

_VALUES = 8
_APART = 23  # from one value to the next, and from one step to the next


def chain_and_tree() -> Drawing:
    """The same seven additions one after the other, and in three steps."""
    sketch = Sketch("Seven additions as a chain, and as a tree")
    _chain(sketch, 14, 30)
    _tree(sketch, 214, 30)
    sketch.text(14, 222, "a chain: 7 steps", kind="soft")
    sketch.text(214, 222, "a tree: 3 steps", kind="soft")
    return sketch.drawing()


def levels() -> Drawing:
    """From a thread to the grid: how many values meet, and where."""
    sketch = Sketch("Where a sum is made, level by level")
    rows = [
        ("grid", "1,056 blocks", "one place in device memory, atomics", "store", 376),
        ("block", "8 warps", "shared memory, one barrier", "store-past", 330),
        ("warp", "32 lanes", "each other's registers, shuffles", "load-past", 284),
        ("thread", "up to 993 elements", "its own register, no meeting", "load", 238),
    ]
    for place, (level, many, where, fill, wide) in enumerate(rows):
        y = 14 + 74 * place
        sketch.box(200 - wide / 2, y, wide, 50, f"{level}: {many}\n{where}", fill=fill)
        if place:
            sketch.arrow(200, y - 2, 200, y - 22)
    return sketch.drawing()


def pieces() -> Drawing:
    """A matrix cut into pieces: a block for each, whose threads go down its columns."""
    sketch = Sketch("The matrix of 5.8 in pieces, one for each block")
    left, top, wide, high = 92, 56, 96, 46
    sketch.text(left + 1.5 * wide, 16, "256 columns each", kind="soft", align="middle")
    for across in range(3):
        sketch.text(left + (across + 0.5) * wide, 44, f"x = {across}", kind="small", align="middle")
        for down in range(4):
            x, y = left + across * wide, top + down * high
            sketch.box(x + 1, y + 1, wide - 2, high - 2, fill="load-past" if (across, down) == (1, 2) else "empty")
            for column in range(5):
                at = x + 16 + 16 * column
                sketch.arrow(at, y + 8, at, y + high - 8)
    for down in range(4):
        sketch.text(left - 8, top + (down + 0.5) * high + 4, f"y = {down}", kind="small", align="end")
    sketch.text(12, top - 12, "blockIdx", kind="code")
    bottom = top + 4 * high
    for across in range(3):
        for column in (0, 2, 4):
            at = left + across * wide + 16 + 16 * column
            sketch.arrow(at, bottom + 6, at, bottom + 32, dashed=True)
    sketch.box(left + 1, bottom + 34, 3 * wide - 2, 24, "out, a sum for each column", fill="store-past")
    sketch.text(left - 8, bottom + 24, "atomicAdd", kind="code", align="end")
    return sketch.drawing()


def _chain(sketch: Sketch, x: float, y: float) -> None:
    _values(sketch, x, y)
    before = (x, y + 8)
    for step in range(1, _VALUES):
        here = (x + step * _APART, y + step * _APART + 4)
        sketch.line(*before, *here)
        sketch.line(here[0], y + 8, *here)
        _addition(sketch, *here)
        before = here


def _tree(sketch: Sketch, x: float, y: float) -> None:
    _values(sketch, x, y)
    level, at = [(x + value * _APART, y + 8.0) for value in range(_VALUES)], y + 4
    while len(level) > 1:
        at += _APART
        sums = [((one[0] + other[0]) / 2, at) for one, other in zip(level[::2], level[1::2], strict=True)]
        for place, here in enumerate(sums):
            for source in level[2 * place : 2 * place + 2]:
                sketch.line(*source, *here)
            _addition(sketch, *here)
        level = sums


def _values(sketch: Sketch, x: float, y: float) -> None:
    for value in range(_VALUES):
        sketch.text(x + value * _APART, y, f"x{chr(0x2080 + value)}", kind="small", align="middle")


def _addition(sketch: Sketch, x: float, y: float) -> None:
    sketch.put(tag("circle", cx=x, cy=y, r=6, class_="node told"), y + 6)
