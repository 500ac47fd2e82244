"""Diagrams of the chapter on what to know beforehand."""

from grader.publish.sketch import Sketch
from grader.trace.svg import MARGIN, Drawing

ROWS, COLUMNS = 3, 5
ROW, COLUMN = 1, 2  # those that are followed from the matrix into memory


def row_major() -> Drawing:
    """A matrix, and the order in which its elements lie in memory."""
    sketch = Sketch("A matrix of 3 rows and 5 columns, above the 15 places of memory that hold it")
    places = [(i, j) for i in range(ROWS) for j in range(COLUMNS)]
    fills = {(i, j): "load" if i == ROW else "store-past" if j == COLUMN else "empty" for i, j in places}
    sketch.cells(
        110,
        34,
        rows=ROWS,
        columns=COLUMNS,
        size=36,
        painted=fills,
        words={(i, j): f"{i}, {j}" for i, j in places},
        across=[f"j = {j}" for j in range(COLUMNS)],
        down=[f"i = {i}" for i in range(ROWS)],
    )
    size = (400 - 2 * MARGIN) / len(places)
    sketch.cells(
        MARGIN,
        190,
        rows=1,
        columns=len(places),
        size=size,
        painted={(0, i * COLUMNS + j): fills[i, j] for i, j in places},
        words={(0, i * COLUMNS + j): str(i * COLUMNS + j) for i, j in places},
    )
    sketch.text(MARGIN, 180, "in memory: 5 i + j", kind="small")
    for i in range(ROWS):
        sketch.bracket(MARGIN + i * COLUMNS * size + 2, MARGIN + (i + 1) * COLUMNS * size - 2, 220, f"row {i}")
    sketch.legend(MARGIN, 268, {"load": f"row {ROW}: side by side", "store-past": f"column {COLUMN}: 5 places apart"})
    return sketch.drawing()
