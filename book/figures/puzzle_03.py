"""Diagrams of the chapter on puzzle 3: what a transpose does to rows, tiles and banks."""

from __future__ import annotations

from collections.abc import Callable

from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing

_BANKS = 8  # of the small example; a GPU has 32
_MARKED = 2  # the column that is followed through the three layouts


def turn() -> Drawing:
    """A tile of `in`, and where it lies in `out`."""
    sketch = Sketch("A matrix in tiles, and its transpose")
    size = 24
    left, right, top = 14, 246, 40
    sketch.text(left, top - 12, "in: 4 × 6 tiles", kind="soft")
    sketch.text(right, top - 12, "out: 6 × 4 tiles", kind="soft")
    sketch.cells(left, top, rows=4, columns=6, size=size, painted={(1, 4): "load-past"})
    sketch.cells(right, top, rows=6, columns=4, size=size, painted={(4, 1): "store-past"})
    sketch.box(left + 4 * size, top + 1.35 * size, size, 5, fill="load")
    sketch.box(right + 1.35 * size, top + 4 * size, 5, size, fill="store")
    sketch.arrow(left + 5 * size + 4, top + 1.7 * size, right + size - 4, top + 4.4 * size)
    sketch.text(left, top + 5.1 * size, "tile (1, 4)\nrow0 = 32, col0 = 128", kind="small")
    sketch.text(right, top + 6.9 * size, "tile (4, 1): a row has\nbecome a column", kind="small")
    return sketch.drawing()


def sheet() -> Drawing:
    """Shared memory as lines of 32 words: a row and a column of a tile of 32 × 32."""
    sketch = Sketch("A tile of 32 × 32 words in 32 banks")
    size, left, top, lines = 11, 42, 34, 8
    marked = {(2, bank): "load" for bank in range(32)}
    marked |= {(line, 5): "store" for line in range(lines)}
    sketch.text(left, top - 18, "bank", kind="small")
    across = [str(bank) if bank % 4 == 0 or bank == 31 else "" for bank in range(32)]
    down = ["word 0", "32", "64", "96", "128", "160", "192", "224"]
    sketch.cells(left, top, rows=lines, columns=32, size=size, painted=marked, across=across, down=down)
    below = top + lines * size
    sketch.text(left + 5.5 * size, below + 14, "⋮", align="middle")
    sketch.legend(left, below + 38, {"load": "a row: 32 banks, one pass", "store": "a column: one bank"})
    return sketch.drawing()


def layouts() -> Drawing:
    """A tile of 8 × 8 in eight banks: plain, with rows of nine, and swizzled."""
    sketch = Sketch("Three layouts of a tile of 8 × 8 words in 8 banks")
    top = 48
    layouts: list[tuple[str, Callable[[int, int], int]]] = [
        ("plain", lambda y, x: y * _BANKS + x),
        ("rows of 9", lambda y, x: y * (_BANKS + 1) + x),
        ("x ^ y", lambda y, x: y * _BANKS + (x ^ y)),
    ]
    for place, (name, word) in enumerate(layouts):
        _layout(sketch, 8 + place * 133, top, name, word)
    sketch.text(8, top + 10 * 14.5 + 12, "A column of cells is a bank. Filled: column 2 of the matrix.", kind="small")
    return sketch.drawing()


def _layout(sketch: Sketch, left: float, top: float, name: str, word: Callable[[int, int], int]) -> None:
    size = 14.5
    written, painted = {}, {}
    for y in range(_BANKS):
        for x in range(_BANKS):
            place = divmod(word(y, x), _BANKS)
            written[place] = str(x)
            painted[place] = "store" if x == _MARKED else "load-past"
    lines = max(line for line, _ in written) + 1
    sketch.text(left, top - 20, name, kind="code")
    across = [str(bank) for bank in range(_BANKS)]
    sketch.cells(left, top, rows=lines, columns=_BANKS, size=size, painted=painted, words=written, across=across)


def quads() -> Drawing:
    """The tile of 3.6: which quad lies where, and the eight that eight lanes read together."""
    sketch = Sketch("The swizzled tile of 64 × 64 floats as quads")
    size, left, top = 21, 50, 46
    followed = 2
    written, painted = {}, {}
    for group in range(16):
        for quad in range(16):
            place = (group, quad ^ group)
            written[place] = str(quad)
            if quad == followed:
                painted[place] = "store" if group < 8 else "store-past"
    sketch.text(left, top - 22, "place in the row", kind="soft")
    across = [str(place) for place in range(16)]
    down = [f"{4 * group}…{4 * group + 3}" for group in range(16)]
    sketch.cells(left, top, rows=16, columns=16, size=size, painted=painted, words=written, across=across, down=down)
    below = top + 16 * size
    sketch.text(left - 5, top - 5, "rows", kind="small", align="end")
    sketch.bracket(left, left + 8 * size, below + 6, "32 banks")
    sketch.bracket(left + 8 * size, left + 16 * size, below + 6, "32 banks")
    return sketch.drawing()
