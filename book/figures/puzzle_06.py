"""Diagrams of chapter puzzle-06: RMSNorm there and back, the bits of its numbers, and sums that do not meet."""

from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing


def one_row() -> Drawing:
    """A row becomes one number, and that number scales the row."""
    sketch = Sketch("A row of x becomes one factor r, and the row times r times w is y")
    left, size, columns = 76, 36, 8
    every = range(columns)
    sketch.text(62, 41, "x", kind="code", align="end")
    sketch.cells(left, 18, rows=1, columns=columns, size=size, painted={(0, c): "load-past" for c in every})
    sketch.arrow(220, 56, 220, 84, "squared, summed, / cols")
    sketch.box(140, 86, 160, 28, "mean of the squares", fill="empty")
    sketch.arrow(220, 114, 220, 142, "+ eps, then 1 / √")
    sketch.box(180, 144, 80, 28, "r", fill="w1")
    for column in every:
        sketch.line(220, 172, left + (column + 0.5) * size, 204)
    sketch.text(62, 227, "x · r", kind="code", align="end")
    sketch.cells(left, 204, rows=1, columns=columns, size=size, painted={(0, c): "load-past" for c in every})
    sketch.text(62, 267, "· w", kind="code", align="end")
    sketch.cells(left, 244, rows=1, columns=columns, size=size, painted={(0, c): "waste" for c in every})
    sketch.text(62, 307, "y", kind="code", align="end")
    sketch.cells(left, 284, rows=1, columns=columns, size=size, painted={(0, c): "store-past" for c in every})
    return sketch.drawing()


def two_ways() -> Drawing:
    """How one x changes the loss: in its own y, and through r in all of them."""
    sketch = Sketch("One x reaches the loss by its own y, and through r by every y of the row")
    left, size, columns, own = 40, 40, 8, 2
    sketch.text(28, 44, "x", kind="code", align="end")
    sketch.cells(left, 20, rows=1, columns=columns, size=size, painted={(0, own): "load"}, words={(0, own): "x[c]"})
    at = left + (own + 0.5) * size
    sketch.arrow(at, 60, at, 168)
    sketch.text(at - 8, 118, "by its own y", kind="soft", align="end")
    sketch.arrow(at, 60, 248, 96)
    sketch.box(250, 84, 64, 28, "r", fill="w1")
    sketch.text(322, 102, "all share it", kind="soft")
    for column in range(columns):
        sketch.arrow(282, 112, left + (column + 0.5) * size, 168)
    sketch.text(28, 192, "y", kind="code", align="end")
    sketch.cells(left, 168, rows=1, columns=columns, size=size, painted={(0, own): "store"}, words={(0, own): "y[c]"})
    for column in range(columns):
        sketch.line(left + (column + 0.5) * size, 208, 200, 236)
    sketch.box(164, 236, 72, 28, "loss", fill="empty")
    return sketch.drawing()


def bits() -> Drawing:
    """Sign, exponent and fraction of a float, a half and a bfloat16, on one scale."""
    sketch = Sketch("The bits of float, half and bfloat16")
    left, bit = 76, 9.6
    for place, (name, exponent, fraction) in enumerate((("float", 8, 23), ("bfloat16", 8, 7), ("half", 5, 10))):
        y = 20 + 52 * place
        sketch.text(left - 10, y + 19, name, kind="code", align="end")
        sketch.box(left, y, bit, 28, fill="empty")
        sketch.box(left + bit, y, exponent * bit, 28, str(exponent), fill="store-past")
        sketch.box(left + (1 + exponent) * bit, y, fraction * bit, 28, str(fraction), fill="load-past")
    sketch.legend(left, 188, {"empty": "sign", "store-past": "exponent: range", "load-past": "fraction: precision"})
    return sketch.drawing()


def partial_sums() -> Drawing:
    """Rows go to blocks in turn; each block has sums of its own, and a second kernel adds those up."""
    sketch = Sketch("Each block adds its rows to a row of the workspace, and a second kernel adds those up")
    fills = ("load-past", "store-past", "waste")
    size, columns, rows, blocks = 22, 6, 7, 3
    sketch.text(30, 18, "dy · x · r, by row", kind="soft")
    for row in range(rows):
        block = row % blocks
        sketch.cells(
            30, 28 + row * (size + 2), rows=1, columns=columns, size=size,
            painted={(0, c): fills[block] for c in range(columns)},
        )  # fmt: skip
        sketch.text(24, 44 + row * (size + 2), str(row), kind="small", align="end")
    sketch.text(232, 18, "workspace, by block", kind="soft")
    for block in range(blocks):
        y = 52 + block * 44
        sketch.cells(232, y, rows=1, columns=columns, size=size, painted={(0, c): fills[block] for c in range(columns)})
        sketch.text(232 + columns * size + 8, y + 15, str(block), kind="small")
        for row in range(block, rows, blocks):
            sketch.arrow(30 + columns * size + 4, 39 + row * (size + 2), 228, y + size / 2)
    sketch.arrow(298, 166, 298, 206)
    sketch.text(206, 226, "block 0 first, always", kind="soft", align="end")
    sketch.cells(232, 208, rows=1, columns=columns, size=size, painted={(0, c): "w0" for c in range(columns)})
    sketch.text(226, 224, "dw", kind="code", align="end")
    return sketch.drawing()
